from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.engine.registry.schema import CompiledSchema

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["script"],
            "properties": {
                "script": {"type": "string", "minLength": 1, "maxLength": 8},
                "queue": {"type": "string", "pattern": "^[a-z]+$", "default": "main"},
                "tasks": {"type": "integer", "minimum": 1, "maximum": 64, "default": 1},
                "mode": {"type": "string", "enum": ["fast", "slow"]},
                "note": {"type": "string", "nullable": True},
                "size": {"x-kubernetes-int-or-string": True},
                "start": {"type": "string", "format": "date-time"},
                "share": {"type": "number", "exclusiveMinimum": True, "minimum": 0},
                "env": {
                    "type": "array",
                    "maxItems": 3,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {"name": {"type": "string"}, "value": {"type": "string", "default": "-"}},
                    },
                },
                "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "labels": {"type": "object", "maxProperties": 2, "additionalProperties": {"type": "string"}},
                "steps": {"type": "array", "minItems": 1, "items": {"type": "string"}},
            },
        },
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
    },
}
COMPILED = CompiledSchema.of(SCHEMA)


def of(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "K", "metadata": {"name": "x"}, "spec": {"script": "s", **spec}}


@pytest.mark.parametrize(
    ("spec", "reason", "field", "message"),
    [
        (
            {"tasks": 99},
            "FieldValueInvalid",
            "spec.tasks",
            "Invalid value: 99: spec.tasks in body should be less than or equal to 64",
        ),
        (
            {"tasks": 0},
            "FieldValueInvalid",
            "spec.tasks",
            "Invalid value: 0: spec.tasks in body should be greater than or equal to 1",
        ),
        (
            {"tasks": "2"},
            "FieldValueTypeInvalid",
            "spec.tasks",
            'Invalid value: "string": spec.tasks in body must be of type integer: "string"',
        ),
        (
            {"tasks": 2.5},
            "FieldValueTypeInvalid",
            "spec.tasks",
            'Invalid value: "number": spec.tasks in body must be of type integer: "number"',
        ),
        (
            {"tasks": True},
            "FieldValueTypeInvalid",
            "spec.tasks",
            'Invalid value: "boolean": spec.tasks in body must be of type integer: "boolean"',
        ),
        ({"env": [{}]}, "FieldValueRequired", "spec.env[0].name", "Required value"),
        (
            {"mode": "x"},
            "FieldValueNotSupported",
            "spec.mode",
            'Unsupported value: "x": supported values: "fast", "slow"',
        ),
        (
            {"queue": "MAIN9"},
            "FieldValueInvalid",
            "spec.queue",
            "Invalid value: \"MAIN9\": spec.queue in body should match '^[a-z]+$'",
        ),
        (
            {"script": ""},
            "FieldValueInvalid",
            "spec.script",
            'Invalid value: "": spec.script in body should be at least 1 chars long',
        ),
        ({"script": "123456789"}, "FieldValueTooLong", "spec.script", "Too long: may not be more than 8 bytes"),
        (
            {"size": True},
            "FieldValueTypeInvalid",
            "spec.size",
            'Invalid value: "boolean": spec.size in body must be of type integer,string: "boolean"',
        ),
        (
            {"start": "bad"},
            "FieldValueInvalid",
            "spec.start",
            'Invalid value: "bad": start in body must be of type date-time: "bad"',
        ),
        (
            {"share": 0},
            "FieldValueInvalid",
            "spec.share",
            "Invalid value: 0: spec.share in body should be greater than 0",
        ),
        (
            {"env": [{"name": "a"}, {"name": "a"}]},
            "FieldValueDuplicate",
            "spec.env[1]",
            'Duplicate value: {"name":"a"}',
        ),
        ({"tags": ["a", "a"]}, "FieldValueDuplicate", "spec.tags[1]", 'Duplicate value: "a"'),
        (
            {"env": [{"name": str(i)} for i in range(4)]},
            "FieldValueTooMany",
            "spec.env",
            "Too many: 4: must have at most 3 items",
        ),
        (
            {"steps": []},
            "FieldValueInvalid",
            "spec.steps",
            "Invalid value: 0: spec.steps in body should have at least 1 items",
        ),
        (
            {"steps": None},
            "FieldValueTypeInvalid",
            "spec.steps",
            'Invalid value: "null": spec.steps in body must be of type array: "null"',
        ),
        (
            {"labels": {"a": "", "b": "", "c": ""}},
            "FieldValueInvalid",
            "spec.labels",
            "Invalid value: 3: spec.labels in body should have at most 2 properties",
        ),
    ],
)
def test_faults(spec: dict[str, Any], reason: str, field: str, message: str) -> None:
    causes = COMPILED.check(COMPILED.default(of(**spec)))
    assert [(cause.reason, cause.field, cause.message) for cause in causes] == [(reason, field, message)]


def test_several_faults_are_all_told() -> None:
    causes = COMPILED.check({"spec": {"tasks": 99, "env": [{}], "mode": "x"}})
    assert {cause.field for cause in causes} == {"spec.tasks", "spec.env[0].name", "spec.mode", "spec.script"}


def test_unknown_fields_are_dropped_and_told() -> None:
    obj = of(foo=1, env=[{"name": "a", "zz": 1}], free={"anything": {"goes": 1}}, labels={"any": "x"}) | {"bar": 1}
    pruned, unknown = COMPILED.prune(obj)
    assert sorted(unknown) == ["bar", "spec.env[0].zz", "spec.foo"]
    assert pruned["spec"] == {
        "script": "s",
        "env": [{"name": "a"}],
        "free": {"anything": {"goes": 1}},
        "labels": {"any": "x"},
    }
    assert pruned["metadata"] == {"name": "x"}


def test_defaults() -> None:
    filled = COMPILED.default(of(env=[{"name": "a"}], tasks=None, note=None))
    assert filled["spec"] == {
        "script": "s",
        "queue": "main",
        "tasks": 1,
        "note": None,
        "env": [{"name": "a", "value": "-"}],
    }
    assert COMPILED.check(filled) == []


def test_defaults_are_copies() -> None:
    compiled = CompiledSchema.of(
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}, "default": []}}}
    )
    compiled.default({})["a"].append("x")
    assert compiled.default({}) == {"a": []}


def test_whole_floats_are_integers() -> None:
    pruned, _ = COMPILED.prune(of(tasks=2.0, share=1.0, free={"a": 1.0}))
    assert isinstance(pruned["spec"]["tasks"], int)
    assert isinstance(pruned["spec"]["share"], float)


def test_fields_that_the_old_object_shares_are_not_checked_again() -> None:
    old = {"spec": {"tasks": 99}, "status": {}}
    assert COMPILED.check({"spec": old["spec"], "status": {"phase": "x"}}, old) == []
    assert [cause.field for cause in COMPILED.check({"spec": old["spec"], "status": {"phase": 1}}, old)] == [
        "status.phase"
    ]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 70) | st.sampled_from([0.5, 2.0]) | st.text("ab", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*SCHEMA["properties"]["spec"]["properties"], "x", "name"]), inner, max_size=4
        )
    ),
    max_leaves=10,
)


@given(VALUES)
def test_any_value_is_cleaned_and_judged(value: Any) -> None:
    pruned, _ = COMPILED.prune({"metadata": {}, "spec": value})
    filled = COMPILED.default(pruned)
    causes = COMPILED.check(filled)
    assert all(cause.field and cause.message for cause in causes)
    assert COMPILED.prune(filled) == (filled, [])
    assert COMPILED.default(filled) == filled
