"""Bring objects to a wanted form: made where they are missing, changed where they differ, and what was changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import Resource
from hpcbatch.errors import HpcBatchError, NotFoundError

_MISSING = object()


def ensure(
    api: Api, resource: Resource, wanted: Object, namespace: str | None = None, *, is_kept: bool = False
) -> list[str]:
    """Create `wanted`, or patch what differs; None in it means that a key is not to be there. What is not in it stays.
    With `is_kept` an object that exists is left alone. The lines say what was done; none if all was as wanted.
    """
    name = wanted["metadata"]["name"]
    label = f"{resource.kind} {name}"
    found = find(api, resource, name, namespace)
    if found is None:
        create(api, resource, without_nulls(wanted), namespace)
        return [f"{label}: created"]
    changes = [f"{label}: {line}" for line in differences(found, wanted)]
    if not changes or is_kept:
        return []
    api.patch(resource, name, wanted, namespace)
    return changes


def find(api: Api, resource: Resource, name: str, namespace: str | None = None) -> Object | None:
    """The object, or None. Raises HpcBatchError if the cluster has no such kind."""
    try:
        return api.get(resource, name, namespace)
    except NotFoundError as error:
        if not error.details.get("name"):
            raise _unknown_kind(resource) from None
        return None


def create(api: Api, resource: Resource, obj: Object, namespace: str | None = None) -> Object:
    """Create, where a kind that the cluster does not have is an error that says so."""
    try:
        return api.create(resource, obj, namespace)
    except NotFoundError as error:
        if error.details.get("name"):
            raise  # the namespace is gone
        raise _unknown_kind(resource) from None


class UnknownKindError(HpcBatchError):
    """The API server does not serve this kind."""


def _unknown_kind(resource: Resource) -> UnknownKindError:
    return UnknownKindError(f"this cluster has no {resource.plural} ({resource.api_version})")


def without_nulls(value: Any) -> Any:
    """What a merge patch on nothing gives."""
    if isinstance(value, Mapping):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return value


def differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[str]:
    """What `wanted`, as a merge patch, would change: `key: 'old' → 'new'`."""
    for key, new in wanted.items():
        old = found.get(key, _MISSING)
        if isinstance(new, Mapping) and (isinstance(old, Mapping) or old is None or old is _MISSING):
            yield from differences(old if isinstance(old, Mapping) else {}, new)
        elif new is None and old is not _MISSING:
            yield f"{key}: {old!r} → nothing"
        elif new is not None and old != new:
            yield f"{key}: {new!r}" if old is _MISSING else f"{key}: {old!r} → {new!r}"
