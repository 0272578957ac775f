"""`sinfo`: partitions and nodes, as Slurm shows them."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, complain, run
from hpcbatch.cli.slurm.common import check_cluster_names, describe, tell_options
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.dialects.slurm.sinfo import SinfoOptions


def main() -> None:
    run("sinfo", _body, partial(describe, "sinfo"))


def _body(session: Session) -> int:
    from hpcbatch.dialects.slurm import sinfo

    options = sinfo.read_options(sys.argv[1:], session.environ)
    tell_options(sinfo.PARSER, sys.argv[1:])
    check_cluster_names(session, "sinfo", options.clusters)
    if options.every_s:
        from hpcbatch.cli.slurm.common import iterate

        return iterate(session, "sinfo", options.every_s, lambda: _show(session, options))
    return _show(session, options)


def _show(session: Session, options: SinfoOptions) -> int:
    from hpcbatch.cli.slurm.common import shown_nodes
    from hpcbatch.client.queues import list_queues
    from hpcbatch.dialects.slurm import sinfo
    from hpcbatch.dialects.slurm.columns import complaint

    words = "Invalid node" if options.fields is None else "sinfo: error: Invalid job"
    complain(complaint(sinfo.columns_of(options), words))
    if options.reservations:
        from hpcbatch.client.reservations import in_force, list_reservations
        from hpcbatch.dialects.slurm.reservations import format_table

        found = in_force(list_reservations(session.api))
        sys.stdout.write(sinfo.above_of(options, session.now, session.zone))
        sys.stdout.write(
            format_table(found, session.now, session.zone, time_format=options.time_format, no_header=options.no_header)
        )
        return 0
    nodes = shown_nodes(session, gres=bool(options.data) or sinfo.shows_gres(options))
    queues = [queue for queue in list_queues(session.api) if not queue.reservation]
    if options.data:
        from hpcbatch.dialects.slurm.data import listing
        from hpcbatch.dialects.slurm.sinfo_json import node

        sys.stdout.write(listing("nodes", [node(row, queues) for row in nodes], as_yaml=options.data == "yaml"))
        return 0
    text = sinfo.format_sinfo(nodes, queues, options, session.now, session.zone)
    if options.clusters is not None and not options.no_header:
        from hpcbatch.dialects.slurm.clusters import heading

        text = sinfo.below_time(text, heading(session.server), options)
    sys.stdout.write(text)
    return 0
