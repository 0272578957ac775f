"""Secrets of submissions that never became a job are removed, wherever the controller may look."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hpcbatch.api.resources import NAMESPACES, SECRETS
from hpcbatch.controller.sweep import sweep_submissions
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Store
from hpcbatch.errors import ForbiddenError
from hpcbatch.site.identity import USER


class Restricted:
    """An API that does not let Secrets of one namespace be read."""

    def __init__(self, registry: Registry, closed: str) -> None:
        self._registry, self._closed = registry, closed

    def list(self, resource: Any, namespace: str, **options: Any) -> Any:
        if namespace == self._closed:
            raise ForbiddenError(403, "Forbidden", "not yours")
        return self._registry.list(resource, namespace, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._registry, name)


@pytest.fixture
def registry() -> Registry:
    registry = Registry(Store(":memory:"))
    registry.install_builtin()
    for name in ("alice", "bob", "carol", "nobody"):
        notes = {} if name == "nobody" else {USER: name}
        registry.create(
            NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "annotations": notes}}
        )
    return registry


def secret(registry: Registry, namespace: str, name: str, **more: Any) -> None:
    metadata = {"name": name, **more.pop("metadata", {})}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "hpcbatch.io/submission", **more}
    registry.create(SECRETS, body, namespace)


def left(registry: Registry) -> set[str]:
    return {f"{s['metadata']['namespace']}/{s['metadata']['name']}" for s in registry.list(SECRETS).items}


def test_only_old_ones_without_a_job_go(registry: Registry, caplog: pytest.LogCaptureFixture) -> None:
    uid = registry.get(NAMESPACES, "carol")["metadata"]["uid"]  # stands for a BatchJob
    owner = {"apiVersion": "v1", "kind": "Namespace", "name": "carol", "uid": uid}
    for namespace in ("alice", "bob", "carol", "nobody"):
        secret(registry, namespace, "forsaken")
    secret(registry, "carol", "of-a-job", metadata={"ownerReferences": [owner]})
    secret(registry, "carol", "her-own", type="Opaque")
    api: Any = Restricted(registry, "bob")
    namespaces = registry.list(NAMESPACES).items
    sweep_submissions(api, namespaces, datetime.now(UTC))
    assert len(left(registry)) == 6, "clients may still be at it"
    sweep_submissions(api, namespaces, datetime.now(UTC) + timedelta(minutes=11))
    assert left(registry) == {"bob/forsaken", "nobody/forsaken", "carol/of-a-job", "carol/her-own"}
    assert "namespace bob: not yours" in caplog.text
