"""`sinfo`: partitions and nodes, as Slurm shows them."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, complain, run
from hpcbatch.cli.slurm.common import describe


def main() -> None:
    run("sinfo", _body, partial(describe, "sinfo"))


def _body(session: Session) -> int:
    from hpcbatch.dialects.slurm import sinfo

    options = sinfo.read_options(sys.argv[1:], session.environ)
    from hpcbatch.client.nodes import list_nodes
    from hpcbatch.client.queues import list_queues
    from hpcbatch.dialects.slurm.columns import complaint

    words = "Invalid node" if options.fields is None else "sinfo: error: Invalid job"
    complain(complaint(sinfo.columns_of(options), words))
    nodes = list_nodes(session.api, session.namespace)
    queues = list_queues(session.api)
    sys.stdout.write(sinfo.format_sinfo(nodes, queues, options, session.now, session.zone))
    return 0
