"""Texts that objects have alike are one string."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.api.compact import compact, loads, pack, read, share_parts, unpack

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@given(_VALUES)
def test_the_value_is_the_same(value: Any) -> None:
    text = json.dumps(value)
    assert json.dumps(compact(value)) == json.dumps(loads(text)) == text


@given(_VALUES)
def test_what_was_packed_is_the_same(value: Any) -> None:
    packed = pack(value)
    assert json.dumps(unpack(packed)) == json.dumps(value)


def test_the_form_of_packed_objects_is_one_for_all() -> None:
    one, other = ({"metadata": {"name": name, "owners": [{"uid": name}]}} for name in ("a", "b"))
    assert pack(one)[0] is pack(other)[0]


def test_equal_texts_are_one() -> None:
    text = json.dumps({"spec": {"environment": "x" * 1000, "queue": "short"}})
    first, second = loads(text), compact(json.loads(text))
    for name in ("environment", "queue"):
        assert first["spec"][name] is second["spec"][name]
    assert next(iter(first)) is next(iter(second))


def test_many_texts_are_not_kept_for_ever() -> None:
    text = "".join(["first", "-text"])
    kept = compact(text)
    for number in range(5000):
        compact(f"another-{number}")
    assert compact("".join(["first", "-text"])) is not kept


def test_equal_parts_are_one() -> None:
    text = json.dumps({"kind": "J", "spec": {"chunks": [{"cpus": 1}], "name": "a", "own": {}}})
    first, second = read(text), compact(json.loads(text))
    share_parts(second["spec"])
    assert first == second == json.loads(text)
    assert first["spec"]["chunks"] is second["spec"]["chunks"]
    assert first["spec"] is not second["spec"], "the server still adds to it"


def test_what_only_python_takes_for_equal_stays_apart() -> None:
    parts: list[Any] = [[1], [True], [1.0], {"a": 1, "b": 2}, {"b": 2, "a": 1}]
    values = [{"part": part} for part in parts]
    for value in values:
        share_parts(value)
    assert all(value["part"] is part for value, part in zip(values, parts, strict=True))


def test_large_parts_are_not_looked_for() -> None:
    one, other = {"data": ["x" * 2000]}, {"data": ["x" * 2000]}
    share_parts(one)
    share_parts(other)
    assert one["data"] is not other["data"]
