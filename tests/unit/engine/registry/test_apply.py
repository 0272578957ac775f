from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.api import resources
from hpcbatch.api.resources import Resource
from hpcbatch.engine.registry import patches
from hpcbatch.engine.registry.apply import apply_object, field_set, merge_key_of
from hpcbatch.engine.registry.kinds import Kind
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Store
from hpcbatch.engine.registry.writes import WriteOptions
from hpcbatch.errors import ApiError, ConflictError

CUSTOM = Kind(
    resource=Resource("x.io", "v1", "things", "Thing"),
    singular="thing",
    list_kind="ThingList",
    custom=True,
    schema={
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "ports": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["port", "protocol"],
                        "items": {"type": "object"},
                    },
                    "tags": {"type": "array", "x-kubernetes-list-type": "set"},
                    "plain": {"type": "array"},
                },
            }
        },
    },
)


class Applier:
    def __init__(self) -> None:
        self.registry = Registry(Store(":memory:"))
        self.kind = self.registry.kind(resources.CONFIGMAPS)

    def apply(self, manager: str, body: dict[str, Any], *, force: bool = False) -> tuple[dict[str, Any], bool]:
        given_ = {"apiVersion": "v1", "kind": "ConfigMap", **body}
        return apply_object(
            self.registry,
            self.kind,
            "c",
            "default",
            given_,
            manager=manager,
            force=force,
            subresource="",
            options=WriteOptions(),
        )

    def data(self) -> dict[str, str]:
        found: dict[str, str] = self.registry.get(resources.CONFIGMAPS, "c", "default").get("data", {})
        return found


def test_fields() -> None:
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "labels": {"a": "b"}},
        "spec": {"containers": [{"name": "m", "image": "i"}], "tolerations": [{"key": "k"}], "nodeSelector": {}},
    }
    assert field_set(body, patches.core_merge_key) == {
        ("f:metadata", "f:labels", "f:a"),
        ("f:spec", "f:containers", 'k:{"name":"m"}', "f:name"),
        ("f:spec", "f:containers", 'k:{"name":"m"}', "f:image"),
        ("f:spec", "f:tolerations"),
        ("f:spec", "f:nodeSelector"),
    }


def test_lists_of_custom_kinds() -> None:
    key = merge_key_of(CUSTOM)
    assert (key(("spec", "ports")), key(("spec", "tags")), key(("spec", "plain"))) == (("port", "protocol"), (), None)
    merged = patches.apply_merge(
        {"spec": {"ports": [{"port": 1, "protocol": "UDP"}], "tags": ["a"], "plain": [1]}},
        {"spec": {"ports": [{"port": 1, "protocol": "TCP"}], "tags": ["b", "a"], "plain": [2]}},
        key,
    )
    assert merged["spec"] == {
        "ports": [{"port": 1, "protocol": "UDP"}, {"port": 1, "protocol": "TCP"}],
        "tags": ["a", "b"],
        "plain": [2],
    }


def test_other_writers_fields_stay() -> None:
    applier = Applier()
    applier.apply("one", {"data": {"a": "1"}})
    applier.registry.patch(resources.CONFIGMAPS, "c", {"data": {"b": "2"}}, "default")
    applier.apply("one", {"data": {"c": "3"}})
    assert applier.data() == {"b": "2", "c": "3"}


def test_two_managers_of_one_field() -> None:
    applier = Applier()
    applier.apply("one", {"data": {"a": "1", "b": "1"}})
    applier.apply("two", {"data": {"a": "1"}})  # the same value: both have it
    applier.apply("one", {"data": {"b": "1"}})
    assert applier.data() == {"a": "1", "b": "1"}
    applier.apply("two", {"data": {}})
    assert applier.data() == {"b": "1"}
    with pytest.raises(ConflictError, match="Apply failed with 1 conflict"):
        applier.apply("two", {"data": {"b": "2"}})


def test_precondition() -> None:
    applier = Applier()
    applier.apply("one", {"data": {"a": "1"}})
    with pytest.raises(ConflictError, match="the object has been modified"):
        applier.apply("one", {"metadata": {"resourceVersion": "1"}, "data": {"a": "2"}})
    with pytest.raises(ApiError, match="managedFields must be nil"):
        applier.apply("one", {"metadata": {"managedFields": [{"manager": "x"}]}})


DATA = st.dictionaries(st.sampled_from("abc"), st.sampled_from("12"), max_size=3)


@given(st.lists(st.tuples(st.sampled_from(["one", "two"]), DATA), min_size=1, max_size=6))
def test_forced_applies_leave_what_the_managers_last_said(steps: list[tuple[str, dict[str, str]]]) -> None:
    applier = Applier()
    said: dict[str, dict[str, str]] = {}
    for manager, data in steps:
        applier.apply(manager, {"data": data}, force=True)
        said[manager] = data
        for other, theirs in said.items():
            if other != manager:
                said[other] = {key: value for key, value in theirs.items() if key not in data}
        wanted: dict[str, str] = {}
        for theirs in said.values():
            wanted |= theirs
        assert applier.data() == wanted
        before = applier.registry.store.revision
        applier.apply(manager, {"data": data}, force=True)
        assert applier.registry.store.revision == before
