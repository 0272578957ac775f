"""`pbsnodes`: the nodes, as PBS shows them."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import EndedError, Session, complain, run
from hpcbatch.cli.pbs.common import answered, describe, is_other_server
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.dialects.pbs.pbsnodes import PbsnodesOptions


def main() -> None:
    run("pbsnodes", _body, partial(describe, "pbsnodes"))


def _mark(session: Session, options: PbsnodesOptions) -> int:
    """The nodes one after the other; the exit code is that of the last failure."""
    from hpcbatch.client.node_admin import drain_node
    from hpcbatch.dialects.pbs.errors import PBSE_PERM, PBSE_UNKNODE
    from hpcbatch.dialects.pbs.pbsnodes import refusal_of
    from hpcbatch.errors import ForbiddenError, NotFoundError

    code = 0
    for name in options.names:
        try:
            drain_node(
                session.api, name, offline=options.offline, comment=options.comment, user=session.user, now=session.now
            )
        except ForbiddenError as error:
            text, code = f"{refusal_of(name)}\npbsnodes: {error}", PBSE_PERM & 0xFF
        except NotFoundError:
            text, code = refusal_of(name, "Unknown node "), PBSE_UNKNODE & 0xFF
        else:
            continue
        if not options.quiet:
            complain(text)
    return code


def _body(session: Session) -> int:
    if answered(sys.argv[1:]):
        return 0
    from hpcbatch.cli.pbs.cluster import with_members
    from hpcbatch.cli.pbs.qmgr_resources import known_resources
    from hpcbatch.client.nodes import list_nodes
    from hpcbatch.dialects.pbs import pbsnodes
    from hpcbatch.dialects.pbs.qstat_options import Format

    options = pbsnodes.parse_pbsnodes(sys.argv[1:])
    asked = options.server or session.environ.get("PBS_DEFAULT", "")
    if is_other_server(session, asked):
        raise EndedError(pbsnodes.unreachable(asked), 1)
    if options.is_change:
        return _mark(session, options)
    known = {node.name: node for node in with_members(session, list_nodes(session.api, session.namespace))}
    nodes = [known[name] for name in options.names if name in known] if options.names else list(known.values())
    unknown = [name for name in options.names if name not in known]
    server, zone = session.server, session.zone
    resources = () if options.marked else known_resources(session).all
    if options.marked:
        text = pbsnodes.format_marked(nodes)
    elif options.format is Format.JSON:
        text = pbsnodes.format_nodes_json(
            nodes,
            now=session.now,
            server=server,
            unknown=unknown,
            summary=options.summary,
            jobs=options.jobs,
            resources=resources,
        )
    elif options.summary:
        text = pbsnodes.format_summary(nodes, jobs=options.jobs, long=options.long, resources=resources)
    elif options.format is Format.DSV:
        text = pbsnodes.format_nodes_dsv(
            nodes, server=server, delimiter=options.delimiter, timezone=zone, resources=resources
        )
    else:
        text = pbsnodes.format_nodes(nodes, server=server, timezone=zone, resources=resources)
    sys.stdout.write(text)
    if not options.quiet and options.format is not Format.JSON:
        for name in unknown:
            complain(pbsnodes.unknown_node(name))
    return 1 if unknown else 0
