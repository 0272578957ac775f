"""The embedded engine's kubelet: runs the pods that are bound to its nodes, and writes their statuses and events.

One thread makes all decisions; changes of pods, secrets and config maps, the pod host's events and timers reach it
through one queue. It keeps no state across restarts: at its start it first ends the pods that an earlier engine left
as running (their processes died with it), and only then starts new ones.
"""

from __future__ import annotations

import heapq
import logging
import os
import pwd
import queue
import shutil
import socket
import stat
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hpcbatch.api.port import Object, WatchEvent
from hpcbatch.api.resources import CONFIGMAPS, LEASES, NAMESPACES, NODES, PODS, SECRETS, VOLCANO_JOBS, Resource
from hpcbatch.engine.agent import logs
from hpcbatch.engine.agent.concerns import concerns
from hpcbatch.engine.agent.hints import runner_hints
from hpcbatch.engine.agent.node import (
    LEASE_NAMESPACE,
    LEASE_S,
    NodeSpec,
    host_address,
    lease,
    lease_spec,
    node_metadata,
    node_status,
)
from hpcbatch.engine.agent.outbox import Outbox
from hpcbatch.engine.agent.oversubscribed import yielding
from hpcbatch.engine.agent.podhost_client import PodHostClient, PodHostError
from hpcbatch.engine.agent.resizing import DEFERRED, INFEASIBLE, too_much
from hpcbatch.engine.agent.run import PodRun
from hpcbatch.engine.agent.shared_volumes import SharedVolumes
from hpcbatch.engine.agent.spec import Host, never_starts
from hpcbatch.engine.agent.sshd import prepare_ssh_directory
from hpcbatch.engine.agent.status import lost_parts, pod_status
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.statuses import forbidden
from hpcbatch.engine.registry.writes import Operation
from hpcbatch.errors import AlreadyExistsError, ConflictError, NotFoundError
from hpcbatch.units import rfc3339

__all__ = ["Agent", "NodeSpec"]

_LOG = logging.getLogger(__name__)
_STOP_GRACE_S = 5.0
_SHUTDOWN = ("Terminated", "Pod was terminated in response to imminent node shutdown.")
"""Reason and message that a kubelet writes when its node shuts down."""
_HOST_RETRY_S = 5.0


class Agent:
    """`state_dir` holds logs and volumes; one agent runs all nodes of the engine."""

    def __init__(self, registry: Registry, state_dir: Path, nodes: Sequence[NodeSpec]) -> None:
        self.registry = registry
        self.state_dir, self._pods_dir = state_dir, state_dir.resolve() / "pods"
        self._nodes = {node.name: node for node in nodes}
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._runs: dict[str, PodRun] = {}
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._timer_count = 0
        self._outbox = Outbox(registry.store.disk.flush, self._send_now, self.after)
        self._thread = threading.Thread(target=self._work, name="agent", daemon=True)
        self._feeds = [
            registry.feed(resource, self._enqueuing(handle))
            for resource, handle in (
                (SECRETS, self._source_changed),
                (CONFIGMAPS, self._source_changed),
                (PODS, self._pod_changed),
            )
        ]
        self._pod_host: PodHostClient | None = None
        self._api_port = 0
        self._on_caller: Callable[[socket.socket], None] = socket.socket.close
        self._stopping = False
        self._idle = threading.Event()
        self._cleaner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="agent-cleaner")

    # --- life ---

    def allow_api_calls(self, api_port: int, on_caller: Callable[[socket.socket], None]) -> None:
        """Let pods with a network of their own connect to `api_port` of 127.0.0.1; `on_caller` gets the connections, in
        a thread of its own. Must be called before `start`.
        """
        self._api_port, self._on_caller = api_port, on_caller

    def start(self) -> None:
        """Returns when the nodes are registered and everything that an earlier engine left is removed."""
        self.state_dir.mkdir(parents=True, exist_ok=True)
        self._start_pod_host()
        if self.host.mode == "plain":
            _LOG.warning("%s", self.host.why_plain)
        self.registry.admission[VOLCANO_JOBS].validators.append(self._admit_job)
        self._register_nodes()
        self._end_lost_pods()
        self._thread.start()
        for feed in self._feeds:
            feed.start()

    def stop(self) -> None:
        """End all pods, after a grace of a few seconds, and remove everything that was made for them."""
        if self._thread.is_alive():
            self._queue.put(self._stop_all)
            self._idle.wait(_STOP_GRACE_S + 5)
            self._stopping = True
            for feed in self._feeds:
                feed.stop()
            self._queue.put(None)
            self._thread.join(timeout=10)
        if self._pod_host is not None:
            self._pod_host.stop()
        self._cleaner.shutdown()

    def log_path(self, pod: Object, container: str, *, previous: bool = False) -> Path | None:
        """The log of the container's latest run, or with `previous` of the one before; None if there is none (yet)."""
        return logs.latest(self._directory(pod["metadata"]["uid"]), container, previous=previous)

    def let_in(self, pod: Object, message: Mapping[str, Any]) -> socket.socket:
        """Connect to a running container of the pod: `message` without the pod as in `podhost/container.py`. From any
        thread. Raises OSError.
        """
        if self._pod_host is None:
            raise ConnectionRefusedError("no pod host")
        return self._pod_host.let_in({**message, "pod": pod["metadata"]["uid"]})

    def log_end(self, pod: Object) -> str:
        """The last lines in the log of the pod's container `main`."""
        return logs.end(self.log_path(pod, "main"))

    @property
    def memory_limits(self) -> str:
        """How the memory limits of pods are enforced here, in one line."""
        if not self._why_sampling:
            return "Memory limits are enforced by control groups."
        return (
            f"Memory limits are enforced by looking once a second: control groups cannot be had ({self._why_sampling})."
        )

    @property
    def namespaces_unavailable(self) -> str:
        """Why pods have no namespaces here, in one line; empty where they have them."""
        return self.host.why_plain

    # --- for the pods' runs ---

    def send(self, message: dict[str, Any]) -> None:
        self._outbox.send(message)

    def after(self, delay_s: float, action: Callable[[], None]) -> None:
        """Call `action` later in the agent's thread. Only that thread may call this."""
        self._timer_count += 1
        heapq.heappush(self._timers, (time.monotonic() + delay_s, self._timer_count, action))

    def fetch(self, namespace: str) -> Callable[[Resource, str], Object | None]:
        def read(resource: Resource, name: str) -> Object | None:
            try:
                return self.registry.get(resource, name, namespace)
            except NotFoundError:
                return None

        return read

    def event(self, run: PodRun, reason: str, message: str, *, warning: bool = False, container: str = "") -> None:
        init = any(one.init and one.name == container for one in run.parts.containers)
        field = f"spec.{'initContainers' if init else 'containers'}{{{container}}}" if container else ""
        self.registry.record_event(
            run.pod,
            type="Warning" if warning else "Normal",
            reason=reason,
            message=message,
            component="kubelet",
            host=run.node,
            field_path=field,
        )

    def write_status(self, run: PodRun) -> None:
        uid, now = run.uid, self.now()

        def change(pod: Object) -> Object | None:
            if pod["metadata"]["uid"] != uid:
                return None
            return pod_status(run.parts, pod.get("status") or {}, pod["metadata"].get("generation") or 0, now)

        try:
            self.registry.put_complete_status(self.registry.kind(PODS), run.name, run.namespace, change)
        except NotFoundError:
            pass

    def delete_pod(self, run: PodRun) -> None:
        """Delete the object of a pod whose processes are gone."""
        try:
            self.registry.delete(PODS, run.name, run.namespace, grace_period_s=0, uid=run.uid)
        except (NotFoundError, ConflictError):
            pass

    def forget(self, run: PodRun) -> None:
        """Drop a run that has ended and whose object is gone."""
        self._runs.pop(run.uid, None)
        self._remove_later(self._directory(run.uid))

    def pod_directory(self, uid: str) -> Path:
        """The directory for one pod's volumes and logs; made here, mode 0700."""
        directory = self._directory(uid)
        try:
            directory.mkdir(exist_ok=True, mode=0o700)
        except FileNotFoundError:
            directory.parent.mkdir(exist_ok=True, mode=0o700)
            directory.mkdir(exist_ok=True, mode=0o700)
        return directory

    def volumes_directory(self, uid: str) -> str:
        """Where the pod host keeps the files of the pod's volumes."""
        return f"{self._host_work}/pods/{uid}/volumes"

    @staticmethod
    def now() -> str:
        return rfc3339(datetime.now(UTC))

    def node_facts(self, node: str) -> dict[str, str]:
        spec = self._nodes[node]
        return {"node.cpu": str(spec.cpus), "node.memory": str(spec.memory_bytes)}

    def lacking(self, run: PodRun) -> tuple[str, str] | None:
        """Reason and message if the pod does not fit on its node beside the others. Source: kubelet, predicate.go."""
        found = too_much(run.pod, self._beside(run), self._nodes[run.node])
        return None if found is None else (f"OutOf{found[0]}", f"Node didn't have enough resource: {found[1]}")

    def not_granted(self, run: PodRun) -> tuple[str, str] | None:
        """The same of a pod that is to be resized."""
        node = self._nodes[run.node]
        if (never := too_much(run.pod, None, node)) is not None:
            return INFEASIBLE, f"Node didn't have enough capacity: {never[1]}"
        found = too_much(run.pod, self._beside(run), node)
        return None if found is None else (DEFERRED, f"Node didn't have enough resource: {found[1]}")

    def _beside(self, run: PodRun) -> list[Object]:
        others = (one for one in self._runs.values() if one is not run and one.node == run.node)
        return [one.allocated for one in others if one.uses_node]

    def _admit_job(self, operation: Operation, job: Object, _old: Object | None) -> None:
        """Refuse a job whose pods could not start here: they would wait for ever and hold their nodes' CPUs."""
        if operation != "CREATE":
            return
        for task in job["spec"]["tasks"]:
            why = never_starts((task.get("template") or {}).get("spec") or {}, self.host)
            if why:
                kind = self.registry.kind(VOLCANO_JOBS)
                raise forbidden(kind, job["metadata"]["name"], f"task {task['name']}, {why}")

    # --- the thread ---

    def _work(self) -> None:
        while True:
            left = self._timers[0][0] - time.monotonic() if self._timers else None
            try:
                if left is not None and left <= 0:
                    action: Callable[[], None] | None = heapq.heappop(self._timers)[2]
                else:
                    action = self._queue.get(timeout=left)
            except queue.Empty:
                continue
            if action is None:
                return
            try:
                action()
            except Exception:
                _LOG.exception("agent")

    def _send_now(self, message: dict[str, Any]) -> None:
        if self._pod_host is not None:
            self._pod_host.send(message)

    def _enqueuing(self, handle: Callable[[WatchEvent], None]) -> Callable[[WatchEvent], None]:
        def on_event(event: WatchEvent) -> None:
            if concerns(event, self._nodes):
                self._queue.put(lambda: handle(event))

        return on_event

    def _pod_changed(self, event: WatchEvent) -> None:
        pod = event.object
        run = self._runs.get(uid := pod["metadata"]["uid"])
        if event.type == "DELETED":
            if run is not None:
                run.gone()
            else:
                self._remove_later(self._directory(uid))
        elif run is not None:
            run.changed(pod)
        elif pod["spec"].get("nodeName") in self._nodes and not _has_ended(pod) and not self._stopping:
            run = self._runs[uid] = PodRun(self, pod)
            run.guarded(run.begin)

    def _source_changed(self, event: WatchEvent) -> None:
        meta = event.object["metadata"]
        kind = SECRETS if event.object.get("kind") == "Secret" else CONFIGMAPS
        for run in list(self._runs.values()):
            if run.namespace == meta["namespace"]:
                run.guarded(lambda run=run: run.source_changed(kind.plural, meta["name"]))  # type: ignore[misc]

    def _on_host_message(self, message: dict[str, Any]) -> None:
        if message["event"] == "lost":
            self._host_lost()
            return
        if message["event"] == "unshared":
            self.shared.forget(message["key"])
            return
        if (run := self._runs.get(message["pod"])) is not None:
            run.guarded(lambda: run.on_host_message(message))

    def _host_lost(self) -> None:
        if self._stopping:
            return
        self._outbox.forget()
        for run in list(self._runs.values()):
            run.guarded(run.lost)
        self._restart_pod_host()

    def _restart_pod_host(self) -> None:
        if self._stopping:
            return
        try:
            self._start_pod_host()
        except PodHostError as error:
            _LOG.error("%s; next try in %g s", error, _HOST_RETRY_S)
            self.after(_HOST_RETRY_S, self._restart_pod_host)
            return
        for run in list(self._runs.values()):
            run.guarded(run.begin)

    def _stop_all(self) -> None:
        self._stopping = True
        for run in list(self._runs.values()):
            if run.begun:
                run.guarded(lambda run=run: run.end(*_SHUTDOWN, _STOP_GRACE_S))  # type: ignore[misc]
        self._check_idle()

    def _check_idle(self) -> None:
        if any(run.begun for run in self._runs.values()):
            self.after(0.02, self._check_idle)
        else:
            self._idle.set()

    # --- start ---

    @property
    def _work_dir(self) -> Path:
        return self.state_dir.resolve() / "podhost"

    def _directory(self, uid: str) -> Path:
        return self._pods_dir / uid

    def _start_pod_host(self) -> None:
        _clear_stale(self._work_dir)
        self._host_work = str(self._work_dir)
        client = PodHostClient(
            self._work_dir,
            lambda message: self._queue.put(lambda: self._on_host_message(message)),
            self._api_port,
            self._on_caller,
        )
        mode = client.start()
        path = _search_path()
        self._pod_host, self._why_sampling = client, mode.why_sampling
        self.shared = SharedVolumes("" if mode.name == "plain" else f"{self._host_work}/shared", client.send)
        self.host = Host(
            mode=mode.name,
            why_plain=mode.why_plain,
            uid=os.getuid(),
            gid=os.getgid(),
            groups=tuple(os.getgroups()),
            home=_home(),
            path=path,
            ip=host_address(),
            ssh_dir=prepare_ssh_directory(self.state_dir.resolve() / "ssh", path) if mode.name != "plain" else "",
            variables={
                **yielding((node.cpus for node in self._nodes.values()), len(os.sched_getaffinity(0))),
                **runner_hints(path),
                # a job's own qsub finds this engine, whether the job has its user's environment or not
                "KUBECONFIG": str(self.state_dir.resolve() / "kubeconfig"),
            },
        )

    def _register_nodes(self) -> None:
        now = datetime.now(UTC)
        for old in self.registry.list(NODES).items:
            if old["metadata"]["name"] not in self._nodes:
                self.registry.delete(NODES, old["metadata"]["name"])
        _create(self.registry, NAMESPACES, {"metadata": {"name": LEASE_NAMESPACE}})
        for spec in self._nodes.values():
            meta = node_metadata(spec)
            _create(self.registry, NODES, {"metadata": meta, "spec": {}})
            self.registry.patch(NODES, spec.name, {"metadata": {key: meta[key] for key in ("labels", "annotations")}})
            status = node_status(spec, self.state_dir, self.host.ip, now)
            node = self.registry.patch(NODES, spec.name, {"status": status}, subresource="status")
            _create(self.registry, LEASES, lease(node, now), LEASE_NAMESPACE)
        self._renew()

    def _renew(self) -> None:
        now = datetime.now(UTC)
        for name in self._nodes:
            try:
                self.registry.patch(LEASES, name, {"spec": lease_spec(name, now)}, LEASE_NAMESPACE)
            except NotFoundError:
                _LOG.info("lease of %s is gone", name)
        self.after(LEASE_S / 3, self._renew)

    def _end_lost_pods(self) -> None:
        """End the pods whose processes died with an earlier engine, and remove their files."""
        known = set()
        for pod in self.registry.list(PODS).items:
            meta = pod["metadata"]
            node = pod["spec"].get("nodeName")
            if node is None:
                continue
            known.add(meta["uid"])
            parts = lost_parts(pod, self.host.ip, self.now())
            run = PodRun(self, pod, parts)
            if parts is not None:
                self.write_status(run)
                self.event(run, parts.failed_because or "Lost", parts.message or "ended", warning=True)
            if meta.get("deletionTimestamp") and (parts is not None or node not in self._nodes):
                self.delete_pod(run)
            elif node not in self._nodes and parts is None and not _has_ended(pod):
                self.delete_pod(run)  # bound to a node that no longer exists, and never started
        directory = self.state_dir / "pods"
        for leftover in directory.iterdir() if directory.is_dir() else ():
            if leftover.name not in known:
                self._remove_directory(leftover)
            else:
                self._remove_directory(leftover / "volumes")

    def _remove_later(self, directory: Path) -> None:
        """Remove in a thread: a job's volumes may hold many files, and pods need not wait for their removal."""
        try:
            self._cleaner.submit(self._remove_directory, directory)
        except RuntimeError:  # stopping; the next start finds it
            _LOG.info("left for the next start: %s", directory)

    @staticmethod
    def _remove_directory(directory: Path) -> None:
        def allow(function: Callable[[str], object], path: str, _error: object) -> None:
            """A directory that its owner made unreadable can be removed all the same."""
            try:
                Path(path).parent.chmod(stat.S_IRWXU)
                Path(path).chmod(stat.S_IRWXU)
                function(path)
            except OSError as error:
                if not isinstance(error, FileNotFoundError):
                    _LOG.warning("left behind: %s", error)

        if directory.is_dir():
            shutil.rmtree(directory, onerror=allow)


def _create(registry: Registry, resource: Resource, obj: Object, namespace: str | None = None) -> None:
    try:
        registry.create(resource, obj, namespace)
    except AlreadyExistsError:
        pass


def _has_ended(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}


def _home() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_dir  # where sshd and ssh look, too
    except KeyError:
        return os.environ.get("HOME", "/")


def _search_path() -> str:
    """PATH of the user who started the engine, then the programs beside our Python, such as a wheel's mpirun."""
    path = os.environ.get("PATH") or os.defpath
    beside = str(Path(sys.executable).parent)
    return path if beside in path.split(":") else f"{path}:{beside}"


def _clear_stale(work: Path) -> None:
    """Remove what a killed pod host without namespaces left; with namespaces its files were in its own tmpfs."""
    shutil.rmtree(work, ignore_errors=True)
