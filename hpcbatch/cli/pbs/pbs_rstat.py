"""`pbs_rstat`: reservations, of which there are none."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, complain, run
from hpcbatch.cli.pbs.common import check_server, describe, printed_version


def main() -> None:
    run("pbs_rstat", _body, partial(describe, "pbs_rstat"))


def _body(session: Session) -> int:
    if printed_version(sys.argv[1:]):
        return 0
    from hpcbatch.client.queues import list_queues
    from hpcbatch.dialects.pbs.reservations import answer, parse_rstat

    names = parse_rstat(sys.argv[1:])
    check_server(session, "pbs_rstat")
    list_queues(session.api)  # the answer is that of a cluster which can be reached
    code = 0
    for name in names:
        text, failed = answer(name)
        complain(f"pbs_rstat: {text}")
        code = code or failed
    return code
