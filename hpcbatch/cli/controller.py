"""`hpcbatch controller`: the BatchJob controller as a process of its own, as it runs in a Deployment."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import click

from hpcbatch.api.names import SYSTEM_NAMESPACE
from hpcbatch.cli.common import Session


@click.command("controller")
@click.option(
    "--leader-elect/--no-leader-elect",
    default=True,
    show_default=True,
    help="Act only while holding the Lease hpcbatch-controller, so that several controllers can run.",
)
@click.option(
    "--health-port",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    help="Port of /livez, /readyz and /metrics; 0: none.",
)
@click.option("--namespace", default=SYSTEM_NAMESPACE, show_default=True, help="Where the Lease is kept.")
@click.option(
    "--lease-duration",
    type=click.IntRange(2),
    default=15,
    show_default=True,
    metavar="SECONDS",
    help="How long the others wait for a leader that is silent.",
)
@click.option(
    "--renew-deadline",
    type=click.FloatRange(1),
    default=10,
    show_default=True,
    metavar="SECONDS",
    help="How long a leader acts after its last renewal; less than --lease-duration.",
)
@click.option(
    "--retry-period",
    type=click.FloatRange(0.1),
    default=2,
    show_default=True,
    metavar="SECONDS",
    help="How often the lease is looked at.",
)
@click.option(
    "--history-dsn-file",
    type=click.Path(path_type=Path),
    help="File with the address of the history's PostgreSQL database; where it is missing there is no history.",
)
@click.option(
    "--history-port",
    type=click.IntRange(0, 65535),
    default=8443,
    show_default=True,
    help="Port on which Kubernetes asks for the history; 0: none.",
)
@click.option(
    "--shard",
    default="",
    metavar="NAME",
    help="Have only the jobs of queues that are in this shard by the site's file; without a name: of those in none.",
)
@click.pass_obj
def controller(
    session: Session,
    *,
    leader_elect: bool,
    health_port: int,
    namespace: str,
    lease_duration: int,
    renew_deadline: float,
    retry_period: float,
    history_dsn_file: Path | None,
    history_port: int,
    shard: str,
) -> None:
    """Run the controller: admit jobs, make their Volcano Jobs, and record what becomes of them."""
    from hpcbatch.controller.health import HealthServer
    from hpcbatch.controller.leader import Timing
    from hpcbatch.controller.log import log_to_stderr
    from hpcbatch.controller.process import SIGNALS, Process

    log_to_stderr()
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # before there are threads, which inherit it
    timing = Timing(lease_s=lease_duration, renew_s=renew_deadline, retry_s=retry_period) if leader_elect else None
    process = Process(
        session.environ,
        namespace=namespace,
        timing=timing,
        history_dsn=history_dsn_file,
        history_port=history_port,
        shard=shard,
    )
    if health_port:
        HealthServer(health_port, live=process.live, ready=process.ready, metrics=process.metrics).start()
    code = process.run()
    # The threads are not taken apart: they write no more, and the controller may be killed at any instant.
    sys.stderr.flush()
    os._exit(code)
