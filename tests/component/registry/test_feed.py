"""What the engine's own parts are told of changes."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.api.resources import CONFIGMAPS, CRDS
from hpcbatch.api.resources import PODGROUPS as GROUPS
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Store


@pytest.fixture
def registry() -> Registry:
    made = Registry(Store(":memory:"))
    made.install_builtin()
    return made


def configmap(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": {"k": "v"}}


def test_what_is_there_then_each_change_at_once(registry: Registry) -> None:
    seen: list[tuple[str, str]] = []
    registry.create(CONFIGMAPS, configmap("a"), "default")
    feed = registry.feed(CONFIGMAPS, lambda event: seen.append((event.type, event.object["metadata"]["name"])))
    feed.start()
    assert seen == [("ADDED", "a")]
    registry.create(CONFIGMAPS, configmap("b"), "default")
    registry.patch(CONFIGMAPS, "b", {"data": {"k": "w"}}, "default")
    registry.delete(CONFIGMAPS, "a", "default")
    assert seen[1:] == [("ADDED", "b"), ("MODIFIED", "b"), ("DELETED", "a")]
    feed.stop()
    feed.stop()
    registry.delete(CONFIGMAPS, "b", "default")
    assert len(seen) == 4


def test_a_fault_of_who_is_told_is_not_the_writers(registry: Registry, caplog: pytest.LogCaptureFixture) -> None:
    def fails(_event: object) -> None:
        raise RuntimeError("a bug")

    registry.feed(CONFIGMAPS, fails).start()
    assert registry.create(CONFIGMAPS, configmap("a"), "default")["metadata"]["name"] == "a"
    assert "a bug" in caplog.text


def test_a_kind_that_goes_and_comes_again(registry: Registry) -> None:
    seen: list[tuple[str, str]] = []
    registry.feed(GROUPS, lambda event: seen.append((event.type, event.object["metadata"]["name"]))).start()
    group = {"apiVersion": GROUPS.api_version, "kind": GROUPS.kind, "metadata": {"name": "g"}, "spec": {}}
    registry.create(GROUPS, group, "default")
    name = f"{GROUPS.plural}.{GROUPS.group}"
    definition = registry.get(CRDS, name)
    registry.delete(CRDS, name)
    assert seen == [("ADDED", "g"), ("DELETED", "g")]
    registry.create(CRDS, {**definition, "metadata": {"name": name}, "status": {}})
    registry.create(GROUPS, group, "default")
    assert seen[2:] == [("ADDED", "g")]
