"""`bsub`: submit an LSF script or a command."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial

from hpcbatch.cli.common import Session, complain, run
from hpcbatch.cli.lsf.common import describe
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.client.submit import Submitted
    from hpcbatch.dialects.lsf.submit import LsfSubmission

_PROMPT = "bsub> "


def main() -> None:
    run("bsub", _body, partial(describe, "bsub"))


def _body(session: Session) -> int:
    arguments = sys.argv[1:]
    read = reader(session, arguments, partial(_script, session))
    if "--explain" in arguments:
        from hpcbatch.dialects.lsf.submit import is_explained

        if is_explained(arguments):
            from hpcbatch.cli.explanation import explained

            return explained(session, "bsub", read, describe("bsub", session))
    wanted = read()
    from hpcbatch.cli.submission import send, show

    if wanted.dry_run:
        show(session, wanted.submission, "bsub")
        return 0
    interactive = wanted.submission.spec.interactive
    if interactive is not None:
        from hpcbatch.cli.lsf.interactive import check_terminal

        check_terminal(interactive)
    submitted = send(session, wanted.submission, "bsub")
    _answer(session, wanted, submitted)
    if interactive is not None:
        from hpcbatch.cli.lsf.interactive import converse

        return converse(session, submitted, has_terminal=interactive.is_terminal)
    if wanted.wait:
        from hpcbatch.cli.lsf.wait import wait

        return wait(session, submitted)
    return 0


def _answer(session: Session, wanted: LsfSubmission, submitted: Submitted) -> None:
    from hpcbatch.client.listing import get_object

    if "BSUB_QUIET" in session.environ:
        return
    queue = (get_object(session.api, submitted).get("status") or {}).get("queue") or wanted.submission.spec.queue
    default = "" if wanted.has_queue else "default "
    text = f"Job <{submitted.job_id}> is submitted to {default}queue <{queue}>."
    if "BSUB_STDERR" in session.environ:
        complain(text)
    else:
        print(text, flush=True)


def reader(
    session: Session, arguments: Sequence[str], script: Callable[[str | None], tuple[str | None, bytes]]
) -> partial[LsfSubmission]:
    """Reads the command line and its script, which `script` reads, in the user's surroundings."""
    from hpcbatch.cli.limits import SoftLimits
    from hpcbatch.dialects.lsf.submit import read_submission

    return partial(
        read_submission,
        arguments,
        script=script,
        environ=session.environ,
        cwd=session.cwd,
        host=session.host,
        user=session.user,
        server=session.server,
        now=session.now,
        lookup=partial(jobs_called, session),
        limits=SoftLimits(),
    )


def _script(session: Session, path: str | None) -> tuple[str | None, bytes]:
    """Standard input, or a file that is named as the command: one that is no plain text file is only a command."""
    from hpcbatch.cli.script import read_script

    if path is None:
        if sys.stdin.isatty():
            sys.stderr.write(_PROMPT)
            sys.stderr.flush()
        return read_script(session, None, prompt=False)
    name, content = read_script(session, path, prompt=False)
    return (None, b"") if b"\0" in content else (name, content)


def jobs_called(session: Session, pattern: str) -> list[int]:
    """The numbers of the user's unfinished jobs of that name, or else of the last one that has ended."""
    from fnmatch import fnmatchcase

    from hpcbatch.client.listing import list_rows

    rows = [
        row
        for row in list_rows(session.api, session.namespace, members=False)
        if row.array_id is None and row.namespace == session.namespace and fnmatchcase(row.name, pattern)
    ]
    return [row.job_id for row in rows if not row.state.is_final] or [row.job_id for row in rows[-1:]]
