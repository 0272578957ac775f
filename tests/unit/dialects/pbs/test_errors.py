from __future__ import annotations

import pytest

from hpcbatch import errors
from hpcbatch.dialects.pbs.errors import REFUSAL, Origin, PbsError, describe, not_supported
from hpcbatch.model.refusal import RefusalCode


@pytest.mark.parametrize(
    ("error", "command", "operand", "text", "code"),
    [
        (errors.UnknownJobError("x"), "qstat", "999999.pbs1", "qstat: Unknown Job Id 999999.pbs1", 153),
        (errors.UnknownJobError("x"), "qdel", "999999.pbs1", "qdel: Unknown Job Id 999999.pbs1", 153),
        (
            errors.JobFinishedError("x"),
            "qstat",
            "102.pbs1",
            "qstat: 102.pbs1 Job has finished, use -x or -H to obtain historical job information",
            35,
        ),
        (errors.JobFinishedError("x"), "qdel", "85.pbs1", "qdel: Job has finished 85.pbs1", 35),
        (errors.UnknownQueueError("x"), "qstat", "abc", "qstat: Unknown queue destination abc", 170),
        (errors.UnknownQueueError("x"), "qsub", "", "qsub: Unknown queue", 170),
        (
            errors.ForbiddenError(403, "Forbidden", "no"),
            "qdel",
            "131.pbs1",
            "qdel: Unauthorized Request  131.pbs1",
            159,
        ),
        (
            errors.ForbiddenError(403, "Forbidden", "user u\n cannot"),
            "qsub",
            "",
            "qsub: Unauthorized Request\nqsub: user u cannot",
            159,
        ),
        (
            errors.UnreachableError("no engine runs; start it with `hpcbatch up`"),
            "qstat",
            "pbs1",
            "qstat: cannot connect to server pbs1 (errno=15010)\nqstat: no engine runs; start it with `hpcbatch up`",
            255,
        ),
        (
            errors.UnreachableError("down"),
            "qdel",
            "12.pbs1.site",
            "qdel: cannot connect to server pbs1.site (errno=15010)\nqdel: down",
            255,
        ),
        (
            errors.UnauthorizedError(401, "Unauthorized", "expired"),
            "qstat",
            "pbs1",
            "qstat: cannot connect to server pbs1 (errno=15019)\nqstat: expired",
            255,
        ),
        (errors.RefusedError(RefusalCode.UNKNOWN_QUEUE, "x"), "qsub", "", "qsub: Unknown queue\nqsub: no queue x", 170),
        (
            errors.RefusedError(RefusalCode.UNKNOWN_QUEUE, "x"),
            "qmove",
            "9.pbs1",
            "qmove: Unknown queue 9.pbs1\nqmove: no queue x",
            170,
        ),
        (
            errors.RefusedError(RefusalCode.STARTED, "Resource_List.select"),
            "qalter",
            "9.pbs1",
            "qalter: Cannot modify attribute while job running  Resource_List.select 9.pbs1",
            167,
        ),
        (
            errors.RefusedError(RefusalCode.NOT_RUNNING, "x"),
            "qrerun",
            "9.pbs1",
            "qrerun: Request invalid for state of job 9.pbs1",
            168,
        ),
        (
            errors.RefusedError(RefusalCode.NOT_RERUNNABLE, "x"),
            "qrerun",
            "9.pbs1",
            "qrerun: job is not rerunnable 9.pbs1",
            190,
        ),
        (
            errors.RefusedError(RefusalCode.WALLTIME_LIMIT, "too long"),
            "qalter",
            "9.pbs1",
            "qalter: Job violates queue and/or server resource limits 9.pbs1\nqalter: too long",
            188,
        ),
        (errors.RefusedError(RefusalCode.QUEUE_CLOSED, "queue x"), "qsub", "", "qsub: Queue is not enabled", 173),
        (errors.RefusedError(RefusalCode.BAD_SPEC, "too big"), "qsub", "", "qsub: too big", 166),
        (
            errors.RefusedError(RefusalCode.WALLTIME_LIMIT, "walltime: 2 asked, at most 1 in q"),
            "qsub",
            "",
            "qsub: Job violates queue and/or server resource limits\nqsub: walltime: 2 asked, at most 1 in q",
            188,
        ),
        (
            errors.RefusedError(RefusalCode.MEMORY_LIMIT, "m"),
            "qsub",
            "",
            "qsub: Job violates queue and/or server resource limits\nqsub: m",
            188,
        ),
        (
            errors.RefusedError(RefusalCode.UNKNOWN_RESOURCE, "foo"),
            "qsub",
            "",
            "qsub: Unknown resource Resource_List.foo",
            187,
        ),
        (
            errors.RefusedError(RefusalCode.UNKNOWN_PROPERTY, "knl"),
            "qsub",
            "",
            "qsub: Unknown resource select.knl",
            187,
        ),
        (
            errors.RefusedError(RefusalCode.IMAGE_NOT_ALLOWED, "image x is not allowed in q"),
            "qsub",
            "",
            "qsub: Unauthorized Request\nqsub: image x is not allowed in q",
            159,
        ),
        (
            errors.RefusedError(RefusalCode.USER_DISABLED, "user a may not submit jobs"),
            "qsub",
            "",
            "qsub: Unauthorized Request\nqsub: user a may not submit jobs",
            159,
        ),
        (errors.RefusedError("Other", "odd"), "qsub", "", "qsub: odd", 1),
        (errors.ConflictError(409, "Conflict", "changed"), "qhold", "1.s", "qhold: changed 1.s", 1),
        (errors.HpcBatchError("plain"), "qdel", "", "qdel: plain", 1),
        (errors.UsageError("bad"), "qdel", "", "qdel: bad", 2),
        (
            FileNotFoundError(2, "No such file or directory", "x"),
            "qsub",
            "",
            "qsub: script file:: No such file or directory",
            1,
        ),
        (IsADirectoryError(21, "Is a directory", "x"), "qsub", "", "qsub: script not a file", 1),
        (PermissionError(13, "Permission denied", "x"), "qsub", "", "qsub: opening script file:: Permission denied", 8),
        (OSError(28, "No space left on device", "/f"), "qdel", "", "qdel: /f: No space left on device", 1),
        (not_supported("-J", Origin("j", 2, 3)), "qsub", "", "qsub: j:2:3: -J is not supported yet", 1),
        (PbsError("a\nb", 7, usage="usage"), "qsub", "", "qsub: a\nqsub: b\nusage", 7),
        (PbsError("", 2, usage="usage"), "qsub", "", "usage", 2),
        (PbsError("a", 7, origin=Origin(None, 2, 3)), "qsub", "", "qsub: a\nqsub: <stdin>:2:3: refused here", 7),
    ],
)
def test_words_and_exit_code(error: Exception, command: str, operand: str, text: str, code: int) -> None:
    assert describe(error, command, operand) == (text, code)


def test_every_refusal_has_words() -> None:
    assert REFUSAL.keys() == set(RefusalCode)


def test_every_error_of_ours_has_an_exit_code_that_a_shell_sees() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    for kind in kinds:
        error = kind.__new__(kind)
        error.args = ("text",)
        if isinstance(error, errors.RefusedError):
            error.code = "x"
        if isinstance(error, errors.ObstaclesError):
            error.problems = (errors.HpcBatchError("text"), errors.HpcBatchError("more"))
        assert 0 < describe(error, "qstat", "1.s")[1] < 256
