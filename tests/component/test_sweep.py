"""What the controller removes: Secrets of submissions that never became a job, and the oldest of too many records."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hpcbatch.api.resources import NAMESPACES, SECRETS
from hpcbatch.controller.sweep import HISTORY_AT_ONCE, sweep_submissions, sweep_surplus
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Store
from hpcbatch.errors import ForbiddenError
from hpcbatch.site.identity import USER
from hpcbatch.units import rfc3339


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


def record(name: str, ended: datetime | None, **spec: Any) -> dict[str, Any]:
    status: dict[str, Any] = {"state": "Running"}
    if ended is not None:
        status = {"state": "Finished", "cleaned": True, "endTime": rfc3339(ended)}
    metadata = {"name": name, "namespace": "alice", "uid": f"uid-{name}"}
    return {"metadata": metadata, "spec": spec, "status": status}


class Records:
    """What an Informer and an API show of BatchJobs."""

    def __init__(self, *records: dict[str, Any]) -> None:
        self.there = {each["metadata"]["name"]: each for each in records}

    def items(self) -> list[dict[str, Any]]:
        return list(self.there.values())

    def get(self, namespace: str, name: str) -> dict[str, Any] | None:
        return self.there.get(name)

    def delete(self, resource: Any, name: str, namespace: str, **preconditions: Any) -> None:
        assert preconditions["uid"] == self.there.pop(name)["metadata"]["uid"]


def test_the_oldest_of_too_many_records_go() -> None:
    now = datetime(2026, 11, 26, 12, tzinfo=UTC)
    ended = [record(f"old-{minute}", now - timedelta(minutes=minute)) for minute in (9, 3, 7)]
    alive = [record("running", None), record("array", None, array={"indices": "0"})]
    alive[1]["status"]["array"] = {"active": "0"}
    member = record("array-0", now - timedelta(minutes=20), memberOf={"arrayName": "array", "index": 0})
    new = record("new", now - timedelta(seconds=5))
    records: Any = Records(*ended, *alive, member, new)
    assert sweep_surplus(records, records, 5, now) == 0, "no more than may be"
    assert sweep_surplus(records, records, 2, now) == 2
    assert [*records.there] == ["old-3", "running", "array", "array-0", "new"], "the array has not counted its member"
    assert sweep_surplus(records, records, 0, now) == 1, "who has just ended is still asked about"
    assert [*records.there] == ["running", "array", "array-0", "new"]
    alive[1]["status"]["array"] = {"succeeded": "0"}
    assert sweep_surplus(records, records, 0, now + timedelta(minutes=1)) == 2


def test_some_at_a_time() -> None:
    now = datetime(2026, 11, 26, 12, tzinfo=UTC)
    records: Any = Records(*(record(f"r-{n}", now - timedelta(minutes=2 + n)) for n in range(HISTORY_AT_ONCE + 7)))
    assert sweep_surplus(records, records, 4, now) == HISTORY_AT_ONCE
    assert sweep_surplus(records, records, 4, now) == 3
    assert [*records.there] == ["r-0", "r-1", "r-2", "r-3"]
