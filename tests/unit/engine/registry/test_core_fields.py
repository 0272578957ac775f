from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.api import resources
from hpcbatch.engine.registry.core_fields import clean_core, component_schemas, root_schema
from hpcbatch.engine.registry.core_types import TYPES
from hpcbatch.engine.registry.kinds import BUILTIN
from hpcbatch.errors import ApiError

KINDS = {kind.resource: kind for kind in BUILTIN}
PODS = KINDS[resources.PODS]
SIMPLE = {"str", "int", "bool", "num", "time", "bytes", "ios", "qty", "any", "schemaOrBool"}


def pod(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def test_every_type_is_known() -> None:
    for name, text in TYPES.items():
        for entry in text.split():
            field, _, word = entry.partition(":")
            assert word.strip("[]{}") in SIMPLE | TYPES.keys(), f"{name}.{field}"


def test_every_builtin_kind_has_a_type() -> None:
    assert {kind.resource.kind for kind in BUILTIN} <= TYPES.keys()


def test_cleaning() -> None:
    given_ = pod(
        containers=[{"name": "a", "comand": ["x"], "args": None, "resources": {"requests": {"cpu": 1}}}],
        foo=1,
        terminationGracePeriodSeconds=5.0,
        volumes=[{"name": "v", "csi": {"anything": None, "x": 1}}],
    )
    cleaned, unknown = clean_core(PODS, given_, None)
    assert unknown == ["spec.containers[0].comand", "spec.foo"]
    assert cleaned["spec"] == {
        "containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}],
        "terminationGracePeriodSeconds": 5,
        "volumes": [{"name": "v", "csi": {"x": 1}}],
    }
    assert isinstance(cleaned["spec"]["terminationGracePeriodSeconds"], int)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"containers": {}}, "object into Go struct field PodSpec.spec.containers of type []v1.Container"),
        ({"containers": [3]}, "number into Go struct field PodSpec.spec.containers of type v1.Container"),
        (
            {"containers": [{"command": "sleep"}]},
            "string into Go struct field Container.spec.containers.command of type []string",
        ),
        (
            {"containers": [{"env": [{"name": 1}]}]},
            "number into Go struct field EnvVar.spec.containers.env.name of type string",
        ),
        ({"nodeSelector": {"a": 1}}, "number into Go struct field PodSpec.spec.nodeSelector of type string"),
        ({"hostNetwork": "yes"}, "string into Go struct field PodSpec.spec.hostNetwork of type bool"),
        (
            {"activeDeadlineSeconds": 1.5},
            "number into Go struct field PodSpec.spec.activeDeadlineSeconds of type int64",
        ),
        ({"activeDeadlineSeconds": True}, "bool into Go struct field PodSpec.spec.activeDeadlineSeconds of type int64"),
    ],
)
def test_wrong_types(spec: dict[str, Any], text: str) -> None:
    with pytest.raises(ApiError) as caught:
        clean_core(PODS, pod(**spec), None)
    assert (caught.value.code, caught.value.message) == (
        400,
        f'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal {text}',
    )


def test_shared_parts_stay_shared() -> None:
    old = pod(containers=[])
    cleaned, _ = clean_core(PODS, {**old, "status": {"phase": "x"}}, old)
    assert cleaned["spec"] is old["spec"]


FIELDS = sorted({entry.partition(":")[0] for text in TYPES.values() for entry in text.split()})
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 9) | st.just(1.0) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=3),
    max_leaves=12,
)


@given(st.sampled_from(BUILTIN), st.dictionaries(st.sampled_from([*FIELDS, "spec", "status"]), VALUES, max_size=3))
def test_any_object_is_cleaned_or_refused(kind: Any, obj: dict[str, Any]) -> None:
    obj.pop("metadata", None)
    try:
        cleaned, _ = clean_core(kind, obj, None)
    except ApiError as error:
        assert error.code == 400
    else:
        assert clean_core(kind, cleaned, None) == (cleaned, [])


def test_openapi_refers_only_to_what_is_there() -> None:
    schemas = component_schemas("", "v1")
    text = repr([schemas, [root_schema(kind) for kind in BUILTIN if not kind.resource.group]])
    for part in text.split("#/components/schemas/")[1:]:
        assert part.split("'")[0] in schemas
