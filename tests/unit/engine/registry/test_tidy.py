"""What is tidy, pruning and defaults leave as it is; and what the engine itself writes is tidy."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.engine.registry.schema import CompiledSchema
from hpcbatch.engine.registry.tidy import tidy
from hpcbatch.record import crd

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "a": {"type": "integer"},
        "b": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "string", "default": "x"}}}},
        "m": {"type": "object", "additionalProperties": {"type": "string"}},
        "o": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, True),
        ({"a": 1, "b": [{"c": "y"}], "m": {"k": "v"}, "o": {"any": {"thing": [1]}}}, True),
        ({"z": 1}, False),
        ({"b": [{}]}, False),
        ({"b": [{"c": "y", "d": 1}]}, False),
        ({"a": None}, False),
        ({"a": 1.0}, False),
    ],
)
def test_tidy(value: Any, expected: bool) -> None:
    assert tidy(SCHEMA)(value) is expected


SCALARS = st.none() | st.integers(-2, 2) | st.text("xy", max_size=2) | st.floats(0, 2) | st.booleans()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abcmo"), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["a", "b", "m", "o", "z"]), VALUES, max_size=4))
def test_what_is_tidy_stays_as_it_is(value: dict[str, Any]) -> None:
    schema = CompiledSchema.of(SCHEMA)
    if schema.is_tidy(value):
        pruned, unknown = schema.prune(value)
        assert (schema.default(pruned), unknown) == (value, [])


def test_a_record_is_tidy() -> None:
    version = crd.definition()["spec"]["versions"][0]
    schema = CompiledSchema.of(version["schema"]["openAPIV3Schema"])
    status = {"state": "Running", "jobId": "7", "hosts": [{"node": "n", "pod": "p", "cpus": 1}]}
    assert schema.is_tidy({"apiVersion": "v", "kind": "k", "metadata": {"name": "n"}, "status": status})
