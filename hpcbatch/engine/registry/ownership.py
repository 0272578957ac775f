"""Who owns whom, and what is being deleted: indexes over all objects of the store, kept up to date with every write."""

from __future__ import annotations

from dataclasses import dataclass

from hpcbatch.api.port import Object
from hpcbatch.engine.registry.store import ResourceKey, Store, StoreEvent


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where an object is kept."""

    key: ResourceKey
    namespace: str
    name: str


class OwnerIndex:
    """Must be read under the store's lock."""

    def __init__(self, store: Store) -> None:
        self._places: dict[str, Place] = {}
        self._dependents: dict[str, str | dict[str, None]] = {}
        """The uids of those that name a uid as their owner: mostly one, which takes no dict."""
        self._deleting: dict[Place, None] = {}
        for key in store.keys():  # noqa: SIM118 - a method of the store, not of a dict
            for obj in store.items(key):
                self._add(key, obj)
        store.observe(self._follow)

    def place(self, uid: str) -> Place | None:
        """Where the object of that uid is, None if there is none."""
        return self._places.get(uid)

    def dependents(self, uid: str) -> list[Place]:
        """The objects that name `uid` in their ownerReferences, in order of kind and name."""
        found = self._dependents.get(uid, ())
        return sorted(self._places[each] for each in ([found] if isinstance(found, str) else found))

    def owners_without_object(self) -> list[str]:
        """Uids that are named as owner but belong to nothing."""
        return [uid for uid in self._dependents if uid not in self._places]

    def deleting(self) -> list[Place]:
        """The objects that have a deletionTimestamp."""
        return list(self._deleting)

    def _follow(self, event: StoreEvent) -> None:
        before, now = event.previous, event.object if event.type != "DELETED" else None
        if before is not None and now is not None:
            old, new = before["metadata"], now["metadata"]
            if all(old.get(word) == new.get(word) for word in ("uid", "ownerReferences", "deletionTimestamp")):
                return
        if before is not None:
            self._remove(event.key, before)
        if now is not None:
            self._add(event.key, now)

    def _add(self, key: ResourceKey, obj: Object) -> None:
        meta = obj["metadata"]
        place = Place(key, meta.get("namespace", ""), meta["name"])
        uid = meta.get("uid", "")
        self._places[uid] = place
        if meta.get("deletionTimestamp"):
            self._deleting[place] = None
        for reference in meta.get("ownerReferences") or ():
            named = self._dependents.setdefault(reference["uid"], uid)
            if named != uid:
                if isinstance(named, str):
                    named = self._dependents[reference["uid"]] = {named: None}
                named[uid] = None

    def _remove(self, key: ResourceKey, obj: Object) -> None:
        meta = obj["metadata"]
        self._deleting.pop(Place(key, meta.get("namespace", ""), meta["name"]), None)
        uid = meta.get("uid", "")
        self._places.pop(uid, None)
        for reference in meta.get("ownerReferences") or ():
            named = self._dependents.get(reference["uid"])
            if isinstance(named, dict):
                named.pop(uid, None)
            if not named or named == uid:
                self._dependents.pop(reference["uid"], None)
