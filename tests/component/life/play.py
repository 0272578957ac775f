"""Pods that play scripts: so long, with that exit code; and a log of who ran when."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from hpcbatch.api.names import JOB_ID_LABEL
from hpcbatch.api.port import WatchEvent
from hpcbatch.api.resources import BATCHJOBS, CONFIGMAPS, PODS
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.errors import ConflictError, HpcBatchError, NotFoundError
from hpcbatch.volcano.translate import conf_name
from tests.component.volcano_cluster import NS, PlayKubelet

MASTER = "mpimaster-0"


@dataclass(frozen=True)
class Script:
    runs_s: float
    exit_code: int


@dataclass
class Run:
    """Of a script, once. Times are of the monotonic clock."""

    job_id: int
    name: str
    """The job's, for members of arrays `name[index]`."""
    is_rerunnable: bool
    begun: float
    ended: float | None = None
    exit_code: int | None = None
    """None: it was not let come to its end."""


@dataclass
class Log:
    runs: list[Run] = field(default_factory=list)

    def of(self, name: str) -> list[Run]:
        return [run for run in self.runs if run.name == name]

    def of_array(self, name: str) -> list[Run]:
        return [run for run in self.runs if run.name.startswith(f"{name}[")]


class Stage(PlayKubelet):
    """`scripts` by job name. What the runner does with a job that must not run twice is played too."""

    def __init__(self, registry: Registry, scripts: dict[str, Script]) -> None:
        super().__init__(registry)
        self._scripts = scripts
        self.log = Log()
        self._lock = threading.Lock()
        self._running: dict[str, Run] = {}  # by uid of the pod

    def _on_pod(self, event: WatchEvent) -> None:
        pod = event.object
        meta, phase = pod["metadata"], pod["status"].get("phase", "Pending")
        number = (meta.get("labels") or {}).get(JOB_ID_LABEL)
        is_master = number is not None and meta["name"].endswith(MASTER)
        if is_master and event.type == "DELETED":
            self._break_off(meta["uid"])
        if is_master and event.type != "DELETED" and pod["spec"].get("nodeName"):
            if "deletionTimestamp" in meta and phase == "Running":
                self._break_off(meta["uid"])
                self._try_end(meta["name"], 143, "signal=15\nreason=Signalled")
            elif "deletionTimestamp" not in meta and phase == "Pending":
                super()._on_pod(event)
                self._begin(meta["name"], meta["uid"], int(number))
                return
        super()._on_pod(event)

    def _begin(self, pod: str, uid: str, number: int) -> None:
        try:
            conf = self._registry.get(CONFIGMAPS, conf_name(number), NS).get("data", {})
        except NotFoundError:
            conf = {}
        if conf.get("has_run") == "withdrawn":
            self._try_end(pod, 1, "reason=Withdrawn\nmessage=the job was held or changed before it could start")
            return
        if conf.get("has_run", uid) != uid:
            self._try_end(pod, 1, "reason=LaunchFailed\nmessage=the job has been started before and is not rerunnable")
            return
        spec = self._registry.list(BATCHJOBS, NS, fields=f"status.jobId={number}").items[0]["spec"]
        name = spec["name"]
        script = self._scripts[name]
        if "memberOf" in spec:
            name = f"{name}[{spec['memberOf']['index']}]"
        run = Run(number, name, spec["rerunnable"], time.monotonic())
        with self._lock:
            self.log.runs.append(run)
            self._running[uid] = run
        threading.Timer(script.runs_s, self._finish, (pod, uid, script.exit_code)).start()

    def _finish(self, pod: str, uid: str, code: int) -> None:
        with self._lock:
            run = self._running.pop(uid, None)
            if run is None:
                return
            run.ended, run.exit_code = time.monotonic(), code
        self._try_end(pod, code, f"exit_code={code}\nwalltime_s=1\ncpu_s=1", uid)

    def _break_off(self, uid: str) -> None:
        with self._lock:
            run = self._running.pop(uid, None)
            if run is not None:
                run.ended = time.monotonic()

    def _try_end(self, pod: str, code: int, message: str, uid: str = "") -> None:
        try:
            if uid and self._registry.get(PODS, pod, NS)["metadata"]["uid"] != uid:
                return
            self.end(pod, code, message)
        except (NotFoundError, ConflictError):
            pass

    def _is_barred(self, run: Run) -> bool:
        try:
            return "has_run" in self._registry.get(CONFIGMAPS, conf_name(run.job_id), NS).get("data", {})
        except NotFoundError:
            return False

    def lose_one(self, choice: float) -> str | None:
        """Take a running pod away as a lost node does; the name of its job, None where none runs.

        Not that of a job that must not run twice before its second start is barred: within the moment between the start
        of a pod and the controller's hearing of it Volcano may make it anew (docs/design.md).
        """
        with self._lock:
            running = [(uid, run) for uid, run in self._running.items() if run.is_rerunnable or self._is_barred(run)]
        if not running:
            return None
        uid, run = running[int(choice * len(running))]
        for pod in self._registry.list(PODS, NS).items:
            if pod["metadata"]["uid"] == uid:
                self._break_off(uid)
                try:
                    self._registry.delete(PODS, pod["metadata"]["name"], NS, grace_period_s=0, uid=uid)
                except HpcBatchError:
                    return None
                return run.name
        return None
