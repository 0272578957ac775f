"""Deletion with owners and dependents: every policy, and a kill in between."""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcbatch.api import resources
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Change, Store
from hpcbatch.errors import NotFoundError
from tests.thoroughness import examples

CM = resources.CONFIGMAPS


def reference(owner: dict[str, Any], **more: Any) -> dict[str, Any]:
    meta = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
        **more,
    }


def make(registry: Registry, name: str, *owners: dict[str, Any], **meta: Any) -> dict[str, Any]:
    references = [reference(owner, controller=index == 0) for index, owner in enumerate(owners)]
    return registry.create(CM, {"metadata": {"name": name, "ownerReferences": references, **meta}}, "default")


def names(registry: Registry) -> set[str]:
    return {item["metadata"]["name"] for item in registry.list(CM, "default").items}


@pytest.fixture
def registry() -> Registry:
    return Registry(Store(":memory:"))


def test_background_takes_all_below(registry: Registry) -> None:
    owner = make(registry, "o")
    child = make(registry, "d", owner)
    make(registry, "dd", child)
    make(registry, "other")
    before = registry.store.revision
    watch = registry.watch(CM, resource_version=str(before), timeout_s=0.05)
    registry.delete(CM, "o", "default")
    assert names(registry) == {"other"}
    assert [(event.type, event.object["metadata"]["name"]) for event in watch] == [
        ("DELETED", "o"),
        ("DELETED", "d"),
        ("DELETED", "dd"),
    ]


def test_foreground_takes_dependents_first(registry: Registry) -> None:
    owner = make(registry, "o")
    child = make(registry, "d", owner)
    make(registry, "dd", child)
    watch = registry.watch(CM, resource_version=str(registry.store.revision), timeout_s=0.05)
    registry.delete(CM, "o", "default", propagation="Foreground")
    assert names(registry) == set()
    events = [(event.type, event.object["metadata"]["name"]) for event in watch]
    assert events[0] == ("MODIFIED", "o")
    deleted = [name for word, name in events if word == "DELETED"]
    assert deleted == ["dd", "d", "o"]


def test_foreground_waits_for_pods(registry: Registry) -> None:
    owner = make(registry, "o")
    pod = {
        "metadata": {"name": "p", "ownerReferences": [reference(owner)]},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
    }
    registry.create(resources.PODS, pod, "default")
    registry.delete(CM, "o", "default", propagation="Foreground")
    held = registry.get(CM, "o", "default")["metadata"]
    assert held["finalizers"] == ["foregroundDeletion"]
    assert registry.get(resources.PODS, "p", "default")["metadata"]["deletionTimestamp"]
    registry.delete(resources.PODS, "p", "default", grace_period_s=0)
    assert names(registry) == set()


def test_orphan_leaves_dependents(registry: Registry) -> None:
    owner, second = make(registry, "o"), make(registry, "o2")
    make(registry, "d", owner)
    make(registry, "e", owner, second)
    registry.delete(CM, "o", "default", propagation="Orphan")
    assert names(registry) == {"d", "e", "o2"}
    assert "ownerReferences" not in registry.get(CM, "d", "default")["metadata"]
    assert [item["name"] for item in registry.get(CM, "e", "default")["metadata"]["ownerReferences"]] == ["o2"]


def test_the_last_owner_counts(registry: Registry) -> None:
    first, second = make(registry, "o1"), make(registry, "o2")
    make(registry, "d", first, second)
    registry.delete(CM, "o1", "default")
    assert names(registry) == {"o2", "d"}
    registry.delete(CM, "o2", "default")
    assert names(registry) == set()


def test_dependent_with_finalizer_stays_marked(registry: Registry) -> None:
    owner = make(registry, "o")
    make(registry, "d", owner, finalizers=["x.io/a"])
    registry.delete(CM, "o", "default")
    assert registry.get(CM, "d", "default")["metadata"]["deletionTimestamp"]
    registry.patch(CM, "d", {"metadata": {"finalizers": []}}, "default")
    assert names(registry) == set()


def test_made_too_late(registry: Registry) -> None:
    """A dependent that is made when its owner is gone goes as well."""
    owner = make(registry, "o")
    registry.delete(CM, "o", "default")
    make(registry, "late", owner)
    assert names(registry) == set()


def test_owners_of_unknown_kinds_are_believed(registry: Registry) -> None:
    foreign = {"apiVersion": "x.y/v1", "kind": "Z", "name": "z", "uid": "u-1"}
    registry.create(CM, {"metadata": {"name": "d", "ownerReferences": [foreign]}}, "default")
    assert names(registry) == {"d"}


def test_owner_in_another_namespace_is_none(registry: Registry) -> None:
    owner = registry.create(CM, {"metadata": {"name": "o"}}, "kube-system")
    make(registry, "d", owner)
    assert names(registry) == set()


def test_cluster_scoped_owner(registry: Registry) -> None:
    node = registry.create(resources.NODES, {"metadata": {"name": "n"}})
    make(registry, "d", node)
    assert names(registry) == {"d"}
    registry.delete(resources.NODES, "n")
    assert names(registry) == set()


def test_cascade_is_one_transaction(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Full disk in the middle: the owner is still there, and so is everything below it."""
    owner = make(registry, "o")
    for index in range(20):
        make(registry, f"d{index}", owner)
    store = registry.store
    writes: list[int] = []
    write = store.write

    def counted(changes: list[Change]) -> list[dict[str, Any]]:
        writes.append(len(changes))
        return write(changes)

    monkeypatch.setattr(store, "write", counted)
    registry.delete(CM, "o", "default")
    assert writes == [21]


def test_sweep_finishes_what_a_kill_interrupted(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "s.db"))
    registry = Registry(store)
    owner = make(registry, "o")
    make(registry, "d", owner)
    registry.create(resources.NAMESPACES, {"metadata": {"name": "n"}})
    registry.create(CM, {"metadata": {"name": "inside"}}, "n")
    # as if the process had been killed after the first write of each
    store.write([Change(("", "configmaps"), "default", "o", None)])
    namespace = registry.get(resources.NAMESPACES, "n")
    marked = {**namespace, "metadata": {**namespace["metadata"], "deletionTimestamp": "2026-11-21T10:00:00Z"}}
    store.write([Change(("", "namespaces"), "", "n", marked)])
    store.close()
    registry = Registry(Store(str(tmp_path / "s.db")))
    assert names(registry) == set()
    with pytest.raises(NotFoundError):
        registry.get(resources.NAMESPACES, "n")
    assert registry.list(CM).items == ()


def calls_of_deletion(registry: Registry, dependents: int) -> int:
    """How many functions are called until an owner and all its dependents are gone."""
    owner = make(registry, f"o{dependents}")
    for index in range(dependents):
        make(registry, f"d{dependents}-{index}", owner)
    count = 0

    def on_call(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(on_call)
    try:
        registry.delete(CM, owner["metadata"]["name"], "default")
    finally:
        sys.setprofile(None)
    assert names(registry) == set()
    return count


def test_a_wide_deletion_costs_as_much_for_each_dependent(registry: Registry) -> None:
    few, many = calls_of_deletion(registry, 100), calls_of_deletion(registry, 800)
    assert few > 100
    assert many < 8 * 1.5 * few


NAMES = "abcdef"


@settings(max_examples=examples(80), deadline=None)
@given(
    owners=st.lists(st.lists(st.integers(0, 4), max_size=2, unique=True), min_size=6, max_size=6),
    deletions=st.lists(
        st.tuples(st.sampled_from(NAMES), st.sampled_from(["Background", "Foreground", "Orphan"])), max_size=4
    ),
)
def test_no_reference_to_nothing_is_left(owners: list[list[int]], deletions: list[tuple[str, Any]]) -> None:
    """Any ownership without circles, any deletions: what stays is what a plain model of the rules keeps."""
    registry = Registry(Store(":memory:"))
    model: dict[str, set[str]] = {}
    made: dict[str, dict[str, Any]] = {}
    for index, name in enumerate(NAMES):
        above = sorted({NAMES[owner] for owner in owners[index] if owner < index})
        made[name] = make(registry, name, *(made[owner] for owner in above))
        model[name] = set(above)

    def drop(name: str) -> None:
        del model[name]
        for other in sorted(model):
            if other in model and name in model[other]:
                model[other].discard(name)
                if not model[other]:
                    drop(other)

    for name, policy in deletions:
        if name not in model:
            continue
        registry.delete(CM, name, "default", propagation=policy)
        if policy == "Orphan":
            del model[name]
            for others in model.values():
                others.discard(name)
        else:  # in the foreground the order differs, not the outcome
            drop(name)
    left = {
        item["metadata"]["name"]: {ref["name"] for ref in item["metadata"].get("ownerReferences", ())}
        for item in registry.list(CM, "default").items
    }
    assert left == model
