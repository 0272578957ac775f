"""Objects made to try something: labelled, bounded in time, taken away whatever happens.

Each carries the label MANAGED_BY and says by annotation which process made it, so that a later check takes away what
a killed one left. Pods pass Pod Security "restricted", if the volumes do.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

from hpcbatch.admin.check.cluster import Cluster
from hpcbatch.api.port import Object
from hpcbatch.api.resources import NAMESPACES, NETWORK_POLICIES, PODS, SERVICE_ACCOUNTS, Resource
from hpcbatch.errors import ApiError, HpcBatchError, NotFoundError
from hpcbatch.units import parse_rfc3339

MANAGED_BY = {"app.kubernetes.io/managed-by": "hpcbatch-check"}
_SELECTOR = "app.kubernetes.io/managed-by=hpcbatch-check"
MADE_BY = "hpcbatch.io/check-process"
"""`host/pid/start`: the process that cleans up, as long as it lives."""
_LONGEST = timedelta(minutes=10)
"""Longer than any run of the checks: what is older belongs to none that lives."""
LIFETIME_S = 180
"""After this the kubelet ends a probe's pod, whatever became of the check."""
_POLL_S = 0.25
_ACCOUNT_S = 15.0
_NOBODY = 65532
_HOPELESS = {
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ImagePullBackOff",
    "InvalidImageName",
    "RunContainerError",
}
_T = TypeVar("_T")


@dataclass
class Probe:
    """Makes objects in one namespace and remembers them."""

    cluster: Cluster
    namespace: str
    name: str
    """Unlike any other; objects may be called so."""
    made: list[tuple[Resource, str]] = field(default_factory=list)

    def create(self, resource: Resource, obj: Object) -> Object:
        """Create `obj`, to be deleted at the probe's end. Its kind and labels are filled in."""
        meta = obj["metadata"]
        meta["labels"] = {**(meta.get("labels") or {}), **MANAGED_BY}
        meta["annotations"] = {MADE_BY: _this_process()}
        self.made.append((resource, meta["name"]))  # first: killed in between, it is looked for all the same
        whole = {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
        return self.cluster.api.create(resource, whole, self.namespace if resource.namespaced else None)

    def wait(self, answer: Callable[[], _T], limit_s: float) -> _T | None:
        """Ask until the answer is true; None when it is not within `limit_s`."""
        end = time.monotonic() + limit_s
        while not (found := answer()):
            if time.monotonic() >= end:
                return None
            time.sleep(_POLL_S)
        return found

    def pod(self, name: str) -> Object:
        return self.cluster.api.get(PODS, name, self.namespace)

    def wait_for_phase(self, name: str, phases: Sequence[str], limit_s: float) -> Object | None:
        """The pod as soon as it is in one of `phases`, at an end, or stuck; None if not within `limit_s`."""

        def reached() -> Object | None:
            pod = self.pod(name)
            is_there = pod.get("status", {}).get("phase") in {*phases, "Succeeded", "Failed"}
            return pod if is_there or _stuck(pod) else None

        return self.wait(reached, limit_s)

    def clean(self) -> None:
        """Delete all that was made, the last first. What cannot be deleted now goes by the next check."""
        for resource, name in reversed(self.made):
            with suppress(HpcBatchError):
                grace_s = 5 if resource is PODS else None
                namespace = self.namespace if resource.namespaced else None
                self.cluster.api.delete(resource, name, namespace, grace_period_s=grace_s)


@contextmanager
def probe_in(cluster: Cluster, namespace: str) -> Iterator[Probe]:
    """A probe in a namespace that is there already."""
    probe = Probe(cluster, namespace, _new_name())
    try:
        yield probe
    finally:
        probe.clean()


@contextmanager
def temporary_namespace(cluster: Cluster) -> Iterator[Probe]:
    """A probe in a namespace of its own, which goes with all that is in it."""
    name = _new_name()
    with ExitStack() as stack:
        probe = stack.enter_context(probe_in(cluster, name))
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        probe.create(NAMESPACES, {"metadata": {"name": name, "labels": labels}})
        if not cluster.is_embedded:  # pods are refused until the namespace has its ServiceAccount
            probe.wait(lambda: _has_account(cluster, name), _ACCOUNT_S)
        yield probe


def probe_security(uid: int = _NOBODY, gid: int = _NOBODY) -> tuple[Object, Object]:
    """Security contexts of pod and container that Pod Security "restricted" accepts."""
    pod = {
        "runAsUser": uid,
        "runAsGroup": gid,
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    return pod, {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def remove_left_overs(cluster: Cluster, now: datetime) -> int:
    """Delete what checks that live no more have left behind; how many objects that was."""
    count = 0
    for resource in (NAMESPACES, PODS, NETWORK_POLICIES):
        for obj in cluster.api.list(resource, labels=_SELECTOR).items:
            meta = obj["metadata"]
            if "deletionTimestamp" in meta or not is_left_over(obj, now, _lives):
                continue
            with suppress(NotFoundError):
                cluster.api.delete(resource, meta["name"], meta.get("namespace"), uid=meta["uid"])
                count += 1
    return count


def is_left_over(obj: Object, now: datetime, lives: Callable[[str], bool | None]) -> bool:
    """Whether nobody will clean it up. `lives` tells of a MADE_BY; None: not known, so its age decides."""
    meta = obj["metadata"]
    alive = lives((meta.get("annotations") or {}).get(MADE_BY, ""))
    if alive is not None:
        return not alive
    return now - parse_rfc3339(meta["creationTimestamp"]) > _LONGEST


def how_it_ended(pod: Object | None) -> str:
    """Why a pod did not do what it should, in the words of whoever knows best."""
    if pod is None:
        return "it did not start in time"
    status = pod.get("status") or {}
    every = [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
    for container in every:
        state = container.get("state") or {}
        ended = state.get("terminated")
        if ended and ended.get("exitCode"):
            return str(ended.get("message") or f"exit code {ended['exitCode']}").strip()
    for container in every:
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") not in {None, "PodInitializing", "ContainerCreating"}:
            return f"{waiting['reason']}: {waiting.get('message', '')}".strip(": ")
    conditions = status.get("conditions") or []
    refused = [c for c in conditions if c.get("status") == "False" and c.get("type") == "PodScheduled"]
    words = [status.get("message") or status.get("reason"), *(c.get("message") for c in refused)]
    return str(next(filter(None, words), f"it is {status.get('phase', 'Pending')}"))


def _stuck(pod: Object) -> bool:
    """Whether one of its containers waits for what will not come by itself."""
    status = pod.get("status") or {}
    every = [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
    return any(((one.get("state") or {}).get("waiting") or {}).get("reason") in _HOPELESS for one in every)


def exit_codes(pod: Object) -> list[int]:
    """Of the containers that have ended."""
    states = [container.get("state") or {} for container in pod["status"].get("containerStatuses") or []]
    return [state["terminated"]["exitCode"] for state in states if "terminated" in state]


def _has_account(cluster: Cluster, namespace: str) -> bool:
    try:
        cluster.api.get(SERVICE_ACCOUNTS, "default", namespace)
    except NotFoundError:
        return False
    except ApiError:
        pass  # not to be seen: the pod will tell
    return True


def _new_name() -> str:
    return f"hpcbatch-check-{secrets.token_hex(4)}"


def _this_process() -> str:
    return f"{socket.gethostname()}/{os.getpid()}/{_started(os.getpid())}"


def _lives(made_by: str) -> bool | None:
    host, _, process = made_by.partition("/")
    if host != socket.gethostname():
        return None
    pid, _, started = process.partition("/")
    return pid.isdigit() and _started(int(pid)) == started


def _started(pid: int) -> str:
    """When a process of this machine began, in clock ticks since boot; "" if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
