"""Patches: JSON merge patch, JSON patch, strategic merge patch, and the merging part of server-side apply."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jsonpatch
import jsonpointer

from hpcbatch.clone import clone
from hpcbatch.engine.registry.statuses import bad_request
from hpcbatch.engine.registry.values import MAX_BYTES, check_size, json_kind
from hpcbatch.errors import ApiError, InvalidError

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

# Lists of core kinds that are maps by a key, and sets. Source: the patchMergeKey tags of k8s.io/api/core/v1.
_MERGE_KEYS: dict[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "imagePullSecrets": ("name",),
    "secrets": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey",),
    "conditions": ("type",),
    "taints": ("key",),
    "addresses": ("type",),
    "ownerReferences": ("uid",),
    "podIPs": ("ip",),
    "hostIPs": ("ip",),
    "resourceClaims": ("name",),
}
_SETS = frozenset({"finalizers"})
_OPERATIONS = 10_000
"""Of one patch, as the real server's."""
MergeKey = Callable[[tuple[str, ...]], Sequence[str] | None]
"""From the path of a list (field names only) to its key fields; () means a set, None a list that is replaced."""


def core_merge_key(path: tuple[str, ...]) -> Sequence[str] | None:
    if path[-1] in _SETS:
        return ()
    if path[-1] == "ports":
        in_container = len(path) > 1 and path[-2] in {"containers", "initContainers"}
        return ("containerPort",) if in_container else ("port",)
    return _MERGE_KEYS.get(path[-1])


def merge(target: Any, patch: Any) -> Any:
    """RFC 7386. Shares with both what it does not change."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            result[key] = merge(result.get(key), value)
        else:
            result[key] = value
    return result


def merge_patch(target: Mapping[str, Any], patch: Any) -> dict[str, Any]:
    """A merge patch from outside. Raises ApiError 400 unless it is a JSON object."""
    if not isinstance(patch, Mapping):
        raise _undecodable(patch, "map[string]interface {}")
    merged: dict[str, Any] = merge(target, patch)
    return merged


def json_patch(target: Mapping[str, Any], patch: Any) -> dict[str, Any]:
    """RFC 6902. Raises ApiError 400 if it is no patch, 413 if it makes too much, 422 if it does not fit."""
    if not isinstance(patch, list):
        raise _undecodable(patch, "[]handlers.jsonPatchOp")
    if len(patch) > _OPERATIONS:
        message = f"The allowed maximum operations in a JSON patch is {_OPERATIONS}, got {len(patch)}"
        raise ApiError(413, "RequestEntityTooLarge", message)
    try:
        result = clone(target)
        left = MAX_BYTES
        for operation in clone(patch):
            if isinstance(operation, dict) and operation.get("op") == "copy":  # each can double the object
                left = check_size(jsonpointer.resolve_pointer(result, operation["from"]), left)
            result = jsonpatch.JsonPatch([operation]).apply(result, in_place=True)
        check_size(result)
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError, KeyError, IndexError) as error:
        raise InvalidError(
            422, "Invalid", "the server rejected our request due to an error in our request", {}
        ) from error
    if not isinstance(result, dict):
        raise InvalidError(422, "Invalid", "the server rejected our request due to an error in our request", {})
    return result


def strategic_patch(target: Mapping[str, Any], patch: Any) -> dict[str, Any]:
    """A strategic merge patch of a core kind. Raises ApiError 400."""
    if not isinstance(patch, Mapping):
        raise _undecodable(patch, "map[string]interface {}")
    return _strategic_map(target, patch, ())


def _strategic_map(target: Any, patch: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    directive = patch.get("$patch")
    body = {key: value for key, value in patch.items() if not key.startswith("$")}
    if directive == "replace":
        return clone(body)  # type: ignore[no-any-return]
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise bad_request(f"unknown $patch directive {directive!r}")
    result = dict(target) if isinstance(target, Mapping) else {}
    kept = patch.get("$retainKeys")
    if isinstance(kept, list):
        result = {key: value for key, value in result.items() if key in kept}
    for key, value in patch.items():
        if key.startswith("$deleteFromPrimitiveList/"):
            name = key.partition("/")[2]
            if isinstance(result.get(name), list):
                result[name] = [item for item in result[name] if item not in value]
    for key, value in body.items():
        here = (*path, key)
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            result[key] = _strategic_map(result.get(key), value, here)
        elif isinstance(value, list) and isinstance(result.get(key), list):
            result[key] = _strategic_list(result[key], value, here)
        elif isinstance(value, list):
            result[key] = _without_directives(value)
        else:
            result[key] = value
    for key, order in patch.items():
        if key.startswith("$setElementOrder/"):
            name = key.partition("/")[2]
            fields = core_merge_key((*path, name))
            if isinstance(result.get(name), list) and isinstance(order, list) and fields is not None:
                result[name] = _ordered(result[name], order, fields)
    return result


def _without_directives(items: Sequence[Any]) -> list[Any]:
    return [
        clone({key: value for key, value in item.items() if not key.startswith("$")})
        if isinstance(item, Mapping)
        else item
        for item in items
        if not (isinstance(item, Mapping) and item.get("$patch") in {"delete", "replace"})
    ]


def _strategic_list(old: list[Any], patch: list[Any], path: tuple[str, ...]) -> list[Any]:
    fields = core_merge_key(path)
    if any(isinstance(item, Mapping) and item.get("$patch") == "replace" for item in patch):
        return _without_directives(patch)
    if fields is None:
        return clone(patch)  # type: ignore[no-any-return]
    if not fields or not all(isinstance(item, Mapping) for item in (*old, *patch)):
        return [*old, *(item for item in patch if item not in old)]
    result = list(old)
    for item in patch:
        key = _identity(item, fields)
        if key is None:
            raise bad_request(f"map: {dict(item)} does not contain declared merge key: {fields[0]}")
        place = next((i for i, other in enumerate(result) if _identity(other, fields) == key), None)
        if item.get("$patch") == "delete":
            if place is not None:
                del result[place]
        elif place is None:
            result.append(_strategic_map({}, item, path))
        else:
            result[place] = _strategic_map(result[place], item, path)
    return result


def _identity(item: Any, fields: Sequence[str]) -> tuple[tuple[str, Any], ...] | None:
    """What tells the item from its neighbours; None if it lacks the first of the key's fields."""
    if fields[0] not in item:
        return None
    return tuple((field, item.get(field)) for field in fields)


def _ordered(items: list[Any], order: list[Any], fields: Sequence[str]) -> list[Any]:
    """`items` in the order requested; those that it does not name stay behind the neighbour that they followed."""

    def identity(item: Any) -> Any:
        return _identity(item, fields) if isinstance(item, Mapping) else item

    ranks = {repr(identity(item)): rank for rank, item in enumerate(order)}
    keyed: list[tuple[int, int, Any]] = []
    rank = -1
    for position, item in enumerate(items):
        rank = ranks.get(repr(identity(item)), rank)
        keyed.append((rank, position, item))
    return [item for _, _, item in sorted(keyed, key=lambda entry: entry[:2])]


def apply_merge(target: Any, applied: Any, merge_key: MergeKey, path: tuple[str, ...] = ()) -> Any:
    """What server-side apply makes of the object: given fields are set, keyed lists merged, other lists replaced."""
    if isinstance(applied, Mapping):
        result = dict(target) if isinstance(target, Mapping) else {}
        for key, value in applied.items():
            if value is None:
                result.pop(key, None)
            else:
                result[key] = apply_merge(result.get(key), value, merge_key, (*path, key))
        return result
    if isinstance(applied, list) and isinstance(target, list) and path:
        fields = merge_key(path)
        if fields is not None and not fields:
            return [*target, *(item for item in applied if item not in target)]
        if fields and all(isinstance(item, Mapping) for item in (*target, *applied)):
            merged = list(target)
            for item in applied:
                key = _identity(item, fields)
                place = next((i for i, other in enumerate(merged) if key and _identity(other, fields) == key), None)
                if place is None:
                    merged.append(clone(item))
                else:
                    merged[place] = apply_merge(merged[place], item, merge_key, path)
            return merged
    return clone(applied)


def _undecodable(patch: Any, wanted: str) -> ApiError:
    return bad_request(
        f"error decoding patch: json: cannot unmarshal {json_kind(patch)} into Go value of type {wanted}"
    )
