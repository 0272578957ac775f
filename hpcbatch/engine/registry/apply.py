"""Server-side apply: what one manager says of an object is merged in, what it no longer says is taken out.

Only the fields given by apply are recorded (managedFields with operation Apply), which is what conflicts between
appliers and the removal of fields need; other writers are not tracked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hpcbatch.api.port import Object
from hpcbatch.clone import clone
from hpcbatch.engine.registry import patches, statuses
from hpcbatch.engine.registry.kinds import Kind
from hpcbatch.engine.registry.patches import MergeKey
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.statuses import Cause
from hpcbatch.engine.registry.writes import WriteOptions
from hpcbatch.errors import ConflictError
from hpcbatch.units import rfc3339

Path = tuple[str, ...]
"""Steps as in fieldsV1: `f:name` a field, `k:{..}` an entry of a keyed list, `v:..` an entry of a set."""
_APART = frozenset({"apiVersion", "kind"})
_METADATA = frozenset({"labels", "annotations", "finalizers", "ownerReferences"})


def apply_object(
    registry: Registry,
    kind: Kind,
    name: str,
    namespace: str,
    given: Any,
    *,
    manager: str,
    force: bool,
    subresource: str,
    options: WriteOptions,
) -> tuple[Object, bool]:
    """Apply: (the object, whether it was created). Raises ApiError, with ConflictError for other managers' fields."""
    if not manager:
        cause = Cause(statuses.REQUIRED, "fieldManager", "Required value: is required for apply patch")
        raise statuses.invalid_options("PatchOptions", [cause])
    if not isinstance(given, Mapping) or not isinstance(given.get("metadata") or {}, Mapping):
        raise statuses.bad_request("error decoding YAML: an apply patch must be an object")
    meta: Mapping[str, Any] = given.get("metadata") or {}
    if meta.get("managedFields"):
        raise statuses.bad_request("metadata.managedFields must be nil")
    body: Object = {**given, "metadata": {**meta, "name": meta.get("name", name)}}
    merge_key = merge_key_of(kind)
    application = _Application(
        registry, kind, name, namespace, body, field_set(body, merge_key), manager, force, merge_key, options
    )
    with registry.lock:
        present = registry.store.get(kind.key, namespace if kind.resource.namespaced else "", name)
        if present is None:
            if subresource:
                raise statuses.not_found(kind, name)
            return application.create(), True
        done = registry.modify(kind, name, namespace, application.merged_into, subresource=subresource, options=options)
        return done, False


@dataclass(frozen=True, slots=True)
class _Application:
    """What one manager applies to one object. `fields` are the leaves of `body`."""

    registry: Registry
    kind: Kind
    name: str
    namespace: str
    body: Object
    fields: set[Path]
    manager: str
    force: bool
    merge_key: MergeKey
    options: WriteOptions

    def create(self) -> Object:
        meta = self.body["metadata"]
        if meta.get("uid"):
            message = (
                f'Operation cannot be fulfilled on {self.kind.qualified} "{self.name}": uid mismatch: the provided '
                f"object specified uid {meta['uid']}, and no existing object was found"
            )
            details: dict[str, object] = {"name": self.name, "kind": self.kind.resource.plural}
            raise ConflictError(409, "Conflict", message, details)
        if meta["name"] != self.name:
            raise statuses.bad_request(
                f"the name of the object ({meta['name']}) does not match the name on the URL ({self.name})"
            )
        fresh = {key: value for key, value in meta.items() if key != "resourceVersion"}
        self.options.managed_fields = [self._entry()]
        return self.registry.create_object(self.kind, {**self.body, "metadata": fresh}, self.namespace, self.options)

    def merged_into(self, old: Object) -> Object:
        """The object with what the manager gives now and without what it gave before."""
        if not self.force:
            self._refuse_conflicts(old)
        entries = list(old["metadata"].get("managedFields") or ())
        before = next((entry for entry in entries if _is_apply(entry, self.manager)), None)
        others = [entry for entry in entries if entry is not before]
        held: set[Path] = set()
        for entry in others:
            held |= _paths(entry.get("fieldsV1") or {})
        result: Object = clone(old)
        if before is not None:
            given_up = _paths(before.get("fieldsV1") or {}) - self.fields - held
            for path in sorted(given_up, key=len, reverse=True):
                _, value = _read(result, path)
                if not (isinstance(value, Mapping) and value):  # an empty map that others have filled since
                    _remove(result, path)
        result = patches.apply_merge(result, self.body, self.merge_key)
        if self.force:
            others = [entry for entry in (_without(entry, self.fields) for entry in others) if entry["fieldsV1"]]
        mine = self._entry()
        if before is not None and before.get("fieldsV1") == mine["fieldsV1"]:
            mine = before  # the time alone makes no change
        result["metadata"]["managedFields"] = [*others, mine]
        return result

    def _entry(self) -> Object:
        return {
            "manager": self.manager,
            "operation": "Apply",
            "apiVersion": self.kind.resource.api_version,
            "time": rfc3339(self.registry.now()),
            "fieldsType": "FieldsV1",
            "fieldsV1": _fields_v1(self.fields),
        }

    def _refuse_conflicts(self, old: Object) -> None:
        causes: list[Cause] = []
        values = dict(_leaves(self.body, self.merge_key, (), ()))
        for entry in old["metadata"].get("managedFields") or ():
            if entry.get("operation") != "Apply" or _is_apply(entry, self.manager):
                continue
            for path in sorted(_paths(entry.get("fieldsV1") or {}) & self.fields):
                found, value = _read(old, path)
                if not (found and value == values[path]):
                    text = f'conflict with "{entry.get("manager", "")}"'
                    causes.append(Cause("FieldManagerConflict", _shown(path), text))
        if not causes:
            return
        number = f"{len(causes)} conflict" + ("s" if len(causes) > 1 else "")
        text = ", ".join(f"{cause.message}: {cause.field}" for cause in causes)
        details: dict[str, object] = {
            "causes": [{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes]
        }
        raise ConflictError(409, "Conflict", f"Apply failed with {number}: {text}", details)


def _is_apply(entry: Mapping[str, Any], manager: str) -> bool:
    return entry.get("manager") == manager and entry.get("operation") == "Apply"


# --- sets of fields ---


def merge_key_of(kind: Kind) -> MergeKey:
    """How the lists of a kind are merged: custom kinds say it in their schema."""
    if not kind.custom:
        return patches.core_merge_key
    schema: Mapping[str, Any] = kind.schema or {}

    def of(path: tuple[str, ...]) -> Sequence[str] | None:
        if path == ("metadata", "finalizers"):
            return ()
        if path == ("metadata", "ownerReferences"):
            return ("uid",)
        part: Any = schema
        for step in path:
            while isinstance(part, Mapping) and part.get("type") == "array":
                part = part.get("items")
            if not isinstance(part, Mapping):
                return None
            part = (part.get("properties") or {}).get(step, part.get("additionalProperties"))
        if not isinstance(part, Mapping):
            return None
        match part.get("x-kubernetes-list-type"):
            case "map":
                return tuple(part.get("x-kubernetes-list-map-keys") or ())
            case "set":
                return ()
        return None

    return of


def _leaves(value: Any, merge_key: MergeKey, names: tuple[str, ...], path: Path) -> list[tuple[Path, Any]]:
    """The smallest parts of an applied object that belong to one manager, and their values."""
    if isinstance(value, Mapping) and (value or not path):
        found: list[tuple[Path, Any]] = []
        for key, item in value.items():
            if (not names and key in _APART) or (names == ("metadata",) and key not in _METADATA):
                continue
            if item is not None:
                found += _leaves(item, merge_key, (*names, key), (*path, f"f:{key}"))
        return found
    if isinstance(value, list):
        keys = merge_key(names)
        if keys is not None and not keys:
            return [((*path, f"v:{_text(item)}"), item) for item in value]
        if keys and all(isinstance(item, Mapping) and any(key in item for key in keys) for item in value):
            found = []
            for item in value:
                found += _leaves(item, merge_key, names, (*path, f"k:{_text(_key_of(item, keys))}"))
            return found
    return [(path, value)]


def _key_of(item: Mapping[str, Any], keys: Sequence[str]) -> Object:
    return {key: item[key] for key in keys if key in item}


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def field_set(obj: Mapping[str, Any], merge_key: MergeKey) -> set[Path]:
    return {path for path, _ in _leaves(obj, merge_key, (), ())}


def _fields_v1(fields: set[Path]) -> Object:
    root: Object = {}
    for path in sorted(fields):
        node = root
        for step in path:
            node = node.setdefault(step, {})
    return root


def _paths(fields: Mapping[str, Any], path: Path = ()) -> set[Path]:
    if not fields:
        return {path} if path else set()
    found: set[Path] = set()
    for step, below in fields.items():
        if step == ".":
            continue
        found |= _paths(below, (*path, step))
    return found


def _without(entry: Mapping[str, Any], fields: set[Path]) -> Object:
    return {**entry, "fieldsV1": _fields_v1(_paths(entry.get("fieldsV1") or {}) - fields)}


def _shown(path: Path) -> str:
    text = ""
    for step in path:
        kind, rest = step[:2], step[2:]
        if kind == "f:":
            text += f".{rest}"
        elif kind == "k:":
            pairs = ",".join(f"{key}={_text(value)}" for key, value in json.loads(rest).items())
            text += f"[{pairs}]"
        else:
            text += f"[={rest}]"
    return text


def _find(items: Any, step: str) -> int | None:
    """Index of the list's entry that a `k:` or `v:` step means."""
    if not isinstance(items, list):
        return None
    wanted = json.loads(step[2:])
    for index, item in enumerate(items):
        if step.startswith("v:") and item == wanted:
            return index
        if step.startswith("k:") and isinstance(item, Mapping) and wanted.items() <= item.items():
            return index
    return None


def _read(obj: Any, path: Path) -> tuple[bool, Any]:
    value = obj
    for step in path:
        if step.startswith("f:"):
            if not isinstance(value, Mapping) or step[2:] not in value:
                return False, None
            value = value[step[2:]]
        else:
            index = _find(value, step)
            if index is None:
                return False, None
            value = value[index]
    return True, value


def _remove(obj: Any, path: Path) -> None:
    """Take one field out, and the lists' entries that are left with nothing but their key."""
    parents: list[tuple[Any, str]] = []
    value = obj
    for step in path:
        parents.append((value, step))
        if step.startswith("f:"):
            if not isinstance(value, dict) or step[2:] not in value:
                return
            value = value[step[2:]]
        else:
            index = _find(value, step)
            if index is None:
                return
            value = value[index]
    for depth, (parent, step) in enumerate(reversed(parents)):
        if step.startswith("f:"):
            if depth == 0 or parent[step[2:]] in ({}, []):
                del parent[step[2:]]
            else:
                return
        else:
            index = _find(parent, step)
            if index is None:
                return
            rest = parent[index]
            if depth and isinstance(rest, Mapping) and step.startswith("k:") and set(rest) - set(json.loads(step[2:])):
                return
            del parent[index]
