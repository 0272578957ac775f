"""The API as the controller uses it: it writes only while it is allowed to, and counts every call."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from hpcbatch.api.port import Api, Object, ObjectList, Propagation, Watch
from hpcbatch.api.resources import Resource
from hpcbatch.errors import ApiError, HpcBatchError

T = TypeVar("T")


class NoLongerLeadingError(SystemExit):
    """Ends the writing thread silently, through every `except Exception`; the process ends next."""


class GuardedApi:
    """Implements Api on another one. `may_write` is called right before each write.

    A write sent just before `may_write` turns False may still arrive. It does no harm: the controller's writes carry a
    resourceVersion, a uid or a name derived from the job.
    """

    def __init__(self, api: Api, may_write: Callable[[], bool] = lambda: True) -> None:
        self._api, self._may_write = api, may_write
        self._lock = threading.Condition()
        self._writing = 0
        self._closed = False
        self.calls: Counter[tuple[str, str, int]] = Counter()
        """Number of calls by verb, resource and HTTP status (0: no reply), since the start."""

    @property
    def unserved(self) -> int:
        """Number of calls that reached no server, or were rejected as unauthenticated."""
        with self._lock:
            return sum(count for (_, _, status), count in self.calls.items() if status in {0, 401})

    def close(self, limit_s: float) -> bool:
        """Start no further writes, and wait for those in progress. False if they take longer than `limit_s`."""
        end = time.monotonic() + limit_s
        with self._lock:
            self._closed = True
            while self._writing:
                left_s = end - time.monotonic()
                if left_s <= 0:
                    return False
                self._lock.wait(left_s)
        return True

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> Object:
        return self._counted("get", resource, lambda: self._api.get(resource, name, namespace))

    def list(
        self, resource: Resource, namespace: str | None = None, *, labels: str = "", fields: str = ""
    ) -> ObjectList:
        return self._counted(
            "list", resource, lambda: self._api.list(resource, namespace, labels=labels, fields=fields)
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
        return self._counted(
            "watch",
            resource,
            lambda: self._api.watch(
                resource,
                namespace,
                resource_version=resource_version,
                labels=labels,
                fields=fields,
                timeout_s=timeout_s,
            ),
        )

    def create(self, resource: Resource, obj: Mapping[str, Any], namespace: str | None = None) -> Object:
        return self._written("create", resource, lambda: self._api.create(resource, obj, namespace))

    def replace(
        self, resource: Resource, obj: Mapping[str, Any], namespace: str | None = None, *, subresource: str = ""
    ) -> Object:
        return self._written(
            "update", resource, lambda: self._api.replace(resource, obj, namespace, subresource=subresource)
        )

    def patch(
        self,
        resource: Resource,
        name: str,
        patch: Mapping[str, Any],
        namespace: str | None = None,
        *,
        subresource: str = "",
    ) -> Object:
        return self._written(
            "patch", resource, lambda: self._api.patch(resource, name, patch, namespace, subresource=subresource)
        )

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
        self._written(
            "delete",
            resource,
            lambda: self._api.delete(
                resource,
                name,
                namespace,
                grace_period_s=grace_period_s,
                propagation=propagation,
                uid=uid,
                resource_version=resource_version,
            ),
        )

    def _written(self, verb: str, resource: Resource, call: Callable[[], T]) -> T:
        with self._lock:
            if self._closed or not self._may_write():
                raise NoLongerLeadingError(1)
            self._writing += 1
        try:
            return self._counted(verb, resource, call)
        finally:
            with self._lock:
                self._writing -= 1
                self._lock.notify_all()

    def _counted(self, verb: str, resource: Resource, call: Callable[[], T]) -> T:
        status = 200
        try:
            return call()
        except ApiError as error:
            status = error.code
            raise
        except HpcBatchError:
            status = 0
            raise
        finally:
            with self._lock:
                self.calls[verb, resource.plural, status] += 1
