"""`qsub`: submit a PBS script."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.pbs import check_server, describe, printed_version


def main() -> None:
    run("qsub", _body, partial(describe, "qsub"))


def _body(session: Session) -> int:
    arguments = sys.argv[1:]
    if printed_version(arguments):
        return 0
    from hpcbatch.cli.script import read_script
    from hpcbatch.pbs.submit import read_submission

    wanted = read_submission(
        arguments,
        script=partial(read_script, session, prompt=True),
        environ=session.environ,
        cwd=session.cwd,
        host=session.host,
        user=session.user,
        server=session.server,
        now=session.now,
    )
    from hpcbatch.cli.submission import dry_run, send, tell

    if wanted.dry_run:
        sys.stdout.write(dry_run(session, wanted.submission))
        tell(wanted.submission, "qsub")
        return 0
    check_server(session, "qsub")
    submitted = send(session, wanted.submission, "qsub")
    if not wanted.quiet:
        print(f"{submitted.job_id}.{submitted.server}")
    return 0
