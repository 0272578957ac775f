"""The port: the calls on the Kubernetes API that commands and controllers make.

Implemented by `api.client.HttpApi` (any cluster, over HTTPS) and by `engine.registry.Registry` (the embedded
engine, in process), so that a controller does not know where it runs. Objects are plain dicts in the JSON form of
Kubernetes; callers must not change returned objects, nor passed ones after the call.
Every call raises the ApiError that matches the returned Status, or UnreachableError.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hpcbatch.api.resources import Resource
from hpcbatch.typed import Any, Literal, NamedTuple, Protocol

Object = dict[str, Any]
Propagation = Literal["Background", "Foreground", "Orphan"]


class ObjectList(NamedTuple):
    """A list; a watch continues from `resource_version`."""

    items: tuple[Object, ...]
    resource_version: str


class WatchEvent(NamedTuple):
    """`type` is ADDED, MODIFIED, DELETED or BOOKMARK. An ERROR event is raised instead (410: GoneError)."""

    type: str
    object: Object


class Watch(Protocol):
    """A running watch. Iteration blocks for the next event and ends at the time limit or after `close()`."""

    def __iter__(self) -> Iterator[WatchEvent]: ...

    def close(self) -> None:
        """End the watch; safe from another thread, and more than once."""


class Api(Protocol):
    """`namespace` is None for cluster-scoped kinds, and in `list` and `watch` for all namespaces."""

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> Object: ...

    def list(
        self, resource: Resource, namespace: str | None = None, *, labels: str = "", fields: str = ""
    ) -> ObjectList:
        """All objects, whatever their number. `labels` and `fields` are selectors as in URLs: `a=b,c!=d`."""

    def create(self, resource: Resource, obj: Mapping[str, Any], namespace: str | None = None) -> Object: ...

    def replace(
        self, resource: Resource, obj: Mapping[str, Any], namespace: str | None = None, *, subresource: str = ""
    ) -> Object:
        """PUT; ConflictError unless `metadata.resourceVersion` is current."""

    def patch(
        self,
        resource: Resource,
        name: str,
        patch: Mapping[str, Any],
        namespace: str | None = None,
        *,
        subresource: str = "",
    ) -> Object:
        """JSON merge patch (RFC 7386). A `metadata.resourceVersion` in it is a precondition (ConflictError)."""

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
        """`uid`: only this very object, `resource_version`: as it is in this version (ConflictError otherwise)."""

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
        """Changes after `resource_version`; with "" first an ADDED for each existing object."""
