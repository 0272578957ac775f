"""Every error in the words and with the exit code of each command."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.slurm.errors import (
    SUBMIT_TEXT,
    SlurmAnswer,
    SlurmUsageError,
    describe,
    describe_change,
    describe_hold,
)
from hpcbatch.errors import (
    ApiError,
    DirectiveError,
    ForbiddenError,
    HpcBatchError,
    JobFinishedError,
    NotSupportedError,
    RefusedError,
    UnauthorizedError,
    UnknownJobError,
    UnknownQueueError,
    UnreachableError,
)
from hpcbatch.model.refusal import RefusalCode

COMMANDS = ("sbatch", "squeue", "scontrol", "scancel", "sinfo")
FAILED = "sbatch: error: Batch job submission failed:"
FORBIDDEN = ForbiddenError(403, "Forbidden", "no")
CASES: list[tuple[Exception, str, str, str, int]] = [
    (
        RefusedError("UnknownQueue", "x; there are: y, z"),
        "sbatch",
        "x; there are: y, z",
        f"sbatch: error: invalid partition specified: x\n{FAILED} Invalid partition name specified",
        1,
    ),
    (
        UnknownQueueError("x"),
        "sbatch",
        "",
        f"sbatch: error: invalid partition specified: x\n{FAILED} Invalid partition name specified",
        1,
    ),
    (
        RefusedError("QueueClosed", "x is closed"),
        "sbatch",
        "x",
        f"sbatch: error: x is closed\n{FAILED} Required partition not available (inactive or drain)",
        1,
    ),
    (
        RefusedError("WalltimeLimit", "walltime: 2 asked"),
        "sbatch",
        "",
        f"sbatch: error: walltime: 2 asked\n{FAILED} Requested time limit is invalid (missing or exceeds some limit)",
        1,
    ),
    (
        RefusedError("UnknownResource", "foo"),
        "sbatch",
        "",
        "sbatch: error: there is no generic resource foo\nsbatch: error: Invalid generic resource (gres) specification",
        1,
    ),
    (
        RefusedError("UnknownProperty", "knl"),
        "sbatch",
        "",
        f"sbatch: error: no node has the feature knl\n{FAILED} Invalid feature specification",
        1,
    ),
    (
        RefusedError("UserDisabled", "user a may not"),
        "sbatch",
        "",
        f"sbatch: error: user a may not\n{FAILED} Access/permission denied",
        1,
    ),
    (RefusedError("Other", "why"), "sbatch", "", f"{FAILED} why", 1),
    (UnknownJobError("9"), "squeue", "", "slurm_load_jobs error: Invalid job id specified", 1),
    (UnknownJobError("9"), "scontrol", "9", "slurm_load_jobs error: Invalid job id specified", 1),
    (UnknownJobError("9"), "scancel", "9", "scancel: error: Kill job error on job id 9: Invalid job id specified", 1),
    (
        JobFinishedError("9"),
        "scancel",
        "9",
        "scancel: error: Kill job error on job id 9: Job/step already completing or completed",
        1,
    ),
    (
        UnreachableError("run `hpcbatch up`"),
        "squeue",
        "",
        "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\nsqueue: run `hpcbatch up`",
        1,
    ),
    (
        UnreachableError("run it"),
        "sbatch",
        "",
        f"{FAILED} Unable to contact slurm controller (connect failure)\nsbatch: run it",
        1,
    ),
    (
        UnreachableError("run it"),
        "sinfo",
        "",
        "slurm_load_partitions: Unable to contact slurm controller (connect failure)\nsinfo: run it",
        1,
    ),
    (FORBIDDEN, "sbatch", "debug", f"{FAILED} Access/permission denied\nsbatch: no", 1),
    (FORBIDDEN, "scancel", "9", "scancel: error: Kill job error on job id 9: Access/permission denied", 1),
    (
        UnauthorizedError(401, "Unauthorized", "expired"),
        "squeue",
        "",
        "slurm_load_jobs error: Access/permission denied\nsqueue: expired",
        1,
    ),
    (NotSupportedError("x is not", path="s", line=2, column=3), "sbatch", "", "sbatch: error: s:2:3: x is not", 255),
    (NotSupportedError("x is not"), "squeue", "", "squeue: error: x is not", 1),
    (DirectiveError("bad"), "sbatch", "", "sbatch: error: bad", 255),
    (SlurmUsageError("a\nb", 7), "sbatch", "", "a\nb", 7),
    (SlurmUsageError("a", 7, path="s", line=2, column=3), "sbatch", "", "a\nsbatch: error: s:2:3: refused here", 7),
    (SlurmAnswer("help"), "sbatch", "", "", 0),
    (ApiError(500, "InternalError", "boom"), "squeue", "", "squeue: error: boom", 1),
    (HpcBatchError("x"), "sinfo", "", "sinfo: error: x", 1),
]


@pytest.mark.parametrize(
    ("error", "command", "operand", "text", "code"), CASES, ids=[f"{type(c[0]).__name__} {c[1]}" for c in CASES]
)
def test_describe(error: Exception, command: str, operand: str, text: str, code: int) -> None:
    assert describe(error, command, operand) == (text, code)


def test_every_refusal_has_a_text() -> None:
    assert SUBMIT_TEXT.keys() == set(RefusalCode)


HOLDS: list[tuple[Exception, str]] = [
    (UnknownJobError("9"), "Invalid job id specified for job 9\nslurm_suspend error: Invalid job id specified"),
    (JobFinishedError("9"), "Job has already finished for job 9\nslurm_suspend error: Job has already finished"),
    (FORBIDDEN, "Access/permission denied for job 9\nslurm_suspend error: Access/permission denied"),
    (UnreachableError("x"), "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\nscontrol: x"),
]


@pytest.mark.parametrize(("error", "text"), HOLDS, ids=[type(h[0]).__name__ for h in HOLDS])
def test_hold(error: Exception, text: str) -> None:
    assert describe_hold(error, "9") == (text, 1)


CHANGES: list[tuple[Exception, str]] = [
    (UnknownJobError("9"), "Invalid job id specified for job 9"),
    (JobFinishedError("9"), "Job has already finished for job 9"),
    (FORBIDDEN, "Access/permission denied for job 9"),
    (RefusedError(RefusalCode.STARTED, "chunks"), "Job is no longer pending execution for job 9"),
    (RefusedError(RefusalCode.NOT_RUNNING, "x"), "Job is pending execution for job 9"),
    (RefusedError(RefusalCode.NOT_RERUNNABLE, "x"), "Requested operation is presently disabled for job 9"),
    (RefusedError(RefusalCode.UNKNOWN_QUEUE, "q"), "Invalid partition name specified for job 9"),
    (
        RefusedError(RefusalCode.WALLTIME_LIMIT, "walltime: too much"),
        "scontrol: error: walltime: too much\n"
        "Requested time limit is invalid (missing or exceeds some limit) for job 9",
    ),
    (SlurmUsageError("Job is not running"), "Job is not running for job 9"),
    (SlurmUsageError("scontrol: error: Invalid TimeLimit value"), "scontrol: error: Invalid TimeLimit value"),
    (NotSupportedError("no"), "scontrol: error: no"),
]


@pytest.mark.parametrize(("error", "text"), CHANGES, ids=[c[1].partition("\n")[0] for c in CHANGES])
def test_change(error: Exception, text: str) -> None:
    assert describe_change(error, "9") == (text, 1)


def test_every_refusal_of_a_change_has_a_text() -> None:
    for code in RefusalCode:
        assert describe_change(RefusedError(code, "x"), "9")[0].endswith(f"{SUBMIT_TEXT[code]} for job 9")


def test_every_error_has_a_text_for_every_command() -> None:
    errors = [
        HpcBatchError("x"),
        UnknownJobError("9"),
        JobFinishedError("9"),
        FORBIDDEN,
        UnreachableError("x"),
        RefusedError(RefusalCode.BAD_SPEC, "x"),
        UnknownQueueError("q"),
    ]
    for command in COMMANDS:
        for error in errors:
            text, code = describe(error, command)
            assert text
            assert code == 1
