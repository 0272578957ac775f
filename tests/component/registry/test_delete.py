"""Deletion: finalizers, grace, preconditions, namespaces."""

import pytest

from hpcbatch.api import resources
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
)
from tests.component.registry.objects import THINGS, Clock, pod, thing

# --- delete ---


def test_delete_with_finalizer(things: Registry) -> None:
    things.create(THINGS, thing(metadata={"name": "t", "finalizers": ["x.io/a"]}), "default")
    watch = things.watch(THINGS, "default", resource_version=str(things.store.revision), timeout_s=0.05)
    things.delete(THINGS, "t", "default")
    held = things.get(THINGS, "t", "default")["metadata"]
    assert (held["deletionTimestamp"], held["deletionGracePeriodSeconds"], held["generation"]) == (
        "2026-11-21T10:00:00Z",
        0,
        2,
    )
    things.delete(THINGS, "t", "default")
    with pytest.raises(InvalidError) as caught:
        things.patch(THINGS, "t", {"metadata": {"finalizers": ["x.io/a", "x.io/b"]}}, "default")
    assert 'found new finalizers []string{"x.io/b"}' in caught.value.message
    things.patch(THINGS, "t", {"metadata": {"finalizers": None}}, "default")
    assert [event.type for event in watch] == ["MODIFIED", "DELETED"]
    with pytest.raises(NotFoundError):
        things.get(THINGS, "t", "default")


def test_preconditions(registry: Registry) -> None:
    made = registry.create(resources.CONFIGMAPS, {"metadata": {"name": "c"}}, "default")
    with pytest.raises(ConflictError) as caught:
        registry.delete(resources.CONFIGMAPS, "c", "default", uid="A")
    assert caught.value.message == (
        'Operation cannot be fulfilled on ConfigMap "c": the UID in the precondition (A) does not match the UID in '
        f"record ({made['metadata']['uid']}). The object might have been deleted and then recreated"
    )
    registry.delete(resources.CONFIGMAPS, "c", "default", uid=made["metadata"]["uid"])


def test_graceful_pod(registry: Registry, clock: Clock) -> None:
    registry.create(resources.PODS, pod(nodeName="n", terminationGracePeriodSeconds=20), "default")
    registry.delete(resources.PODS, "p", "default")
    meta = registry.get(resources.PODS, "p", "default")["metadata"]
    assert (meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"]) == ("2026-11-21T10:00:20Z", 20)
    clock.sleep(3)
    registry.delete(resources.PODS, "p", "default")
    registry.delete(resources.PODS, "p", "default", grace_period_s=60)
    assert registry.get(resources.PODS, "p", "default")["metadata"] == meta
    registry.delete(resources.PODS, "p", "default", grace_period_s=5)
    meta = registry.get(resources.PODS, "p", "default")["metadata"]
    assert (meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"]) == ("2026-11-21T10:00:05Z", 5)
    registry.delete(resources.PODS, "p", "default", grace_period_s=0)
    with pytest.raises(NotFoundError):
        registry.get(resources.PODS, "p", "default")


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_ended_pod_goes_at_once(registry: Registry, phase: str) -> None:
    registry.create(resources.PODS, pod(nodeName="n"), "default")
    registry.patch(resources.PODS, "p", {"status": {"phase": phase}}, "default", subresource="status")
    registry.delete(resources.PODS, "p", "default")
    assert registry.list(resources.PODS).items == ()


def test_pod_without_node_goes_at_once(registry: Registry) -> None:
    registry.create(resources.PODS, pod(), "default")
    registry.delete(resources.PODS, "p", "default")
    assert registry.list(resources.PODS).items == ()


def test_bind_and_evict(registry: Registry) -> None:
    registry.create(resources.PODS, pod(), "default")
    registry.bind("default", "p", "node-1")
    bound = registry.get(resources.PODS, "p", "default")
    assert bound["spec"]["nodeName"] == "node-1"
    assert bound["status"]["conditions"] == [
        {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": "2026-11-21T10:00:00Z"}
    ]
    with pytest.raises(ConflictError) as caught:
        registry.bind("default", "p", "node-2")
    assert caught.value.message == (
        'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "node-1"'
    )
    registry.evict("default", "p")
    evicted = registry.get(resources.PODS, "p", "default")
    assert evicted["status"]["conditions"][-1]["reason"] == "EvictionByEvictionAPI"
    assert evicted["metadata"]["deletionGracePeriodSeconds"] == 30


# --- namespaces ---


def test_first_namespaces(registry: Registry) -> None:
    names = {item["metadata"]["name"] for item in registry.list(resources.NAMESPACES).items}
    assert names == {"default", "kube-system", "kube-public", "hpcbatch-system"}
    accounts = registry.list(resources.SERVICE_ACCOUNTS).items
    assert {item["metadata"]["namespace"] for item in accounts} == names


def test_namespace_is_emptied(registry: Registry) -> None:
    made = registry.create(resources.NAMESPACES, {"metadata": {"name": "n"}})
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "n"}
    assert (made["spec"], made["status"]) == ({"finalizers": ["kubernetes"]}, {"phase": "Active"})
    registry.create(resources.CONFIGMAPS, {"metadata": {"name": "c"}}, "n")
    registry.create(resources.PODS, pod(nodeName="x"), "n")
    registry.delete(resources.NAMESPACES, "n")
    held = registry.get(resources.NAMESPACES, "n")
    assert held["status"] == {"phase": "Terminating"}
    assert registry.list(resources.CONFIGMAPS, "n").items == ()
    with pytest.raises(ForbiddenError) as caught:
        registry.create(resources.CONFIGMAPS, {"metadata": {"name": "y"}}, "n")
    assert caught.value.message == (
        'configmaps "y" is forbidden: unable to create new content in namespace n because it is being terminated'
    )
    registry.delete(resources.PODS, "p", "n", grace_period_s=0)
    with pytest.raises(NotFoundError):
        registry.get(resources.NAMESPACES, "n")
    assert not registry.store.has_namespaced("n")


def test_empty_namespace_goes_at_once(registry: Registry) -> None:
    registry.create(resources.NAMESPACES, {"metadata": {"name": "n"}})
    registry.delete(resources.NAMESPACES, "n")
    with pytest.raises(NotFoundError):
        registry.get(resources.NAMESPACES, "n")


def test_default_namespace_stays(registry: Registry) -> None:
    with pytest.raises(ForbiddenError, match='namespaces "default" is forbidden: this namespace may not be deleted'):
        registry.delete(resources.NAMESPACES, "default")
