"""Watches of the registry, and its events."""

import pytest

from hpcbatch.api import resources
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Store
from hpcbatch.errors import (
    GoneError,
)
from tests.component.registry.objects import THINGS, Clock, pod, thing

# --- watches ---


def test_watch_with_selector(things: Registry) -> None:
    watch = things.watch(THINGS, "default", labels="a=b", timeout_s=0.05)
    things.create(THINGS, thing(), "default")
    things.patch(THINGS, "t", {"metadata": {"labels": {"a": "b"}}}, "default")
    things.patch(THINGS, "t", {"spec": {"tasks": 1}}, "default")
    changed = things.patch(THINGS, "t", {"metadata": {"labels": {"a": "c"}}}, "default")
    things.patch(THINGS, "t", {"spec": {"tasks": 2}}, "default")
    things.patch(THINGS, "t", {"metadata": {"labels": {"a": "b"}}}, "default")
    things.delete(THINGS, "t", "default")
    events = list(watch)
    assert [event.type for event in events] == ["ADDED", "MODIFIED", "DELETED", "ADDED", "DELETED"]
    assert events[2].object == changed
    assert events[-1].object["metadata"]["resourceVersion"] == str(things.store.revision)


def test_watch_goes_on_from_a_list(things: Registry) -> None:
    things.create(THINGS, thing("a"), "default")
    listed = things.list(THINGS)
    things.create(THINGS, thing("b"), "default")
    things.delete(THINGS, "a", "default")
    watch = things.watch(THINGS, resource_version=listed.resource_version, timeout_s=0.05)
    assert [(event.type, event.object["metadata"]["name"]) for event in watch] == [("ADDED", "b"), ("DELETED", "a")]


def test_watch_too_old(clock: Clock) -> None:
    registry = Registry(Store(":memory:", history=10), now=clock)
    listed = registry.list(resources.PODS)
    for index in range(12):
        registry.create(resources.CONFIGMAPS, {"metadata": {"name": f"c{index}"}}, "default")
    with pytest.raises(GoneError):
        registry.watch(resources.PODS, resource_version=listed.resource_version)


def test_watch_closes_from_another_thread(registry: Registry) -> None:
    import threading

    watch = registry.watch(resources.PODS)
    threading.Timer(0.05, watch.close).start()
    assert list(watch) == []
    watch.close()
    assert registry.store.subscription_count() == 0


# --- events ---


def test_events_are_counted(registry: Registry, clock: Clock) -> None:
    involved = registry.create(resources.PODS, pod(), "default")
    for _ in range(3):
        registry.record_event(
            involved, type="Warning", reason="BackOff", message="again", component="kubelet", host="node-1"
        )
        clock.sleep(1)
    (event,) = registry.list(resources.EVENTS, "default", fields="involvedObject.name=p").items
    assert (event["count"], event["firstTimestamp"], event["lastTimestamp"]) == (
        3,
        "2026-11-21T10:00:00Z",
        "2026-11-21T10:00:02Z",
    )
    assert event["involvedObject"]["uid"] == involved["metadata"]["uid"]
    assert event["source"] == {"component": "kubelet", "host": "node-1"}
    assert event["metadata"]["name"].startswith("p.")


def test_events_never_fail_and_are_forgotten(registry: Registry, clock: Clock) -> None:
    registry.record_event(
        {"kind": "Pod", "metadata": {"name": "p", "namespace": "nosuch"}},
        type="Normal",
        reason="X",
        message="m",
        component="c",
    )
    node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n", "uid": "u"}}
    registry.record_event(node, type="Normal", reason="X", message="m", component="c")
    assert [item["metadata"]["namespace"] for item in registry.list(resources.EVENTS).items] == ["default"]
    clock.sleep(3700)
    for index in range(201):
        registry.record_event(node, type="Normal", reason="X", message=str(index), component="c")
    assert "m" not in {item["message"] for item in registry.list(resources.EVENTS).items}
