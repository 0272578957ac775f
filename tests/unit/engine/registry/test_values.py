import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.clone import clone
from hpcbatch.engine.registry.values import MAX_BYTES, check_size, is_small, parse_path, read_path, same, share
from hpcbatch.errors import ApiError

OBJ = {"a": {"b": [1, {"c": "x"}], "d.e/f": "y"}, "conditions": [{"type": "A"}, {"type": "B", "status": "True"}]}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (".a.b[0]", 1),
        (".a.b[1].c", "x"),
        (".a.b[2]", None),
        (".a['d.e/f']", "y"),
        (".a.d\\.e/f", "y"),
        (".a.b[*]", 1),
        ('.conditions[?(@.type=="B")].status', "True"),
        (".conditions[?(@.type=='C')].status", None),
        (".a.b.c", None),
        (".x.y", None),
        ("", OBJ),
        (".a[0]", None),
    ],
)
def test_read_path(path: str, value: Any) -> None:
    assert read_path(OBJ, path) == value


@pytest.mark.parametrize("path", [".a[", ".a[x]", "..a", ".a[?(@.b>1)]", "a.b", ".a]"])
def test_bad_paths(path: str) -> None:
    with pytest.raises(ValueError, match="is not a simple JSON path"):
        parse_path(path)


JSON = st.recursive(
    st.none() | st.integers(0, 3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
)


@given(JSON)
def test_clone_is_equal_and_apart(value: Any) -> None:
    copy = clone(value)
    assert copy == value
    if isinstance(value, (dict, list)):
        assert copy is not value


@given(st.dictionaries(st.sampled_from("ab"), JSON), st.dictionaries(st.sampled_from("ab"), JSON))
def test_share_changes_nothing(new: dict[str, Any], old: dict[str, Any]) -> None:
    wanted = clone(new)
    shared = share(new, old)
    assert shared == wanted
    assert all(
        shared[key] is old[key] for key in shared if isinstance(shared[key], dict) and old.get(key) == shared[key]
    )


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"a": True}, False),
        ([0], [False], False),
        ({"a": None}, {"b": None}, False),
        ({"a": None}, {}, False),
        ([1, [2]], [1, [2]], True),
        ([1], [1, 2], False),
        ("a", "a", True),
    ],
)
def test_same(one: Any, other: Any, equal: bool) -> None:
    assert same(one, other) is equal
    assert same(other, one) is equal


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = {"a": [value]}
    return value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": [{"b": "}{]["}], "c": {}}, True),
        ({"a": [{"b": "}{][" * 30}], "c": {}}, False),
        ([[]] * 60, True),
        ({"a": [{"b": "text"}], "c": {}, "d": [[]]}, True),
        (nested(20), True),
        (nested(60), False),
        ({"a": "x" * MAX_BYTES}, False),
    ],
)
def test_is_small(value: Any, expected: bool) -> None:
    assert is_small(json.dumps(value)) is expected


@given(
    st.recursive(st.text("{}[]ab", max_size=4), lambda inner: st.lists(inner) | st.dictionaries(st.text("{}"), inner))
)
def test_what_is_small_is_not_refused(value: Any) -> None:
    if is_small(json.dumps(value)):
        try:
            check_size(value)
        except ApiError as error:
            pytest.fail(str(error))
