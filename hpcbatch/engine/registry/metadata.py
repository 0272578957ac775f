"""`metadata`: what a client may say in it, what the server keeps, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hpcbatch.clone import clone
from hpcbatch.engine.registry.kinds import Kind
from hpcbatch.engine.registry.names import check_annotations, check_labels, check_qualified
from hpcbatch.engine.registry.statuses import FORBIDDEN, INVALID, REQUIRED, Cause, bad_request
from hpcbatch.engine.registry.values import same

Object = dict[str, Any]
_CLIENT_FIELDS = ("name", "generateName", "namespace", "labels", "annotations", "ownerReferences", "finalizers")
_SERVER_FIELDS = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
)
_CHANGEABLE = ("labels", "annotations", "ownerReferences", "finalizers", "managedFields")
_KNOWN = {*_CLIENT_FIELDS, *_SERVER_FIELDS, *_CHANGEABLE, "resourceVersion", "selfLink"}
_STRINGS = frozenset(
    {"name", "generateName", "namespace", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"}
)
_GO_KIND = {dict: "object", list: "array", str: "string", int: "number", float: "number", bool: "bool"}


def _wrong_type(kind: Kind, value: Any, field: str, wanted: str) -> None:
    found = _GO_KIND.get(type(value), "null")
    text = f"json: cannot unmarshal {found} into Go struct field ObjectMeta.metadata.{field} of type {wanted}"
    raise bad_request(
        f'{kind.resource.kind} in version "{kind.resource.version}" cannot be handled as a {kind.resource.kind}: {text}'
    )


def read(kind: Kind, obj: Mapping[str, Any], unknown: list[str]) -> Object:
    """The object's metadata with the right types and only known fields; nulls count as absent. Raises ApiError 400.
    Adds the paths of unknown fields to `unknown`.
    """
    given = obj.get("metadata")
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        _wrong_type(kind, given, "", "v1.ObjectMeta")
    meta: Object = {}
    for field, value in given.items():
        if field not in _KNOWN:
            unknown.append(f"metadata.{field}")
            continue
        if value is None:
            continue
        if field in _STRINGS:
            if not isinstance(value, str):
                _wrong_type(kind, value, field, "string")
        elif field in {"labels", "annotations"}:
            if type(value) is not dict and not isinstance(value, Mapping):
                _wrong_type(kind, value, field, "map[string]string")
            for item in value.values():
                if not isinstance(item, str):
                    _wrong_type(kind, item, field, "string")
        elif field in {"ownerReferences", "finalizers"}:
            if not isinstance(value, list):
                _wrong_type(kind, value, field, "[]v1.OwnerReference" if field == "ownerReferences" else "[]string")
            for item in value:
                if field == "finalizers" and not isinstance(item, str):
                    _wrong_type(kind, item, field, "string")
                if field == "ownerReferences" and not isinstance(item, Mapping):
                    _wrong_type(kind, item, field, "v1.OwnerReference")
        meta[field] = value
    return meta


def for_create(meta: Object, *, namespace: str, uid: str, now: str, generation: bool) -> Object:
    """Metadata of a new object: what only the server may say is dropped or overwritten."""
    fresh: Object = {field: clone(meta[field]) for field in _CLIENT_FIELDS if meta.get(field)}
    fresh["namespace"] = namespace
    if not namespace:
        del fresh["namespace"]
    fresh["uid"] = uid
    fresh["creationTimestamp"] = now
    if generation:
        fresh["generation"] = 1
    return fresh


def for_update(meta: Object, old: Object) -> Object:
    """Metadata of a changed object: labels and the like from `meta`, the rest as it was."""
    fresh: Object = {field: old[field] for field in (*_SERVER_FIELDS, "resourceVersion") if field in old}
    for field in _CHANGEABLE:
        value = meta.get(field)
        if value and not (field == "managedFields" and value == [{}]):
            fresh[field] = old[field] if same(old.get(field), value) else clone(value)
    return fresh


def check(meta: Object, old: Object | None) -> list[Cause]:
    """Faults of labels, annotations, finalizers and owner references. What `old` has alike is not looked at again."""
    causes: list[Cause] = []

    def changed(field: str) -> bool:
        return field in meta and (old is None or old.get(field) is not meta[field])

    if changed("labels"):
        causes.extend(check_labels(meta["labels"], "metadata.labels"))
    if changed("annotations"):
        causes.extend(check_annotations(meta["annotations"], "metadata.annotations"))
    if changed("finalizers"):
        causes.extend(_check_finalizers(meta, old))
    if changed("ownerReferences"):
        causes.extend(_check_owners(meta["ownerReferences"]))
    return causes


def _check_finalizers(meta: Object, old: Object | None) -> list[Cause]:
    causes = [
        Cause(INVALID, f"metadata.finalizers[{index}]", f'Invalid value: "{name}": {wrong}')
        for index, name in enumerate(meta["finalizers"])
        if (wrong := check_qualified(name))
    ]
    if old is not None and old.get("deletionTimestamp"):
        added = [name for name in meta["finalizers"] if name not in (old.get("finalizers") or ())]
        if added:
            words = ", ".join(f'"{name}"' for name in added)
            message = (
                "Forbidden: no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{words}}}"
            )
            causes.append(Cause(FORBIDDEN, "metadata.finalizers", message))
    return causes


def _check_owners(references: list[Any]) -> list[Cause]:
    causes: list[Cause] = []
    for index, reference in enumerate(references):
        for field in ("apiVersion", "kind", "name", "uid"):
            if not isinstance(reference.get(field), str) or not reference[field]:
                message = 'Invalid value: "": must not be empty' if field in reference else "Required value"
                causes.append(Cause(REQUIRED, f"metadata.ownerReferences[{index}].{field}", message))
    if sum(1 for reference in references if reference.get("controller")) > 1:
        message = "Invalid value: null: Only one reference can have Controller set to true"
        causes.append(Cause(INVALID, "metadata.ownerReferences", message))
    return causes
