"""`sdiag`: how many jobs were submitted, started and ended today, wait and run."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.slurm.common import check_cluster_names, describe


def main() -> None:
    run("sdiag", _body, partial(describe, "sdiag"))


def _body(session: Session) -> int:
    from hpcbatch.client.listing import list_rows
    from hpcbatch.dialects.slurm import sdiag

    clusters = sdiag.read_options(sys.argv[1:])
    check_cluster_names(session, "sdiag", clusters)
    since = session.now.replace(hour=0, minute=0, second=0, microsecond=0)
    counts = sdiag.count(list_rows(session.api, session.namespace, since=since), since)
    sys.stdout.write(sdiag.format_report(counts, since, session.now, session.zone))
    return 0
