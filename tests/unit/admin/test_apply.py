"""What a merge patch would change."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.admin.apply import differences, without_nulls

KEYS = st.sampled_from(["a", "b", "c"])
LEAVES = st.one_of(st.booleans(), st.integers(0, 3), st.text("xy", max_size=2), st.lists(st.integers(0, 2), max_size=2))
OBJECTS = st.recursive(LEAVES, lambda inner: st.dictionaries(KEYS, inner, max_size=3), max_leaves=8)
TREES = st.dictionaries(KEYS, OBJECTS, max_size=3)
PATCHES = st.dictionaries(KEYS, st.one_of(st.none(), OBJECTS), max_size=3)


def merged(found: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(found) if isinstance(found, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


@pytest.mark.parametrize(
    ("found", "wanted", "lines"),
    [
        ({"a": "1"}, {"a": "1"}, []),
        ({"a": "1"}, {"a": "2"}, ["a: '1' → '2'"]),
        ({}, {"a": "2"}, ["a: '2'"]),
        ({"a": "1"}, {"a": None}, ["a: '1' → nothing"]),
        ({}, {"a": None}, []),
        ({"x": {"a": "1", "b": "2"}}, {"x": {"a": "1"}}, []),
        ({"x": {"a": "1"}}, {"x": {"a": "1", "b": "2"}}, ["b: '2'"]),
        ({}, {"x": {"a": "1"}}, ["a: '1'"]),
        ({"x": [1]}, {"x": [1, 2]}, ["x: [1] → [1, 2]"]),
        ({"x": "s"}, {"x": {"a": 1}}, ["x: 's' → {'a': 1}"]),
        ({"x": False}, {"x": {}}, ["x: False → {}"]),
    ],
)
def test_differences(found: dict[str, Any], wanted: dict[str, Any], lines: list[str]) -> None:
    assert list(differences(found, wanted)) == lines


@given(TREES, PATCHES)
def test_after_the_patch_there_is_no_difference(found: dict[str, Any], patch: dict[str, Any]) -> None:
    assert not list(differences(merged(found, patch), patch))


@given(TREES, PATCHES)
def test_no_difference_means_that_the_patch_would_change_no_value(found: dict[str, Any], patch: dict[str, Any]) -> None:
    def leaves(value: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
        if not isinstance(value, dict):
            return {path: value}
        return {p: leaf for key, item in value.items() for p, leaf in leaves(item, (*path, key)).items()}

    if not list(differences(found, patch)):
        assert leaves(merged(found, patch)) == leaves(found)


@given(PATCHES)
def test_creating_is_patching_nothing(patch: dict[str, Any]) -> None:
    assert without_nulls(patch) == merged({}, patch)
