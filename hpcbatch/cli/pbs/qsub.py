"""`qsub`: submit a PBS script."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.pbs.common import check_server, describe, printed_version


def main() -> None:
    run("qsub", _body, partial(describe, "qsub"))


def _body(session: Session) -> int:
    arguments = sys.argv[1:]
    if printed_version(arguments):
        return 0
    from hpcbatch.cli.script import read_script
    from hpcbatch.dialects.pbs.submit import read_submission

    wanted = read_submission(
        arguments,
        script=partial(read_script, session, prompt=True),
        environ=session.environ,
        cwd=session.cwd,
        host=session.host,
        user=session.user,
        server=session.server,
        now=session.now,
        is_host=partial(_is_host, session),
    )
    from hpcbatch.cli.submission import send, show

    if wanted.dry_run:
        show(session, wanted.submission, "qsub")
        return 0
    check_server(session, "qsub")
    submitted = send(session, wanted.submission, "qsub")
    shown_id = f"{submitted.job_id}{'[]' if submitted.is_array else ''}.{submitted.server}"
    if not wanted.quiet:
        print(shown_id)
    if wanted.block:
        from hpcbatch.cli.pbs.block import wait

        return wait(session, submitted, shown_id)
    return 0


def _is_host(session: Session, name: str) -> bool:
    """Whether the cluster has a node of this name, with or without its domain."""
    from hpcbatch.api.resources import NODES

    nodes = {node["metadata"]["name"] for node in session.api.list(NODES).items}
    return name in nodes or name.partition(".")[0] in {node.partition(".")[0] for node in nodes}
