"""`sreport`: how much CPU time jobs held, by cluster, account and user."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.slurm.common import check_cluster_names, describe


def main() -> None:
    run("sreport", _body, partial(describe, "sreport"))


def _body(session: Session) -> int:
    from hpcbatch.dialects.slurm.sreport_options import has_no_command, kept_options

    options = sys.argv[1:]
    if not has_no_command(options):
        return _execute(session, options)
    from hpcbatch.cli.slurm.prompt import requests_after

    return requests_after(session, "sreport", options, _execute, kept_options)


def _execute(session: Session, arguments: Sequence[str]) -> int:
    """Do one request; the exit code."""
    from hpcbatch.dialects.slurm.sreport_options import read_options

    options = read_options(arguments, session.now)
    if options is None:
        return 0
    from hpcbatch.client.nodes import list_nodes
    from hpcbatch.client.usage import jobs_since
    from hpcbatch.dialects.slurm.sreport import Cluster, format_report

    check_cluster_names(session, "sreport", options.clusters)
    cluster = Cluster(session.server, sum(node.cpus for node in list_nodes(session.api, session.namespace)))
    jobs = jobs_since(session.api, session.namespace, options.since, tuple(options.users or ()))
    now = session.now.timestamp()
    sys.stdout.writelines(format_report(options, jobs, cluster, now=now, tz=session.zone, proper_name=_proper_name))
    return 0


def _proper_name(user: str) -> str:
    import pwd

    try:
        return pwd.getpwnam(user).pw_gecos.partition(",")[0]
    except KeyError:
        return ""
