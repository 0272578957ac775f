"""The run of one pod on the embedded engine, from its binding to its end.

All methods run in the agent's thread. `parts` holds the pod's state; `_advance` reads it after every change and takes
the next step that is due.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from hpcbatch.api.port import Object
from hpcbatch.api.resources import PODS, Resource
from hpcbatch.engine.agent import logs
from hpcbatch.engine.agent.environment import NotReadyError
from hpcbatch.engine.agent.resizing import grant, is_deferred
from hpcbatch.engine.agent.shared_volumes import SharedVolumes
from hpcbatch.engine.agent.spec import Host, fs_group, own_network, pod_message, start_message, volume_message
from hpcbatch.engine.agent.status import (
    ContainerRun,
    PodStatusParts,
    container_id,
    lose,
    new_containers,
    new_state,
    waiting,
)
from hpcbatch.engine.agent.volumes import Volume, make_empty_dirs, pod_volumes
from hpcbatch.errors import HpcBatchError
from hpcbatch.units import parse_rfc3339, rfc3339

_LOG = logging.getLogger(__name__)
_FIRST_BACKOFF_S: Final = 10.0
_LONGEST_BACKOFF_S: Final = 300.0
_GOOD_RUN_S: Final = 600.0
"""A container that ran this long starts its back-off again from zero. Source: kubelet."""
_FIRST_RETRY_S: Final = 0.25
_LONGEST_RETRY_S: Final = 30.0
_RESIZE_LOOK_S: Final = 0.25
_DEADLINE = "Pod was active on the node longer than the specified deadline"


class Owner(Protocol):
    """The part of the agent that a run uses."""

    host: Host
    shared: SharedVolumes

    def send(self, message: dict[str, Any]) -> None: ...
    def after(self, delay_s: float, action: Callable[[], None]) -> None: ...
    def fetch(self, namespace: str) -> Callable[[Resource, str], Object | None]: ...
    def event(self, run: PodRun, reason: str, message: str, *, warning: bool = False, container: str = "") -> None: ...
    def write_status(self, run: PodRun) -> None: ...
    def delete_pod(self, run: PodRun) -> None: ...
    def forget(self, run: PodRun) -> None: ...
    def pod_directory(self, uid: str) -> Path: ...
    def volumes_directory(self, uid: str) -> str: ...
    def node_facts(self, node: str) -> dict[str, str]: ...
    def lacking(self, run: PodRun) -> tuple[str, str] | None: ...
    def not_granted(self, run: PodRun) -> tuple[str, str] | None: ...
    def now(self) -> str: ...
    def log_path(self, pod: Object, container: str, *, previous: bool = False) -> Path | None: ...


class PodRun:
    """`parts` is given only for a pod of an earlier engine: its last status is written and nothing is run."""

    def __init__(self, agent: Owner, pod: Object, parts: PodStatusParts | None = None) -> None:
        self.agent, self.pod = agent, pod
        meta = pod["metadata"]
        self.uid: str = meta["uid"]
        self.name: str = meta["name"]
        self.namespace: str = meta["namespace"]
        self.node: str = pod["spec"].get("nodeName") or ""
        self.parts = parts or PodStatusParts(new_containers(pod["spec"]), agent.now(), agent.host.ip, pod_uid=self.uid)
        self._sandbox = "none"  # none, requested, up
        self._volumes: dict[str, Volume] = {}
        self._alive: set[str] = set()
        self._ending = False
        self._stop_at: float | None = None
        self._object_gone = False
        self._retry_s = _FIRST_RETRY_S
        self._retry_count = 0
        self._reported: set[str] = set()
        self._due: dict[str, float] = {}
        self._is_looking = False  # again at a resize that was deferred

    @property
    def uses_node(self) -> bool:
        return not self.parts.ended

    @property
    def begun(self) -> bool:
        """Its processes may be running."""
        return self._sandbox != "none" and not self.parts.ended

    def guarded(self, action: Callable[[], None]) -> None:
        """Call `action`; try again if the API refuses; a bug ends this pod, not the agent."""
        try:
            action()
        except HpcBatchError as error:
            _LOG.warning("pod %s/%s: %s", self.namespace, self.name, error)
            self.agent.after(self._next_retry(), lambda: self.guarded(self._write_again))
        except Exception:
            _LOG.exception("pod %s/%s", self.namespace, self.name)
            if not self._ending:
                self.guarded(lambda: self.end("EngineError", "the engine failed on this pod; its log says how", 0))

    # --- events ---

    def begin(self) -> None:
        """Start the pod: it was bound to one of our nodes, or the pod host runs again."""
        if self.parts.ended or self._sandbox != "none":
            return
        if self.pod["metadata"].get("deletionTimestamp"):
            self.changed(self.pod)
            return
        lacking = self.agent.lacking(self)
        if lacking is not None:
            reason, message = lacking
            self.agent.event(self, reason, message, warning=True)
            self.parts.containers.clear()
            self.parts.ended, self.parts.failed_because = True, reason
            self.parts.message = f"Pod was rejected: {message}"
            self._ending = True
            self.agent.write_status(self)
            return
        deadline = self.pod["spec"].get("activeDeadlineSeconds")
        if deadline is not None:
            began = parse_rfc3339(self.parts.start_time)
            left = deadline - (datetime.now(UTC) - began).total_seconds()
            self.agent.after(max(0.0, left), lambda: self.guarded(self._deadline))
        self._prepare()

    def changed(self, pod: Object) -> None:
        """The object has changed: it may have to be deleted, or its files show other labels or annotations."""
        before, self.pod = self.pod, pod
        meta = pod["metadata"]
        if self._sandbox != "none" and any(
            (meta.get(field) or {}) != (before["metadata"].get(field) or {}) for field in ("labels", "annotations")
        ):
            self.source_changed(PODS.plural, self.name)
        if not meta.get("deletionTimestamp"):
            if pod["spec"] is not before["spec"]:
                self.resize()
            return
        if self.parts.ended:
            self._write_end()
            return
        grace = float(meta.get("deletionGracePeriodSeconds") or 0)
        left = (parse_rfc3339(meta["deletionTimestamp"]) - datetime.now(UTC)).total_seconds()
        self.end("", "", min(grace, max(left + 1, 0)) if grace else 0)

    def resize(self) -> None:
        """Give the containers what they are to have now, if the node has it; else look again."""
        if self._ending:
            return
        if grant(self.parts, self.pod, lambda: self.agent.not_granted(self)) and self._sandbox != "none":
            self.agent.write_status(self)
        if is_deferred(self.parts) and not self._is_looking:
            self._is_looking = True
            self.agent.after(_RESIZE_LOOK_S, lambda: self.guarded(self._look_at_resize))

    def _look_at_resize(self) -> None:
        self._is_looking = False
        self.resize()

    @property
    def allocated(self) -> Object:
        """The pod with what its node has granted it."""
        main = [one.spec for one in self.parts.containers if not one.init]
        return {**self.pod, "spec": {**self.pod["spec"], "containers": main}}

    def gone(self) -> None:
        """The object was deleted before the processes ended."""
        self._object_gone = True
        if self.parts.ended:
            self.agent.forget(self)
        else:
            self.end("", "", 0)

    def end(self, reason: str, message: str, grace_s: float) -> None:
        """Stop all containers and start no more. A later call can only shorten the grace."""
        if self.parts.ended:
            return
        if not self._ending:
            self._ending = True
            self.parts.failed_because, self.parts.message = reason, message
            if not reason:
                for name in sorted(self._alive):
                    self.agent.event(self, "Killing", f"Stopping container {name}", container=name)
        at = time.monotonic() + grace_s
        if self._alive and (self._stop_at is None or at < self._stop_at - 0.5):
            self._stop_at = at
            self.agent.send({"op": "stop", "pod": self.uid, "container": "", "grace_s": grace_s})
        self._advance()

    def lost(self) -> None:
        """The pod host died, and with it every process of the pod."""
        self._alive.clear()
        if self._sandbox == "none" or self.parts.ended:
            return
        self._sandbox = "none"
        lose(self.parts, self.agent.now())
        self._ending = True
        self._write_end()

    def source_changed(self, plural: str, name: str) -> None:
        """A Secret or ConfigMap was made or changed, or this pod's labels or annotations."""
        if self._ending:
            return
        if self._sandbox == "none":
            self._retry_s = _FIRST_RETRY_S
            self._prepare()
            return
        if not any((plural, name) in volume.uses for volume in self._volumes.values()):
            self._advance()  # a container may wait for a variable
            return
        try:
            fresh = self._read_volumes()
        except NotReadyError as error:
            self.agent.event(self, "FailedMount", str(error), warning=True)
            return
        gid = fs_group(self.pod, self.agent.host)
        for volume in fresh.values():
            if (plural, name) in volume.uses and volume != self._volumes[volume.name]:
                self.agent.send({"op": "volume", "pod": self.uid, "volume": volume_message(volume, gid)})
        self._volumes = fresh

    def on_host_message(self, message: dict[str, Any]) -> None:
        """Handle an event of the pod host about this pod."""
        match message["event"]:
            case "sandbox" if "error" in message:
                self._sandbox, self.parts.sandbox = "none", False
                text = f"Failed to create pod sandbox: {message['error']}"
                self.agent.event(self, "FailedCreatePodSandBox", text, warning=True)
                self._set_waiting(self.parts.containers, NotReadyError("ContainerCreating", text))
                self._advance()
            case "sandbox":
                self._sandbox = "up"
                self.parts.ip = message["ip"] or self.agent.host.ip
                self._advance()
            case "started":
                self._started(self._container(message["container"]), message["at"])
            case "exited":
                self._exited(self._container(message["container"]), message)

    # --- steps ---

    def _prepare(self) -> None:
        """Read the volumes, write the status, request the sandbox; if something is missing, report it and try again."""
        if self._ending or self._sandbox != "none":
            return
        try:
            self._volumes = self._read_volumes()
            message = pod_message(self.pod, list(self._volumes.values()), self.agent.host)
            make_empty_dirs(self._volumes.values(), fs_group(self.pod, self.agent.host))
        except NotReadyError as error:
            self._set_waiting(self.parts.containers, error)
            return
        self._warn_about_unsupported()
        for one in self.parts.containers:
            if "waiting" in one.state:
                one.state = new_state(one, self.parts.containers)
        # From here on processes may run, so the status is written first: a new engine must not run the pod twice.
        self.parts.sandbox = True
        self.agent.write_status(self)
        self._sandbox = "requested"
        self.agent.send(message)

    def _advance(self) -> None:
        if self.parts.ended:
            return
        if self._ending:
            if not self._alive and self._sandbox != "requested":
                self._finish()
            return
        if self._sandbox != "up":
            return
        init = [one for one in self.parts.containers if one.init]
        main = [one for one in self.parts.containers if not one.init]
        for one in init:
            if one.succeeded:
                continue
            if one.terminated and self.pod["spec"].get("restartPolicy") == "Never":
                self._ending = True
                self._finish()
            else:
                self._run(one)
            return
        for one in main:
            self._run(one)
        if all(one.terminated and one.name not in self._due for one in main):
            self._ending = True
            self._finish()

    def _run(self, one: ContainerRun) -> None:
        """Start a container that has not run yet, or restart it if its policy says so and its back-off has ended."""
        if one.running or one.name in self._alive or self._ending:
            return
        end = one.terminated
        if end is not None:
            policy = self.pod["spec"].get("restartPolicy", "Always")
            if policy == "Never" or (policy == "OnFailure" and end["exitCode"] == 0) or (one.init and one.succeeded):
                return
            self._schedule_restart(one, end)
        due = self._due.get(one.name)
        if due is not None:
            if time.monotonic() < due:
                return
            del self._due[one.name]
        self._start(one)

    def _schedule_restart(self, one: ContainerRun, end: dict[str, Any]) -> None:
        """The first restart is immediate, the others follow after 10, 20, 40 … seconds."""
        one.last = {"terminated": end}
        one.restarts += 1
        if end.get("startedAt") and end.get("finishedAt"):
            ran = parse_rfc3339(end["finishedAt"]) - parse_rfc3339(end["startedAt"])
            if ran.total_seconds() >= _GOOD_RUN_S:
                one.backoff_s = 0
        delay = one.backoff_s
        one.backoff_s = min(max(_FIRST_BACKOFF_S, one.backoff_s * 2), _LONGEST_BACKOFF_S)
        self._due[one.name] = time.monotonic() + delay
        one.state = waiting("ContainerCreating")
        if delay:
            pod = f"{self.name}_{self.namespace}({self.uid})"
            text = f"back-off {_go_duration(delay)} restarting failed container={one.name} pod={pod}"
            one.state = waiting("CrashLoopBackOff", text)
            text = f"Back-off restarting failed container {one.name} in pod {pod}"
            self.agent.event(self, "BackOff", text, warning=True, container=one.name)
            self.agent.write_status(self)
            self.agent.after(delay, lambda: self.guarded(self._advance))

    def _start(self, one: ContainerRun) -> None:
        log = logs.path(self.agent.pod_directory(self.uid), one.name, one.restarts)
        try:
            message = start_message(
                self.pod,
                one.spec,
                self._volumes,
                self.agent.host,
                fetch=self.agent.fetch(self.namespace),
                facts=self._facts(),
                log=str(log),
            )
        except NotReadyError as error:
            self._set_waiting([one], error)
            return
        image = one.spec.get("image") or ""
        self.agent.event(self, "Pulled", f'Container image "{image}" already present on machine', container=one.name)
        self._alive.add(one.name)
        self.agent.send(message)

    def _started(self, one: ContainerRun, at: float) -> None:
        one.state = {"running": {"startedAt": _time(at)}}
        self.agent.event(self, "Created", f"Created container: {one.name}", container=one.name)
        self.agent.event(self, "Started", f"Started container {one.name}", container=one.name)
        self.agent.write_status(self)

    def _exited(self, one: ContainerRun, message: dict[str, Any]) -> None:
        self._alive.discard(one.name)
        started = (one.state.get("running") or {}).get("startedAt")
        end = {"exitCode": message["code"], "reason": message["reason"]}
        text = message["message"]
        if message["reason"] == "StartError":
            text = f"failed to start container {one.name!r}: {text}"
            started = "1970-01-01T00:00:00Z"
            self.agent.event(self, "Failed", f"Error: {text}", warning=True, container=one.name)
        elif not text and message["code"] and one.spec.get("terminationMessagePolicy") == "FallbackToLogsOnError":
            text = logs.tail(self.agent.log_path(self.pod, one.name))
        if text:
            end["message"] = text
        end.update(startedAt=started or _time(message["at"]), finishedAt=_time(message["at"]))
        one.state = {"terminated": {**end, "containerID": container_id(self.uid, one)}}
        _LOG.info(
            "pod %s/%s container %s: exit code %d, %.3f s of CPU, at most %d KiB",
            self.namespace,
            self.name,
            one.name,
            message["code"],
            message["cpu_s"],
            message["max_rss_kib"],
        )
        self._advance()
        if not self.parts.ended and one.terminated:
            self.agent.write_status(self)

    def _finish(self) -> None:
        """No process is left: remove the sandbox and write the last status."""
        if self._sandbox != "none":
            self.agent.send({"op": "remove", "pod": self.uid})
            self._sandbox = "none"
        for one in self.parts.containers:
            if "waiting" in one.state and one.last:
                one.state = one.last  # it waited for a restart that will not come
        self.parts.ended = True
        self._write_end()

    def _write_end(self) -> None:
        """Write the last status; delete the object if its deletion was requested."""
        if self._object_gone:
            self.agent.forget(self)
            return
        self.agent.write_status(self)
        if self.pod["metadata"].get("deletionTimestamp"):
            self.agent.delete_pod(self)  # its DELETED event makes the agent forget it

    def _deadline(self) -> None:
        if not self._ending:
            self.agent.event(self, "DeadlineExceeded", _DEADLINE)
            self.end("DeadlineExceeded", _DEADLINE, float(self.pod["spec"].get("terminationGracePeriodSeconds", 30)))

    # --- helpers ---

    def _write_again(self) -> None:
        if self.parts.ended:
            self._write_end()
        elif self._sandbox == "none" and not self._ending:
            self._prepare()
        else:
            self._advance()
            self.agent.write_status(self)

    def _set_waiting(self, containers: list[ContainerRun], error: NotReadyError) -> None:
        """Report what is missing, each message once, and check again later (sooner if the missing object changes)."""
        text = str(error)
        self._retry_count += 1
        if error.reason != "ContainerCreating" and text not in self._reported:
            if error.reason == "FailedMount":
                self.agent.event(self, "FailedMount", text, warning=True)
            else:
                named = containers[0].name if len(containers) == 1 else ""
                self.agent.event(self, "Failed", f"Error: {text}", warning=True, container=named)
        for one in containers:
            if "waiting" in one.state:
                # A kubelet leaves the message of a missing volume to the event; here it is in the status as well.
                plain = error.reason == "FailedMount"
                one.state = waiting("ContainerCreating" if plain else error.reason, text)
        if text not in self._reported:
            self._reported.add(text)
            self.agent.write_status(self)
        number = self._retry_count

        def again() -> None:
            if number == self._retry_count and not self._ending:
                self._prepare() if self._sandbox == "none" else self._advance()

        self.agent.after(self._next_retry(), lambda: self.guarded(again))

    def _next_retry(self) -> float:
        delay, self._retry_s = self._retry_s, min(self._retry_s * 2, _LONGEST_RETRY_S)
        return delay

    def _container(self, name: str) -> ContainerRun:
        return next(one for one in self.parts.containers if one.name == name)

    def _facts(self) -> dict[str, str]:
        ip, host_ip = self.parts.ip, self.agent.host.ip
        status = {"status.podIP": ip, "status.podIPs": ip, "status.hostIP": host_ip, "status.hostIPs": host_ip}
        return {**self.agent.node_facts(self.node), **status}

    def _read_volumes(self) -> dict[str, Volume]:
        volumes = pod_volumes(
            self.pod,
            self.agent.fetch(self.namespace),
            self._facts(),
            files_dir=self.agent.volumes_directory(self.uid),
            empty_dir=str(self.agent.pod_directory(self.uid) / "volumes"),
            share=partial(self.agent.shared.find, fs_group(self.pod, self.agent.host)),
        )
        return {volume.name: volume for volume in volumes}

    def _warn_about_unsupported(self) -> None:
        spec = self.pod["spec"]
        for one in self.parts.containers:
            unsupported = ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle")
            if probes := [word for word in unsupported if one.spec.get(word)]:
                text = f"the embedded engine does not do {', '.join(probes)}"
                self.agent.event(self, "NotSupported", text, warning=True, container=one.name)
        sysctls = [one["name"] for one in (spec.get("securityContext") or {}).get("sysctls") or ()]
        unset = [name for name in sysctls if not (name.startswith("net.") and own_network(spec))]
        if unset:
            text = f"sysctls {', '.join(unset)} are not set: the pod has no network of its own, or they are none of it"
            self.agent.event(self, "NotSupported", text, warning=True)


def _time(at: float) -> str:
    return rfc3339(datetime.fromtimestamp(at, UTC))


def _go_duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
