"""What the quick answer accepts, jsonschema accepts, and so it does almost all that is written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.engine.registry.accepts import accepts, accepts_change
from hpcbatch.engine.registry.faults import faults
from hpcbatch.engine.registry.formats import conforms, matches

TIME = {"type": "string", "format": "date-time"}
OBJECT = {
    "type": "object",
    "required": ["a"],
    "properties": {
        "a": {"type": "integer", "minimum": 1, "maximum": 9},
        "b": {
            "type": "array",
            "items": {"type": ["string", "null"], "maxLength": 2, "pattern": "^[a-z]*$"},
            "maxItems": 2,
        },
        "c": {"type": "object", "additionalProperties": {"type": "boolean"}, "maxProperties": 1},
        "d": {"enum": ["x", "y", None]},
        "e": {"type": ["integer", "string"], "format": "int32"},
        "f": {"type": "number"},
        "t": TIME,
    },
}


def _is_accepted(schema: dict[str, Any], value: Any) -> bool:
    return accepts(schema, matches, conforms)(value)


@pytest.mark.parametrize(
    "value",
    [
        {"a": 1},
        {"a": 9, "b": ["ab", None], "c": {"k": True}, "d": None, "e": "text", "f": 1.5, "t": "2026-01-01T00:00:00Z"},
        {"a": 2, "b": [], "c": {}, "d": "x", "e": 5, "f": 3, "unknown": [1]},
    ],
)
def test_the_usual_is_accepted(value: Any) -> None:
    assert _is_accepted(OBJECT, value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"a": 0},
        {"a": 10},
        {"a": True},
        {"a": 1.0},
        {"a": 1, "b": ["abc"]},
        {"a": 1, "b": ["A"]},
        {"a": 1, "b": ["a\n"]},
        {"a": 1, "b": ["a", "b", "c"]},
        {"a": 1, "b": {}},
        {"a": 1, "b": {"a": "a"}},
        {"a": 1, "c": []},
        {"a": 1, "c": "k"},
        {"a": 1, "c": {"k": 1}},
        {"a": 1, "c": {"k": True, "l": True}},
        {"a": 1, "d": "z"},
        {"a": 1, "e": 2**31},
        {"a": 1, "f": "1"},
        {"a": 1, "t": "yesterday"},
    ],
)
def test_what_is_wrong_is_not(value: Any) -> None:
    assert not _is_accepted(OBJECT, value)


@pytest.mark.parametrize("word", ["oneOf", "anyOf", "allOf"])
def test_what_it_does_not_know_is_left_to_jsonschema(word: str) -> None:
    assert not _is_accepted({word: [{}]}, {})


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 12)
    | st.floats(0, 3)
    | st.sampled_from(["", "a", "xyz", "x", "2026-01-01T00:00:00Z"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcdeft"), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from("abcdeft"), _VALUES, max_size=7))
def test_never_more_than_jsonschema(value: Any) -> None:
    if _is_accepted(OBJECT, value):
        assert not faults(OBJECT, value, "")


@pytest.mark.parametrize(
    ("value", "is_accepted"),
    [
        ({"b": ["ab"], "a": 2}, True),
        ({"b": ["ab"], "a": 0}, False),
        ({"b": ["ab"]}, False),
        ({"a": 1, "b": ["ab"], "c": {"k": 1}}, False),
        ([], False),
    ],
)
def test_of_a_change_what_differs_is_looked_at(value: Any, is_accepted: bool) -> None:
    before = {"a": 1, "b": ["ab"], "f": "wrong, and not looked at"}
    is_right = accepts_change(OBJECT, matches, conforms)
    assert is_right(value, before) is is_accepted
    if type(value) is dict:
        assert is_right({**value, "f": before["f"]}, before) is is_accepted
        assert not is_right({**value, "f": "wrong"}, None)
