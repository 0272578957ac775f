"""The embedded API server's heart: objects with Kubernetes' rules, over the store.

Implements hpcbatch.api.port.Api, so controllers in this process use it as they would a cluster; the HTTP server puts
its requests through the same methods. Everything that reads and then writes does so under the store's lock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from hpcbatch.api import resources
from hpcbatch.api.port import Object, ObjectList, Propagation, Watch, WatchEvent
from hpcbatch.api.resources import Resource
from hpcbatch.clone import clone
from hpcbatch.engine.registry import patches, statuses
from hpcbatch.engine.registry.collector import utc_now
from hpcbatch.engine.registry.events import EventRecorder
from hpcbatch.engine.registry.feed import Feed
from hpcbatch.engine.registry.kinds import Kind
from hpcbatch.engine.registry.objects import Objects
from hpcbatch.engine.registry.ownership import Place
from hpcbatch.engine.registry.selectors import selector
from hpcbatch.engine.registry.store import Store
from hpcbatch.engine.registry.watches import QueueWatch
from hpcbatch.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from hpcbatch.record import crd, reservation
from hpcbatch.units import rfc3339

_UPDATE_TRIES = 50
_FIRST_NAMESPACES = ("default", "kube-system", "kube-public", "hpcbatch-system")
_VOLCANO_CRDS = Path(__file__).parent / "crd"


class Registry(Objects):
    """See the module. `now` is the clock that timestamps come from."""

    def __init__(self, store: Store, *, now: Callable[[], datetime] = utc_now) -> None:
        super().__init__(store, now=now)
        self._recorder = EventRecorder(self, now)
        for name in _FIRST_NAMESPACES:
            self._ensure_namespace(name)
        self._collector.sweep()
        self._recorder.expire()

    # --- the port ---

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> Object:
        kind = self.kind(resource)
        return self.present(self.read(kind, name, namespace or ""), resource)

    def list(
        self, resource: Resource, namespace: str | None = None, *, labels: str = "", fields: str = ""
    ) -> ObjectList:
        kind = self.kind(resource)
        found = self.select(kind, namespace, labels=labels, fields=fields)
        return ObjectList(tuple(self.present(item, resource) for item in found.items), str(found.revision))

    def create(self, resource: Resource, obj: Mapping[str, Any], namespace: str | None = None) -> Object:
        return self.present(self.create_object(self.kind(resource), obj, namespace or ""), resource)

    def replace(
        self, resource: Resource, obj: Mapping[str, Any], namespace: str | None = None, *, subresource: str = ""
    ) -> Object:
        name = (obj.get("metadata") or {}).get("name", "")
        done = self.replace_object(self.kind(resource), name, namespace or "", obj, subresource=subresource)
        return self.present(done, resource)

    def patch(
        self,
        resource: Resource,
        name: str,
        patch: Mapping[str, Any],
        namespace: str | None = None,
        *,
        subresource: str = "",
    ) -> Object:
        done = self.modify(
            self.kind(resource),
            name,
            namespace or "",
            lambda old: patches.merge_patch(old, patch),
            subresource=subresource,
        )
        return self.present(done, resource)

    def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        grace_period_s: int | None = None,
        propagation: Propagation = "Background",
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> None:
        self.delete_object(
            self.kind(resource),
            name,
            namespace or "",
            grace_s=grace_period_s,
            propagation=propagation,
            uid=uid,
            resource_version=resource_version,
        )

    def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        resource_version: str = "",
        labels: str = "",
        fields: str = "",
        timeout_s: float | None = None,
    ) -> Watch:
        kind = self.kind(resource)
        since = int(resource_version) if resource_version not in {"", "0"} else None
        return QueueWatch(
            self.store,
            kind.key,
            namespace if kind.resource.namespaced else None,
            since=since,
            matches=selector(kind, labels, fields),
            timeout_s=timeout_s,
            present=lambda obj: self.present(obj, resource),
        )

    def feed(self, resource: Resource, on_event: Callable[[WatchEvent], None]) -> Feed:
        """A quicker way than a watch, for those in this process; it has yet to be started."""
        return Feed(self, resource, on_event)

    def update(
        self,
        resource: Resource,
        name: str,
        namespace: str | None,
        change: Callable[[Object], Object | None],
        subresource: str = "",
    ) -> Object:
        """Read, let `change` make the new object of a copy that it may alter, write; again if somebody came between.
        None from `change` leaves the object as it is.
        """
        kind = self.kind(resource)
        for _ in range(_UPDATE_TRIES):
            old = self.read(kind, name, namespace or "")
            new = change(clone(old))
            if new is None:
                return self.present(old, resource)
            new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
            try:
                done = self.replace_object(kind, name, namespace or "", new, subresource=subresource)
            except ConflictError:
                continue
            return self.present(done, resource)
        raise statuses.modified(kind, name)

    def record_event(
        self,
        involved: Object,
        *,
        type: str,
        reason: str,
        message: str,
        component: str,
        host: str = "",
        field_path: str = "",
    ) -> None:
        """Write an Event about an object, or count up the one that says the same. Never raises: events are extra."""
        self._recorder.record(
            involved, type=type, reason=reason, message=message, component=component, host=host, field_path=field_path
        )

    def bind(self, namespace: str, pod: str, node: str) -> None:
        """Give a pod its node. ConflictError if it has one."""
        kind = self.kind(resources.PODS)
        with self.lock:
            old = self.read(kind, pod, namespace)
            if old["spec"].get("nodeName"):
                message = (
                    f'Operation cannot be fulfilled on pods/binding "{pod}": pod {pod} is already assigned to node '
                    f'"{old["spec"]["nodeName"]}"'
                )
                raise ConflictError(409, "Conflict", message, {"name": pod, "kind": "pods/binding"})
            if old["metadata"].get("deletionTimestamp"):
                message = (
                    f'Operation cannot be fulfilled on pods/binding "{pod}": pod {pod} is being deleted, '
                    "cannot be assigned to a host"
                )
                raise ConflictError(409, "Conflict", message, {"name": pod, "kind": "pods/binding"})
            status = old.get("status") or {}
            scheduled = {
                "type": "PodScheduled",
                "status": "True",
                "lastProbeTime": None,
                "lastTransitionTime": rfc3339(self.now()),
            }
            rest = [item for item in status.get("conditions") or () if item.get("type") != "PodScheduled"]
            new = {
                **old,
                "spec": {**old["spec"], "nodeName": node},
                "status": {**status, "conditions": [*rest, scheduled]},
            }
            self._put(kind, namespace, pod, new)

    def evict(self, namespace: str, pod: str, *, grace_s: int | None = None, uid: str | None = None) -> None:
        """Delete a pod gracefully, and say in its status that it was evicted."""
        kind = self.kind(resources.PODS)
        with self.lock:
            old = self.read(kind, pod, namespace)
            status = old.get("status") or {}
            evicted = {
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "EvictionByEvictionAPI",
                "message": "Eviction API: evicting",
                "lastTransitionTime": rfc3339(self.now()),
            }
            if uid and uid != old["metadata"]["uid"]:
                raise statuses.precondition(kind, pod, "UID", uid, old["metadata"]["uid"])
            if not old["metadata"].get("deletionTimestamp"):
                rest = [item for item in status.get("conditions") or () if item.get("type") != "DisruptionTarget"]
                new = {**old, "status": {**status, "conditions": [*rest, evicted]}}
                self._put(kind, namespace, pod, new)
            self._collector.delete(Place(kind.key, namespace, pod), grace_s=grace_s, propagation=None)

    # --- namespaces ---

    def _ensure_namespace(self, name: str) -> None:
        try:
            self.create(resources.NAMESPACES, {"metadata": {"name": name}})
        except AlreadyExistsError:
            self._ensure_account(name)

    def _created(self, kind: Kind, name: str) -> None:
        if kind.key == ("", "namespaces"):
            self._ensure_account(name)

    def _ensure_account(self, namespace: str) -> None:
        """Each namespace has a service account `default`, also if a kill came before it was made."""
        if self.store.get(("", "serviceaccounts"), namespace, "default") is None:
            try:
                self.create(resources.SERVICE_ACCOUNTS, {"metadata": {"name": "default"}}, namespace)
            except ApiError as error:
                if error.code not in {403, 409}:  # the namespace is going, or somebody was quicker
                    raise

    # --- what is there from the start ---

    def install_builtin(self) -> None:
        """Install our own and Volcano's definitions, and the queues `root` and `default`; safe more than once."""
        for path in sorted(_VOLCANO_CRDS.glob("*.yaml")):
            self.install(yaml.load(path.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader)))  # noqa: S506
        self.install(crd.definition())
        self.install(reservation.definition())
        for name in _QUEUES:
            self.ensure_queue(name)

    def ensure_queue(self, name: str) -> None:
        """Make the Volcano Queue where there is none of that name: as `default`, unless it is the root of all."""
        try:
            self.get(resources.QUEUES, name)
        except NotFoundError:
            body = {
                "apiVersion": resources.QUEUES.api_version,
                "kind": "Queue",
                "metadata": {"name": name},
                "spec": _QUEUES.get(name, _QUEUES["default"]),
            }
            self.create(resources.QUEUES, body)

    def install(self, crd: Object) -> None:
        """Create a definition, or bring the one of that name to this state."""
        try:
            self.create(resources.CRDS, crd)
        except AlreadyExistsError:
            self.update(resources.CRDS, crd["metadata"]["name"], None, lambda old: {**old, "spec": crd["spec"]})


# Source: what Volcano's controller makes at its start
_QUEUES: dict[str, Object] = {
    "root": {
        "dequeueStrategy": "traverse",
        "deserved": {"cpu": "0", "memory": "0"},
        "guarantee": {"resource": {"cpu": "0", "memory": "0"}},
        "reclaimable": False,
        "weight": 1,
    },
    "default": {
        "dequeueStrategy": "traverse",
        "guarantee": {},
        "parent": "root",
        "reclaimable": True,
        "weight": 1,
    },
}
