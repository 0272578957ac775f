"""The embedded engine without HTTP and processes: registry, Volcano's loops, and a kubelet that only plays."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from hpcbatch.api.informer import Informer
from hpcbatch.api.port import Object, WatchEvent
from hpcbatch.api.resources import NODES, PODGROUPS, PODS, VOLCANO_JOBS, Resource
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Store
from hpcbatch.engine.volcano.admission import register_volcano_admission
from hpcbatch.engine.volcano.scheduler import Scheduler
from hpcbatch.errors import ConflictError, NotFoundError
from hpcbatch.gang.job_controller import JobController
from tests.component.checked_registry import CheckedRegistry
from tests.waiting import wait_for

NS = "default"
ENDS_WITH = "test/ends-with"  # annotation of a pod that ends by itself as soon as it runs, and is never ready
ON_TERM = "test/on-term"  # exit code of a pod that is deleted while it runs
_REST_S = 0.3  # longer than a Volcano Job's first status is put off


class PlayKubelet:
    """Bound pods run at once, end when told (or by annotation), and go when deleted."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self.started: list[str] = []
        self.refusals = 0
        """So many of the next pods find no room on their nodes."""
        self._last_start: dict[str, int] = {}  # by pod, another time for each pod of a name
        self._started_at: dict[str, str] = {}
        self._pods = Informer(registry, PODS, on_event=self._on_pod)

    def start(self) -> None:
        self._pods.start()

    def stop(self) -> None:
        self._pods.stop()

    def _on_pod(self, event: WatchEvent) -> None:
        pod = event.object
        meta, phase = pod["metadata"], pod["status"].get("phase", "Pending")
        if event.type == "DELETED" or not pod["spec"].get("nodeName"):
            return
        notes = meta.get("annotations", {})
        try:
            if "deletionTimestamp" in meta:
                if ON_TERM in notes and phase == "Running":
                    self.end(meta["name"], int(notes[ON_TERM]))
                self._registry.delete(PODS, meta["name"], meta["namespace"], grace_period_s=0, uid=meta["uid"])
            elif phase == "Pending" and self.refusals:
                self.refusals -= 1
                self._refuse(meta["name"])
            elif phase == "Pending":
                start_s = max(int(time.time()), self._last_start.get(meta["name"], 0) + 1)
                self._last_start[meta["name"]] = start_s
                self._started_at[meta["name"]] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(start_s))
                state = {"running": {"startedAt": self._started_at[meta["name"]]}}
                self._status(meta["name"], "Running", state, ready=ENDS_WITH not in notes)
                self.started.append(meta["name"])  # not before: who waits for it may end the pod at once
            elif phase == "Running" and ENDS_WITH in notes:
                self.end(meta["name"], int(notes[ENDS_WITH]))
        except (NotFoundError, ConflictError):
            pass  # somebody was quicker; the next event tells

    def end(self, name: str, exit_code: int, message: str = "") -> None:
        """`message`: the container's last words."""
        ended = {"exitCode": exit_code, "finishedAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        if message:
            ended |= {"message": message, "startedAt": self._started_at[name]}
        self._status(name, "Failed" if exit_code else "Succeeded", {"terminated": ended}, ready=False)

    def restarted(self, name: str, count: int) -> None:
        """The container ended and was started again."""
        self._status(name, "Running", {"running": {}}, ready=True, restarts=count)

    def _refuse(self, name: str) -> None:
        text = "Pod was rejected: Node didn't have enough resource: cpu, requested: 1000, used: 1500, capacity: 2000"
        status = {"phase": "Failed", "reason": "OutOfcpu", "message": text}

        def change(pod: Object) -> Object:
            return {**pod, "status": {**pod["status"], **status}}

        self._registry.update(PODS, name, NS, change, subresource="status")

    def _status(self, name: str, phase: str, state: Object, *, ready: bool, restarts: int = 0) -> None:
        entry = {"name": "main", "ready": ready, "restartCount": restarts, "state": state}

        def change(pod: Object) -> Object:
            return {**pod, "status": {**pod["status"], "phase": phase, "containerStatuses": [entry]}}

        self._registry.update(PODS, name, NS, change, subresource="status")


class Cluster:
    """`cpus` holds the CPUs of each node."""

    def __init__(self, *cpus: int, store: Store | None = None) -> None:
        self.registry = CheckedRegistry(store or Store(":memory:"))
        register_volcano_admission(self.registry)
        self.registry.install_builtin()
        for index, count in enumerate(cpus):
            self.add_node(f"node-{index}", count)
        self.kubelet = PlayKubelet(self.registry)
        self.scheduler = Scheduler(self.registry)
        self.controller = JobController(self.registry, self.registry.record_event, feed=self.registry.feed)

    def add_node(self, name: str, cpus: int) -> None:
        size = {"cpu": str(cpus), "memory": "8Gi", "pods": "110"}
        node = {
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {"allocatable": size, "capacity": size, "conditions": [{"type": "Ready", "status": "True"}]},
        }
        self.registry.create(NODES, node)

    def start(self) -> None:
        self.kubelet.start()
        self.scheduler.start()
        self.controller.start()

    def stop(self) -> None:
        self.controller.stop()
        self.scheduler.stop()
        self.kubelet.stop()

    def submit(self, name: str, *tasks: Object, **spec: Any) -> Object:
        return self.create(VOLCANO_JOBS, {"metadata": {"name": name}, "spec": {"tasks": list(tasks), **spec}})

    def create(self, resource: Resource, obj: Object) -> Object:
        given = {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
        return self.registry.create(resource, given, NS if resource.namespaced else None)

    def job(self, name: str) -> Object:
        return self.registry.get(VOLCANO_JOBS, name, NS)

    def phase(self, name: str) -> str:
        return str(self.job(name).get("status", {}).get("state", {}).get("phase", ""))

    def wait_phase(self, name: str, phase: str) -> Object:
        return wait_for(f"job {name} to be {phase}", lambda: self.job(name) if self.phase(name) == phase else None)

    def wait(self, what: str, condition: Callable[[], Any]) -> Any:
        return wait_for(what, condition)

    def end_pods(self, job: str, message: str) -> None:
        """All pods of the Volcano Job end well. When the first has, the others may be taken away."""
        for name in self.pods(job):
            with suppress(NotFoundError):
                self.kubelet.end(name, 0, message)

    def pods(self, job: str = "") -> dict[str, Object]:
        labels = f"volcano.sh/job-name={job}" if job else ""
        return {pod["metadata"]["name"]: pod for pod in self.registry.list(PODS, NS, labels=labels).items}

    def pod_phases(self, job: str) -> dict[str, str]:
        return {name: pod["status"].get("phase", "") for name, pod in self.pods(job).items()}

    def group(self, job: str) -> Object | None:
        name = f"{job}-{self.job(job)['metadata']['uid']}"
        try:
            return self.registry.get(PODGROUPS, name, NS)
        except NotFoundError:
            return None

    def settled(self) -> None:
        """Wait until the controller has nothing left to do and the scheduler has decided about all of it."""
        wait_for("the loops to come to rest", self._is_at_rest)

    def _is_at_rest(self) -> bool:
        before = self.registry.store.revision
        time.sleep(_REST_S)
        return self.registry.store.revision == before


@contextmanager
def running(*cpus: int, store: Store | None = None) -> Iterator[Cluster]:
    cluster = Cluster(*cpus, store=store)
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()


def task(
    name: str,
    replicas: int = 1,
    *,
    cpu: str = "1",
    policies: list[Object] | None = None,
    notes: Object | None = None,
    pod: Object | None = None,
    **more: Any,
) -> Object:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container], **(pod or {})}
    template = {"metadata": {"annotations": notes or {}}, "spec": spec}
    return {"name": name, "replicas": replicas, "policies": policies or [], "template": template, **more}


def on(event: str, action: str, **more: Any) -> Object:
    return {"event": event, "action": action, **more}
