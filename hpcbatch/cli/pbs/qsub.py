"""`qsub`: submit a PBS script."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.pbs.common import answered, check_server, describe
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.dialects.pbs.submit import PbsSubmission


def main() -> None:
    run("qsub", _body, partial(describe, "qsub"))


def _body(session: Session) -> int:
    arguments = sys.argv[1:]
    if answered(arguments):
        return 0
    from hpcbatch.cli.script import read_script

    read = reader(session, arguments, partial(read_script, session, prompt=True))
    if "--explain" in arguments:
        from hpcbatch.cli.explanation import explained
        from hpcbatch.dialects.pbs.submit import is_explained

        if is_explained(arguments):
            return explained(session, "qsub", read, describe("qsub", session))
    wanted = read()
    from hpcbatch.cli.submission import send, show

    if wanted.dry_run:
        show(session, wanted.submission, "qsub")
        return 0
    if wanted.interactive:
        from hpcbatch.cli.pbs.interactive import check_terminal, converse

        check_terminal()
    check_server(session, "qsub")
    submitted = send(session, wanted.submission, "qsub")
    shown_id = f"{submitted.job_id}{'[]' if submitted.is_array else ''}.{submitted.server}"
    if wanted.interactive:
        return converse(session, submitted, shown_id)
    if not wanted.quiet:
        print(shown_id)
    if wanted.block:
        from hpcbatch.cli.pbs.block import wait

        return wait(session, submitted, shown_id)
    return 0


def reader(
    session: Session, arguments: Sequence[str], script: Callable[[str | None], tuple[str | None, bytes]]
) -> partial[PbsSubmission]:
    """Reads the command line and its script, which `script` reads, in the user's surroundings."""
    from hpcbatch.dialects.pbs.submit import read_submission

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
        is_host=partial(_is_host, session),
    )


def _is_host(session: Session, name: str) -> bool:
    """Whether the cluster has a node of this name, with or without its domain. Without a cluster, where a script is
    only looked at, it may have.
    """
    from hpcbatch.api.resources import NODES
    from hpcbatch.errors import UnreachableError

    try:
        nodes = {node["metadata"]["name"] for node in session.api.list(NODES).items}
    except UnreachableError:
        return True
    return name in nodes or name.partition(".")[0] in {node.partition(".")[0] for node in nodes}
