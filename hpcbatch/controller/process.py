"""The controller's process: it acts while it holds the Lease, and stops at once when it may not act any more."""

from __future__ import annotations

import gc
import logging
import os
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from hpcbatch.api import kubeconfig
from hpcbatch.api.client import HttpApi
from hpcbatch.api.kubeconfig import Connection
from hpcbatch.controller.controller import Controller
from hpcbatch.controller.guarded import GuardedApi
from hpcbatch.controller.leader import Candidate, Timing
from hpcbatch.controller.lean import lean
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.state import JobState
from hpcbatch.site.file import CLUSTER_DEFAULTS

if TYPE_CHECKING:
    from hpcbatch.history.store import HistoryStore

_LOG = logging.getLogger(__name__)
_LEASE = "hpcbatch-controller"
SIGNALS = (signal.SIGTERM, signal.SIGINT)
_TICK_S = 0.25
_CREDENTIALS_S = 10.0
_LAST_WRITES_S = 5.0
"""How long pending writes may take at the end. We keep the Lease until they are done."""
_WORKERS = 12
"""Each request to an API server that has much to do takes tens of milliseconds."""


class Process:
    """Stands by, leads, and ends, once each; `run` requires SIGTERM and SIGINT to be blocked in all threads."""

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        namespace: str,
        timing: Timing | None,
        history_dsn: Path | None = None,
        history_port: int = 0,
        shard: str = "",
    ) -> None:
        """`timing` None: act without an election. `history_dsn` is the file with the address of the history's database,
        and may be missing; the history is served on `history_port`. `shard`: it acts for that shard's queues, with a
        Lease of its own.
        """
        self._environ = environ
        self._shard = shard
        self._response_s = 0.5 * (timing or Timing()).renew_s  # a renewal may fail once and be retried in time
        self._candidate: Candidate | None = None
        if timing is not None:
            self._candidate = Candidate(
                self._connect_for_lease,
                namespace=namespace,
                name=f"{_LEASE}-{shard}" if shard else _LEASE,
                identity=f"{os.uname().nodename}_{secrets.token_hex(4)}",
                timing=timing,
            )
        self._api: GuardedApi | None = None
        self._controller: Controller | None = None
        self._connection: Connection | None = None
        self._unserved, self._look_at_credentials = 0, 0.0
        self._failure: str = ""
        self._history_dsn, self._history_port = history_dsn, history_port
        self._history: HistoryStore | None = None
        self._is_history_served: Callable[[], bool] = lambda: True

    def run(self) -> int:
        """Runs until a signal, or a change that needs a restart (0), or until it may or can no longer act (1)."""
        try:
            return self._run()
        except Exception:
            _LOG.exception("the controller cannot go on")
            return 1

    def _run(self) -> int:
        self._serve_history()
        if self._candidate is None:
            self._begin()
        else:
            _LOG.info("standing by as %s", self._candidate.identity)
            self._candidate.start()
        while True:
            # Not by signal handlers: those run between any two instructions of this thread, with its locks held.
            caught = signal.sigtimedwait(SIGNALS, _TICK_S)
            # After a pause (SIGSTOP) CPython 3.11 may return a result that no signal filled in.
            if caught is not None and caught.si_signo in SIGNALS:
                return self._end(f"got {signal.Signals(caught.si_signo).name}")
            # first: worker threads end too when they may no longer write
            if self._candidate is not None and self._candidate.has_lost:
                _LOG.error("lost the lease: another controller may act now")
                return 1
            if failure := self._failure or ("" if self._controller is None else self._controller.failure):
                _LOG.error("%s", failure)
                return 1
            if self._has_new_credentials():
                return self._end("the credentials were renewed")
            if self._has_history_address != (self._history is not None):
                return self._end("the history's database is another")
            if self._candidate is None:
                continue
            if self._controller is None and self._candidate.has_led.is_set():
                self._begin()

    @property
    def _has_history_address(self) -> bool:
        return self._history_dsn is not None and self._history_dsn.is_file()

    def _serve_history(self) -> None:
        """On every replica, leading or not. Raises HpcBatchError."""
        if self._history_dsn is None or not self._has_history_address:
            _LOG.info("no database for the history: ended jobs stay BatchJobs for as long as the site keeps them")
            return
        if find_spec("psycopg") is None:
            raise HpcBatchError("the history needs psycopg, which is not installed: pip install 'hpcbatch[postgres]'")
        from hpcbatch.history.databases import PostgresDatabase
        from hpcbatch.history.store import HistoryStore

        self._history = HistoryStore(PostgresDatabase(self._history_dsn.read_text))
        if self._history_port:
            from hpcbatch.controller.history_server import HistoryServer

            api = HttpApi(kubeconfig.load(self._environ))
            server = HistoryServer(api, self._history, self._history_port)
            server.start()
            self._is_history_served = lambda: server.is_served

    def _connect_for_lease(self) -> HttpApi:
        return HttpApi(
            kubeconfig.load(self._environ), connect_timeout_s=self._response_s, response_timeout_s=self._response_s
        )

    def _begin(self) -> None:
        candidate = self._candidate
        self._connection = kubeconfig.load(self._environ)
        may_write = (lambda: True) if candidate is None else (lambda: candidate.may_act)
        self._api = GuardedApi(HttpApi(self._connection, keep=lean), may_write)
        self._controller = Controller(
            self._api,
            CLUSTER_DEFAULTS,
            self._history,
            is_history_served=self._is_history_served,
            read_log=HttpApi(self._connection).log_end,
            shard=self._shard,
            workers=_WORKERS,
        )
        threading.Thread(target=self._start, args=(self._controller,), name="start", daemon=True).start()

    def _start(self, controller: Controller) -> None:
        began = time.monotonic()
        try:
            controller.start()
        except Exception as error:
            _LOG.exception("the controller cannot start")
            self._failure = f"the controller cannot start: {error}"
        else:
            gc.collect()
            gc.freeze()  # collections need not go through ten thousands of records again and again
            _LOG.info("acting, %.1f s after the caches began to fill", time.monotonic() - began)

    def _has_new_credentials(self) -> bool:
        """Whether the API rejects the credentials in use, and there are new ones."""
        if self._api is None or self._api.unserved == self._unserved or time.monotonic() < self._look_at_credentials:
            return False
        self._unserved, self._look_at_credentials = self._api.unserved, time.monotonic() + _CREDENTIALS_S
        try:
            return kubeconfig.load(self._environ) != self._connection
        except HpcBatchError as error:
            _LOG.warning("%s", error)
            return False

    def _end(self, why: str) -> int:
        _LOG.info("%s: stopping", why)
        is_quiet = self._api is None or self._api.close(_LAST_WRITES_S)
        if self._candidate is not None:
            self._candidate.stop(gives_back=is_quiet)
        return 0

    # Probes

    def live(self) -> str:
        candidate, controller = self._candidate, self._controller
        if candidate is not None and not candidate.is_alive:
            return "the leader election has ended"
        return "" if controller is None else controller.problem

    def ready(self) -> str:
        candidate, controller = self._candidate, self._controller
        if candidate is not None and not candidate.is_reached.is_set():
            return "the API server does not let the lease be read or written"
        if controller is not None and not controller.is_synced:
            return "the caches are not filled yet"
        if controller is not None and not controller.has_site:
            return "no site configuration is in force: the log says what is wrong with ConfigMap hpcbatch-site"
        return ""

    def metrics(self) -> Iterable[Metric]:
        candidate, controller, api = self._candidate, self._controller, self._api
        leads = controller is not None and (candidate is None or candidate.may_act)
        yield GaugeMetricFamily(
            "hpcbatch_leader", "1 while this controller acts, 0 while it stands by.", value=int(leads)
        )
        if controller is None or api is None:
            return
        jobs = GaugeMetricFamily("hpcbatch_jobs", "BatchJobs by state.", labels=["state"])
        counts = controller.count_by_state()
        for state in sorted(
            {*JobState, *counts}
        ):  # a state without jobs is 0: a dashboard takes a lost series for a fault
            jobs.add_metric([state], counts.get(state, 0))
        yield jobs
        work, mailer = controller.work, controller.mailer
        yield CounterMetricFamily("hpcbatch_reconciles", "Looks at a job.", value=work.handled)
        yield CounterMetricFamily("hpcbatch_reconcile_retries", "Looks that failed.", value=work.retried)
        yield GaugeMetricFamily("hpcbatch_queue_length", "Jobs that wait for a look.", value=len(work))
        yield CounterMetricFamily("hpcbatch_mails_sent", "Mails that were sent.", value=mailer.sent)
        yield CounterMetricFamily("hpcbatch_mails_failed", "Mails that were given up.", value=mailer.failed)
        yield GaugeMetricFamily("hpcbatch_mails_waiting", "Of whom mail has not got through.", value=mailer.waiting)
        if (archive := controller.archive) is not None:
            yield CounterMetricFamily("hpcbatch_history_moved", "Ended jobs moved to the history.", value=archive.moved)
            yield GaugeMetricFamily(
                "hpcbatch_history_waiting", "Ended jobs that have not moved yet.", value=archive.waiting
            )
            yield GaugeMetricFamily(
                "hpcbatch_history_up",
                "0 while the history's database cannot be used.",
                value=int(not archive.problem),
            )
        calls = CounterMetricFamily(
            "hpcbatch_api_requests",
            "Calls on the API by HTTP status; 0 is no answer.",
            labels=["verb", "resource", "code"],
        )
        for (verb, resource, code), count in sorted(api.calls.copy().items()):
            calls.add_metric([verb, resource, str(code)], count)
        yield calls
