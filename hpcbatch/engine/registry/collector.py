"""Deletion and what follows from it: grace, finalizers, propagation to dependents, emptying namespaces and kinds.

A deletion is planned as a list of changes that the store carries out together, so a kill leaves none of it or all.
What must wait for it (the last dependent of a foreground deletion, the last object of a namespace) is looked at after
each removal; `sweep` at the start finds what a kill came in between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from hpcbatch.api.port import Object, Propagation
from hpcbatch.engine.registry import crds
from hpcbatch.engine.registry.kinds import Kind
from hpcbatch.engine.registry.ownership import OwnerIndex, Place
from hpcbatch.engine.registry.store import Change, ResourceKey, Store
from hpcbatch.units import parse_rfc3339, rfc3339

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
_CRD_KEY = ("apiextensions.k8s.io", "customresourcedefinitions")
_NAMESPACE_KEY = ("", "namespaces")
_POD_KEY = ("", "pods")
_FINAL_PHASES = frozenset({"Succeeded", "Failed"})


@dataclass(slots=True)
class _Plan:
    """Changes so far, and the state of each object after them."""

    changes: list[Change] = field(default_factory=list)
    states: dict[Place, Object | None] = field(default_factory=dict)

    def set(self, place: Place, obj: Object) -> None:
        self.changes.append(Change(place.key, place.namespace, place.name, obj))
        self.states[place] = obj

    def remove(self, place: Place, last: Object) -> None:
        self.changes.append(Change(place.key, place.namespace, place.name, None, last))
        self.states[place] = None


class Collector:
    """Used by the Registry under the store's lock."""

    def __init__(
        self,
        store: Store,
        kind_of: Callable[[ResourceKey], Kind | None],
        knows: Callable[[str, str], bool],
        now: Callable[[], datetime],
    ) -> None:
        """`knows` tells whether an apiVersion and kind are served: owners of other kinds are taken to exist."""
        self._store, self._kind_of, self._knows, self._now = store, kind_of, knows, now
        self.index = OwnerIndex(store)

    # --- deleting ---

    def delete(self, place: Place, *, grace_s: int | None, propagation: Propagation | None) -> tuple[Object, bool]:
        """Delete an object that is there: (its last or present state, whether it is gone)."""
        plan = _Plan()
        self._plan(plan, place, grace_s, propagation)
        written = self._store.write(plan.changes)
        last = next(
            (obj for change, obj in reversed(list(zip(plan.changes, written, strict=True))) if _at(change) == place),
            None,
        )
        self._follow_up(plan.changes)
        current = self._store.get(place.key, place.namespace, place.name)
        if current is not None:
            return current, False
        assert last is not None  # noqa: S101 - what is gone now was changed
        return last, True

    def removed(self, place: Place, obj: Object) -> Object:
        """Take away an object whose last finalizer has gone, and what depends on it."""
        plan = _Plan()
        self._take_away(plan, place, obj)
        written = self._store.write(plan.changes)
        self._follow_up(plan.changes)
        return written[0]

    def _current(self, plan: _Plan, place: Place) -> Object | None:
        if place in plan.states:
            return plan.states[place]
        return self._store.get(place.key, place.namespace, place.name)

    def _plan(self, plan: _Plan, place: Place, grace_s: int | None, propagation: Propagation | None) -> None:
        obj = self._current(plan, place)
        if obj is None:
            return
        meta = obj["metadata"]
        finalizers = [name for name in meta.get("finalizers") or () if name not in {FOREGROUND, ORPHAN}]
        policy = propagation or _policy(meta)
        dependents = self.index.dependents(meta["uid"]) if policy != "Background" else []
        if policy == "Foreground" and dependents:
            finalizers.append(FOREGROUND)
        elif policy == "Orphan":
            finalizers.append(ORPHAN)
        grace = _grace(place.key, obj, grace_s)
        stays = bool(finalizers) or grace > 0 or place.key == _NAMESPACE_KEY
        if place.key == _CRD_KEY:
            stays = self._delete_instances(plan, obj) or stays
            if stays and crds.CLEANUP not in finalizers:
                finalizers.append(crds.CLEANUP)
        if not stays:
            self._take_away(plan, place, _deleted(obj, grace, self._now()))
            return
        marked = self._marked(place, obj, grace, finalizers)
        if marked is not None:
            plan.set(place, marked)
        if policy == "Orphan":
            self._orphan(plan, place)
        elif FOREGROUND in finalizers:
            for dependent in dependents:
                self._release(plan, dependent, leaving=meta["uid"])
        if place.key == _NAMESPACE_KEY:
            self._empty(plan, place.name)
        self._complete(plan, place)

    def _marked(self, place: Place, obj: Object, grace: int, finalizers: list[str]) -> Object | None:
        """The object as being deleted; None if it is so already."""
        meta = obj["metadata"]
        if meta.get("deletionTimestamp"):
            shorter = grace < (meta.get("deletionGracePeriodSeconds") or 0)
            if not shorter and set(finalizers) <= set(meta.get("finalizers") or ()):
                return None
            fresh = {**meta, "finalizers": sorted({*finalizers, *(meta.get("finalizers") or ())})}
            if shorter:
                fresh["deletionGracePeriodSeconds"] = grace
                saved = timedelta(seconds=meta["deletionGracePeriodSeconds"] - grace)
                fresh["deletionTimestamp"] = rfc3339(parse_rfc3339(meta["deletionTimestamp"]) - saved)
        else:
            fresh = {**meta, "finalizers": finalizers}
            fresh["deletionTimestamp"] = rfc3339(self._now() + timedelta(seconds=grace))
            fresh["deletionGracePeriodSeconds"] = grace
            if "generation" in meta:
                fresh["generation"] = meta["generation"] + 1
        if not fresh["finalizers"]:
            del fresh["finalizers"]
        marked = {**obj, "metadata": fresh}
        if place.key == _NAMESPACE_KEY:
            del fresh["deletionGracePeriodSeconds"]
            marked["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
        return marked

    def _take_away(self, plan: _Plan, place: Place, obj: Object) -> None:
        """Remove the object, and in the background policy's way those that it alone owned."""
        plan.remove(place, obj)
        uid = obj["metadata"]["uid"]
        for dependent in self.index.dependents(uid):
            self._release(plan, dependent)

    def _release(self, plan: _Plan, place: Place, leaving: str = "") -> None:
        """An owner of this object is gone, or `leaving` in the foreground: drop the references to it, or with the last
        owner delete the object.
        """
        obj = self._current(plan, place)
        if obj is None or not obj["metadata"].get("ownerReferences"):  # orphaned a moment ago
            return
        references = obj["metadata"]["ownerReferences"]
        kept = [ref for ref in references if ref["uid"] != leaving and self._owner_stays(plan, obj, ref)]
        if kept:
            if len(kept) != len(references):
                plan.set(place, {**obj, "metadata": {**obj["metadata"], "ownerReferences": kept}})
        elif not obj["metadata"].get("deletionTimestamp"):
            nested = leaving and self.index.dependents(obj["metadata"]["uid"])
            self._plan(plan, place, None, "Foreground" if nested else None)

    def _owner_stays(self, plan: _Plan, obj: Object, reference: dict[str, Any]) -> bool:
        place = self.index.place(reference["uid"])
        if place is None:
            return not self._knows(reference["apiVersion"], reference["kind"])
        if place.namespace and place.namespace != obj["metadata"].get("namespace", ""):
            return False
        owner = self._current(plan, place)
        return owner is not None and FOREGROUND not in (owner["metadata"].get("finalizers") or ())

    def _orphan(self, plan: _Plan, place: Place) -> None:
        obj = self._current(plan, place)
        if obj is None:
            return
        uid = obj["metadata"]["uid"]
        for dependent in self.index.dependents(uid):
            other = self._current(plan, dependent)
            if other is None:
                continue
            meta = {**other["metadata"]}
            kept = [ref for ref in meta["ownerReferences"] if ref["uid"] != uid]
            if kept:
                meta["ownerReferences"] = kept
            else:
                del meta["ownerReferences"]
            plan.set(dependent, {**other, "metadata": meta})

    def _empty(self, plan: _Plan, namespace: str) -> None:
        """Delete everything in a namespace."""
        for key in sorted(self._store.keys()):
            for obj in self._store.items(key, namespace):
                if not obj["metadata"].get("deletionTimestamp"):
                    self._plan(plan, Place(key, namespace, obj["metadata"]["name"]), None, None)

    def _delete_instances(self, plan: _Plan, crd: Object) -> bool:
        """Delete all objects of a custom kind; whether any of them stays for now."""
        key = (crd["spec"]["group"], crd["spec"]["names"]["plural"])
        stays = False
        for obj in self._store.items(key):
            place = Place(key, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
            self._plan(plan, place, None, None)
            stays = stays or self._current(plan, place) is not None
        return stays

    # --- what had to wait ---

    def _complete(self, plan: _Plan, place: Place) -> bool:
        """Take off the server's own finalizers that are fulfilled, and the object with the last one."""
        obj = self._current(plan, place)
        if obj is None or not obj["metadata"].get("deletionTimestamp"):
            return False
        finalizers = list(obj["metadata"].get("finalizers") or ())
        left = [name for name in finalizers if not self._fulfilled(plan, name, obj)]
        if place.key == _NAMESPACE_KEY:
            if left or self._has_content(plan, place.name):
                return False
        elif left or obj["metadata"].get("deletionGracePeriodSeconds"):
            if left != finalizers:
                meta = {**obj["metadata"], "finalizers": left}
                if not left:
                    del meta["finalizers"]
                plan.set(place, {**obj, "metadata": meta})
            return False
        self._take_away(plan, place, obj)
        return True

    def _fulfilled(self, plan: _Plan, finalizer: str, obj: Object) -> bool:
        uid = obj["metadata"]["uid"]
        if finalizer == ORPHAN:
            return True
        if finalizer == crds.CLEANUP:
            key = (obj["spec"]["group"], obj["spec"]["names"]["plural"])
            return all(
                plan.states.get(Place(key, item["metadata"].get("namespace", ""), item["metadata"]["name"]), item)
                is None
                for item in self._store.items(key)
            )
        if finalizer == FOREGROUND:
            return not any(
                ref["uid"] == uid and ref.get("blockOwnerDeletion")
                for place in self.index.dependents(uid)
                if (other := self._current(plan, place)) is not None
                for ref in other["metadata"].get("ownerReferences") or ()
            )
        return False

    def _has_content(self, plan: _Plan, namespace: str) -> bool:
        for key in self._store.keys():  # noqa: SIM118 - a method of the store, not of a dict
            for obj in self._store.items(key, namespace):
                if plan.states.get(Place(key, namespace, obj["metadata"]["name"]), obj) is not None:
                    return True
        return False

    def _follow_up(self, changes: list[Change]) -> None:
        """Finish the deletions that waited for the removal of these objects."""
        waiting: dict[Place, None] = {}
        for change in changes:
            if change.obj is not None:
                continue
            if change.namespace:
                waiting[Place(_NAMESPACE_KEY, "", change.namespace)] = None
            for place in self._owners_in_foreground(change):
                waiting[place] = None
            kind = self._kind_of(change.key)
            if kind is not None and kind.custom:
                waiting[Place(_CRD_KEY, "", kind.qualified)] = None
        plan = _Plan()
        for place in waiting:
            if place not in plan.states:
                self._complete(plan, place)
        if plan.changes:
            self._store.write(plan.changes)
            self._follow_up(plan.changes)

    def _owners_in_foreground(self, change: Change) -> list[Place]:
        """The objects whose foreground deletion may have waited for the removed one."""
        return [
            place
            for place in self.index.deleting()
            if place.namespace in {"", change.namespace}
            and (obj := self._store.get(place.key, place.namespace, place.name)) is not None
            and FOREGROUND in (obj["metadata"].get("finalizers") or ())
        ]

    # --- after a write, and at the start ---

    def check_owners(self, place: Place) -> None:
        """Delete a new object whose owners are all gone: it was made while its owner was being deleted."""
        obj = self._store.get(place.key, place.namespace, place.name)
        if obj is None or not obj["metadata"].get("ownerReferences"):
            return
        plan = _Plan()
        self._release(plan, place)
        if plan.changes:
            self._store.write(plan.changes)
            self._follow_up(plan.changes)

    def settle(self, place: Place) -> None:
        """Look whether the deletion of this object can be finished."""
        plan = _Plan()
        self._complete(plan, place)
        if plan.changes:
            self._store.write(plan.changes)
            self._follow_up(plan.changes)

    def sweep(self) -> None:
        """Finish what a kill interrupted."""
        for uid in self.index.owners_without_object():
            for place in self.index.dependents(uid):
                self.check_owners(place)
        for place in self.index.deleting():
            if place.key == _NAMESPACE_KEY:
                plan = _Plan()
                self._empty(plan, place.name)
                if plan.changes:
                    self._store.write(plan.changes)
                    self._follow_up(plan.changes)
            self.settle(place)


def _at(change: Change) -> Place:
    return Place(change.key, change.namespace, change.name)


def _policy(meta: Object) -> Propagation:
    finalizers = meta.get("finalizers") or ()
    return "Foreground" if FOREGROUND in finalizers else "Orphan" if ORPHAN in finalizers else "Background"


def _grace(key: ResourceKey, obj: Object, asked_s: int | None) -> int:
    """Seconds until the object goes; only pods that a node may be running get any."""
    if key != _POD_KEY:
        return 0
    spec = obj["spec"]
    if not spec.get("nodeName") or (obj.get("status") or {}).get("phase") in _FINAL_PHASES:
        return 0
    grace = spec.get("terminationGracePeriodSeconds", 30) if asked_s is None else asked_s
    return 1 if grace < 0 else int(grace)


def _deleted(obj: Object, grace: int, now: datetime) -> Object:
    """The last state of a removed object. Pods say that no time was left to them."""
    meta = {**obj["metadata"]}
    if obj.get("kind") == "Pod":
        meta.setdefault("deletionTimestamp", rfc3339(now + timedelta(seconds=grace)))
        meta["deletionGracePeriodSeconds"] = 0
    return {**obj, "metadata": meta}


def utc_now() -> datetime:
    return datetime.now(UTC)
