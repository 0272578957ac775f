"""`sdiag`: how many jobs were submitted, started and ended today, wait and run."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, complain, run
from hpcbatch.cli.slurm.common import describe


def main() -> None:
    run("sdiag", _body, partial(describe, "sdiag"))


def _body(session: Session) -> int:
    from hpcbatch.client.listing import list_rows
    from hpcbatch.dialects.slurm import sdiag
    from hpcbatch.dialects.slurm.clusters import check_clusters

    clusters = sdiag.read_options(sys.argv[1:])
    if clusters is not None:
        complain(check_clusters(clusters, session.server, "sdiag"))
    since = session.now.replace(hour=0, minute=0, second=0, microsecond=0)
    counts = sdiag.count(list_rows(session.api, session.namespace, since=since), since)
    sys.stdout.write(sdiag.format_report(counts, since, session.now, session.zone))
    return 0
