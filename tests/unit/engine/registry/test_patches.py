from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.clone import clone
from hpcbatch.engine.registry import patches
from hpcbatch.errors import ApiError

# Cases of RFC 7386, appendix A, as far as both sides are objects.
RFC_7386 = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("target", "patch", "result"), RFC_7386)
def test_merge_patch(target: dict[str, Any], patch: dict[str, Any], result: dict[str, Any]) -> None:
    before = clone(target)
    assert patches.merge_patch(target, patch) == result
    assert target == before


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), JSON, max_size=3)


@given(OBJECTS, OBJECTS)
def test_merge_patch_twice_is_once(target: dict[str, Any], patch: dict[str, Any]) -> None:
    once = patches.merge_patch(target, patch)
    assert patches.merge_patch(once, patch) == once


@pytest.mark.parametrize("patch", [[], "x", 1, None])
def test_merge_patch_must_be_an_object(patch: Any) -> None:
    with pytest.raises(ApiError, match="error decoding patch: json: cannot unmarshal") as caught:
        patches.merge_patch({}, patch)
    assert caught.value.code == 400


def test_json_patch() -> None:
    target = {"a": {"b": [1, 2]}}
    done = patches.json_patch(target, [{"op": "add", "path": "/a/b/-", "value": 3}, {"op": "remove", "path": "/a/b/0"}])
    assert done == {"a": {"b": [2, 3]}}
    assert target == {"a": {"b": [1, 2]}}


@pytest.mark.parametrize(
    "patch",
    [
        [{"op": "remove", "path": "/x"}],
        [{"op": "replace", "path": "/x/y", "value": 1}],
        [{"op": "test", "path": "/a", "value": 2}],
        [{"op": "add", "path": "/a/b/c", "value": 2}],
        [{"op": "add", "path": "/l/9", "value": 2}],
        [{"op": "nosuch", "path": "/a"}],
        [{"op": "replace", "path": "", "value": 1}],
        [1],
        [{}],
    ],
)
def test_json_patch_that_does_not_fit(patch: Any) -> None:
    with pytest.raises(ApiError) as caught:
        patches.json_patch({"a": 1, "l": []}, patch)
    assert (caught.value.code, caught.value.message) == (
        422,
        "the server rejected our request due to an error in our request",
    )


def test_json_patch_must_be_a_list() -> None:
    with pytest.raises(ApiError) as caught:
        patches.json_patch({}, {})
    assert caught.value.message == (
        "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
    )


STRATEGIC = [
    pytest.param(
        {"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}},
        {
            "spec": {
                "$setElementOrder/containers": [{"name": "a"}, {"name": "b"}],
                "containers": [{"name": "b", "image": "2"}],
            }
        },
        {"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]}},
        id="set-image",
    ),
    pytest.param(
        {"spec": {"ports": [{"port": 80}, {"port": 82}]}},
        {
            "spec": {
                "$setElementOrder/ports": [{"port": 80}, {"port": 81}],
                "ports": [{"name": "q", "port": 81}, {"$patch": "delete", "port": 82}],
            }
        },
        {"spec": {"ports": [{"port": 80}, {"port": 81, "name": "q"}]}},
        id="service-ports",
    ),
    pytest.param(
        {"data": {"a": "1", "b": "2"}, "metadata": {"labels": {"x": "y"}}},
        {"data": {"b": None}, "metadata": {"labels": None}},
        {"data": {"a": "1"}, "metadata": {}},
        id="configmap",
    ),
    pytest.param(
        {"status": {"conditions": [{"type": "A", "status": "x"}, {"type": "B", "status": "y"}]}},
        {"status": {"conditions": [{"type": "B", "status": "z"}, {"type": "C", "status": "1"}]}},
        {
            "status": {
                "conditions": [{"type": "A", "status": "x"}, {"type": "B", "status": "z"}, {"type": "C", "status": "1"}]
            }
        },
        id="conditions",
    ),
    pytest.param(
        {"spec": {"tolerations": [{"key": "a"}]}},
        {"spec": {"tolerations": [{"key": "b"}]}},
        {"spec": {"tolerations": [{"key": "b"}]}},
        id="tolerations-are-replaced",
    ),
    pytest.param(
        {"metadata": {"finalizers": ["a", "b"]}},
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c", "b"]}},
        {"metadata": {"finalizers": ["b", "c"]}},
        id="finalizers-are-a-set",
    ),
    pytest.param(
        {"spec": {"containers": [{"name": "a", "env": [{"name": "X", "value": "1"}]}]}},
        {"spec": {"containers": [{"name": "a", "env": [{"name": "Y", "value": "2"}]}]}},
        {"spec": {"containers": [{"name": "a", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]}]}},
        id="env",
    ),
    pytest.param(
        {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}},
        {"spec": {"volumes": [{"$retainKeys": ["name", "hostPath"], "name": "v", "hostPath": {"path": "/"}}]}},
        {"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}},
        id="retain-keys",
    ),
    pytest.param({"spec": {"a": 1}}, {"spec": {"$patch": "replace", "b": 2}}, {"spec": {"b": 2}}, id="replace-map"),
    pytest.param(
        {"spec": {"containers": [{"name": "a"}]}},
        {"spec": {"containers": [{"$patch": "replace"}, {"name": "b"}]}},
        {"spec": {"containers": [{"name": "b"}]}},
        id="replace-list",
    ),
    pytest.param(
        {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}},
        {"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}},
        {"spec": {"containers": [{"name": "b"}, {"name": "a"}]}},
        id="order-only",
    ),
]


@pytest.mark.parametrize(("target", "patch", "result"), STRATEGIC)
def test_strategic_patch(target: dict[str, Any], patch: dict[str, Any], result: dict[str, Any]) -> None:
    before = clone(target)
    assert patches.strategic_patch(target, patch) == result
    assert target == before


@given(OBJECTS, OBJECTS)
def test_strategic_is_merge_where_no_list_is_keyed(target: dict[str, Any], patch: dict[str, Any]) -> None:
    assert patches.strategic_patch(target, patch) == patches.merge_patch(target, patch)


def test_strategic_patch_needs_the_key() -> None:
    with pytest.raises(ApiError, match="does not contain declared merge key: name"):
        patches.strategic_patch({"spec": {"containers": [{"name": "a"}]}}, {"spec": {"containers": [{"image": "x"}]}})
