"""`hpcbatch controller`: the BatchJob controller as a process of its own, as it runs in a Deployment."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from datetime import UTC, datetime

import click

from hpcbatch.api.names import SYSTEM_NAMESPACE
from hpcbatch.cli.common import Session


@click.command("controller")
@click.option(
    "--leader-elect/--no-leader-elect", default=True, show_default=True,
    help="Act only while holding the Lease hpcbatch-controller, so that several controllers can run.",
)  # fmt: skip
@click.option(
    "--health-port", type=click.IntRange(0, 65535), default=8080, show_default=True,
    help="Port of /livez, /readyz and /metrics; 0: none.",
)  # fmt: skip
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
) -> None:
    """Run the controller: admit jobs, make their Volcano Jobs, and record what becomes of them."""
    from hpcbatch.controller.health import HealthServer
    from hpcbatch.controller.leader import Timing
    from hpcbatch.controller.process import SIGNALS, Process

    _log_to_stderr()
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # before there are threads, which inherit it
    timing = Timing(lease_s=lease_duration, renew_s=renew_deadline, retry_s=retry_period) if leader_elect else None
    process = Process(session.environ, namespace=namespace, timing=timing)
    if health_port:
        HealthServer(health_port, live=process.live, ready=process.ready, metrics=process.metrics).start()
    try:
        code = process.run()
    except Exception:
        logging.getLogger(__name__).exception("the controller cannot go on")
        code = 1
    # The threads are not taken apart: they write no more, and the controller may be killed at any instant.
    sys.stderr.flush()
    os._exit(code)


class _OneLine(logging.Formatter):
    """`time=2026-11-21T14:54:05.123Z level=info thread=batchjobs-0 msg="…"`, a traceback in `trace="…"`."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").removesuffix("+00:00")
        text = json.dumps(record.getMessage(), ensure_ascii=False)
        line = f"time={when}Z level={record.levelname.lower()} thread={record.threadName} msg={text}"
        if record.exc_info:
            line += f" trace={json.dumps(self.formatException(record.exc_info), ensure_ascii=False)}"
        return line


def _log_to_stderr() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine())
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)
