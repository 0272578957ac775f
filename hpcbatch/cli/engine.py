"""The engine's process: store, API server, Volcano's controllers, agent and BatchJob controller under one roof."""

from __future__ import annotations

import gc
import logging
import logging.handlers
import os
import pwd
import secrets
import signal
import socket
import sqlite3
import sys
import threading
from pathlib import Path

from hpcbatch.api.resources import NAMESPACES
from hpcbatch.cli.unix_names import group_name
from hpcbatch.controller.controller import Controller
from hpcbatch.engine import handles
from hpcbatch.engine.agent.agent import Agent, NodeSpec
from hpcbatch.engine.daemon import EngineError, EngineOptions, read_options, sole_engine
from hpcbatch.engine.freed_memory import return_freed
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Store
from hpcbatch.engine.repeats import Repeats
from hpcbatch.engine.server.certificates import ensure_certificate
from hpcbatch.engine.server.kubeconfig import write_kubeconfig
from hpcbatch.engine.server.server import ApiServer, ServerError
from hpcbatch.engine.volcano.admission import register_volcano_admission
from hpcbatch.engine.volcano.scheduler import Scheduler
from hpcbatch.errors import HpcBatchError
from hpcbatch.gang.job_controller import JobController
from hpcbatch.history.databases import SqliteDatabase
from hpcbatch.history.store import HistoryStore
from hpcbatch.model.site import SiteConfig
from hpcbatch.site.identity import GID, GROUPS, HOME, UID, USER, groups_note
from hpcbatch.typed import Protocol
from hpcbatch.volcano.gangs.registry import VOLCANO, gang_of

_LOG_BYTES = 5 * 2**20
_LOOK_S = 1.0
_LOOKS_BETWEEN = 60
"""After so many, the memory that was freed meanwhile is returned to the system: some milliseconds of work."""
_GROUPED_S = 0.03
"""So long at most the store's writes wait for others, to share a transaction."""
_GC_THRESHOLDS = (10_000, 20, 20)
"""Few of the engine's objects refer to each other in a circle, and looking for these takes its time."""


def main() -> None:
    """`python -m hpcbatch.cli.engine STATE_DIR READY_FD`: writes to READY_FD `ready`, how memory limits are enforced
    and what cannot be done here, with tabs between them; or one line why it did not start."""
    state_dir, told = Path(sys.argv[1]), os.fdopen(int(sys.argv[2]), "w")
    handler = logging.handlers.RotatingFileHandler(state_dir / "engine.log", maxBytes=_LOG_BYTES, backupCount=2)
    logging.basicConfig(
        handlers=[handler], level=logging.INFO, format="%(asctime)s %(levelname)s %(threadName)s %(message)s"
    )
    handler.addFilter(Repeats())
    handles.raise_limit()
    stop = threading.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, lambda *_: stop.set())
    try:
        with sole_engine(state_dir):
            engine = Engine(state_dir, read_options(state_dir) or EngineOptions())
            engine.start()
            print("ready", engine.memory_limits, engine.warning, sep="\t", file=told, flush=True)
            told.close()
            gc.freeze()  # what is there by now stays
            gc.set_threshold(*_GC_THRESHOLDS)
            looks = 0
            while not stop.wait(_LOOK_S) and not engine.failure:
                looks += 1
                if looks % _LOOKS_BETWEEN == 0:
                    return_freed()
            if failure := engine.failure:
                raise EngineError(failure)
            engine.stop()
    except (HpcBatchError, OSError, sqlite3.Error) as error:
        logging.getLogger(__name__).exception("the engine cannot go on")
        if not told.closed:
            print(" ".join(str(error).split()), file=told, flush=True)
        sys.exit(1)


def server_name() -> str:
    """What stands behind the dot of PBS ids: this machine's short name."""
    name = socket.gethostname().partition(".")[0]
    return name if name.replace("-", "").isalnum() else "localhost"


class Part(Protocol):
    def start(self) -> None: ...
    def stop(self) -> None: ...


class Engine:
    """All parts of the embedded cluster, in the order in which they start."""

    def __init__(self, state_dir: Path, options: EngineOptions) -> None:
        try:
            store = Store(str(state_dir / "store.db"))
        except sqlite3.Error as error:
            raise EngineError(f"{state_dir / 'store.db'} cannot be opened: {error}") from None
        self._history = HistoryStore(SqliteDatabase(state_dir / "history.db"))
        self._registry = registry = Registry(store)
        self._store = store
        store.disk.group(_GROUPED_S)
        register_volcano_admission(registry)
        registry.install_builtin()
        nodes = [
            NodeSpec(name=f"node-{index}", cpus=options.cpus, memory_bytes=options.mem_bytes)
            for index in range(options.nodes)
        ]
        self._agent = Agent(registry, state_dir, nodes)
        self._certificate, self._token = ensure_certificate(state_dir), secrets.token_urlsafe(32)
        self._state_dir, self._options = state_dir, options
        self._site = SiteConfig(server_name=server_name())
        self._controller = Controller(
            registry,
            self._site,
            self._history,
            read_log=self._agent.log_end,
            prepare_site=self._make_queues,
            makes_pods=False,
            settle=store.disk.flush,
        )
        self._parts: list[Part] = [
            self._agent,
            Scheduler(registry),
            JobController(
                registry, registry.record_event, feed=registry.feed, gang_of=lambda job: gang_of(job) or VOLCANO
            ),
            self._controller,
        ]

    @property
    def memory_limits(self) -> str:
        """One line on how they are enforced."""
        return self._agent.memory_limits

    @property
    def warning(self) -> str:
        """One line to tell whoever starts the engine: what it cannot do on this machine. Empty if nothing."""
        return self._agent.namespaces_unavailable

    @property
    def failure(self) -> str:
        """Why it cannot go on: better no engine than one that answers no qsub. "" if nothing is wrong."""
        return self._controller.failure

    def start(self) -> None:
        port = self._start_server()  # first: a taken port is to stop nothing that has begun
        self._agent.allow_api_calls(port, self._server.take)
        self._claim_default_namespace()
        for part in self._parts:
            part.start()
        write_kubeconfig(
            self._state_dir / "kubeconfig",
            server=f"https://127.0.0.1:{port}",
            cluster=self._site.server_name,
            ca_file=self._certificate.cert_file,
            token=self._token,
        )

    def _start_server(self) -> int:
        """On the port requested; else on the last one, so that open clients go on, or on any free one."""
        remembered = self._state_dir / "port"
        if self._options.port:
            self._server = self._make_server(self._options.port)
            return self._server.start()
        try:
            self._server = self._make_server(int(remembered.read_text()))
            return self._server.start()
        except (OSError, ValueError, ServerError):
            self._server = self._make_server(0)
            port = self._server.start()
        remembered.write_text(str(port))
        return port

    def _make_server(self, port: int) -> ApiServer:
        return ApiServer(
            self._registry,
            port=port,
            cert_file=self._certificate.cert_file,
            key_file=self._certificate.key_file,
            token=self._token,
            log_source=self._agent.log_path,
            let_in=self._agent.let_in,
            history=self._history,
        )

    def stop(self) -> None:
        self._server.stop()
        for part in reversed(self._parts):
            part.stop()
        self._store.close()
        self._history.close()

    def _make_queues(self, site: SiteConfig) -> None:
        """The Volcano Queues that the site names: the engine has no other admin who would."""
        for name in sorted({queue.volcano_queue for queue in site.queues}):
            try:
                self._registry.ensure_queue(name)
            except HpcBatchError as error:
                logging.getLogger(__name__).warning("no Volcano Queue %s can be made: %s", name, error)

    def _claim_default_namespace(self) -> None:
        """The engine has one user: whoever started it."""
        user = pwd.getpwuid(os.getuid())
        gids = dict.fromkeys((user.pw_gid, *os.getgroups()))
        notes = {
            USER: user.pw_name,
            UID: str(user.pw_uid),
            GID: str(user.pw_gid),
            HOME: os.environ.get("HOME") or user.pw_dir,
            GROUPS: groups_note((gid, name) for gid in gids if (name := group_name(gid))),
        }
        self._registry.patch(NAMESPACES, "default", {"metadata": {"annotations": notes}})


if __name__ == "__main__":
    main()
