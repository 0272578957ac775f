"""`pbs_rstat`: reservations, PBS's and Slurm's."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, complain, run
from hpcbatch.cli.pbs.common import answered, check_server, describe


def main() -> None:
    run("pbs_rstat", _body, partial(describe, "pbs_rstat"))


def _body(session: Session) -> int:
    if answered(sys.argv[1:]):
        return 0
    from hpcbatch.client.nodes import list_nodes
    from hpcbatch.client.reservations import list_reservations
    from hpcbatch.dialects.pbs.errors import PbsError
    from hpcbatch.dialects.pbs.reservations import UNKNOWN, Shown, format_list, parse_rstat, read_id

    wanted = parse_rstat(sys.argv[1:])
    check_server(session, "pbs_rstat")
    records = [one for one in list_reservations(session.api) if one.status.id]
    nodes = list_nodes(session.api, session.namespace) if records else []
    reserved = {node.name for one in records for node in one.status.nodes}
    usable = {node.name for node in nodes if node.ready and node.schedulable}
    shown = Shown(
        session.server,
        session.now,
        session.zone,
        frozenset(reserved - usable),
        {node.name: node.cpus for node in nodes},
    )
    code, chosen = 0, [] if wanted.names else records
    for name in wanted.names:
        try:
            number = read_id(name)
        except PbsError as error:
            complain(f"pbs_rstat: {error.text}")
            code = 1
            continue
        found = [one for one in records if one.status.id == (number or name.partition(".")[0])]
        if not found:
            complain(f"pbs_rstat: {UNKNOWN}")
        chosen = [*chosen, *found]
    sys.stdout.write(format_list(chosen, wanted.how, shown))
    return code
