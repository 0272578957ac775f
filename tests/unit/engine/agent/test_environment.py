from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.api.resources import Resource
from hpcbatch.engine.agent.environment import NotReadyError, environment, expand, pod_field, resource_field

POD: dict[str, Any] = {
    "metadata": {"name": "p", "namespace": "n", "uid": "u", "labels": {"a": 'x"y\n', "b": "2"}, "annotations": {}},
    "spec": {"nodeName": "node-0", "containers": [{"name": "c", "resources": {"limits": {"memory": "1Gi"}}}]},
}
FACTS = {"status.podIP": "10.0.0.1", "node.cpu": "8", "node.memory": "4294967296"}
OBJECTS: dict[tuple[str, str], Any] = {
    ("configmaps", "c"): {
        "kind": "ConfigMap",
        "data": {"k": "v"},
        "binaryData": {"raw": base64.b64encode(b"\xff").decode()},
    },
    ("secrets", "s"): {"kind": "Secret", "data": {"k": base64.b64encode(b"geheim").decode()}},
}


def fetch(resource: Resource, name: str) -> Any:
    return OBJECTS.get((resource.plural, name))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("$(A)", "1"),
        ("x$(A)y$(B)", "x1y$(C)"),
        ("$(NONE)", "$(NONE)"),
        ("$$(A)", "$(A)"),
        ("$$", "$"),
        ("$", "$"),
        ("$A", "$A"),
        ("$(A", "$(A"),
        ("$$$(A)", "$1"),
        ("${A}", "${A}"),
        ("$()", "$()"),
        ("", ""),
    ],
)
def test_expand(text: str, expected: str) -> None:
    assert expand(text, {"A": "1", "B": "$(C)"}) == expected


@given(st.text())
def test_doubled_dollars_are_literal(text: str) -> None:
    assert expand(text.replace("$", "$$"), {"A": "1"}) == text


@given(st.text(alphabet="$()AB "))
def test_nothing_is_lost_without_variables(text: str) -> None:
    assert expand(text, {}).replace("$", "") == text.replace("$", "")


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        ({"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)2"}]}, {"A": "1", "B": "12"}),
        ({"env": [{"name": "A"}]}, {"A": ""}),
        ({"envFrom": [{"configMapRef": {"name": "c"}}]}, {"k": "v", "raw": "\udcff"}),
        ({"envFrom": [{"prefix": "S_", "secretRef": {"name": "s"}}]}, {"S_k": "geheim"}),
        ({"envFrom": [{"secretRef": {"name": "none", "optional": True}}]}, {}),
        (
            {"envFrom": [{"secretRef": {"name": "s"}}], "env": [{"name": "k", "value": "over"}]},
            {"k": "over"},
        ),
        ({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]}, {"A": "10.0.0.1"}),
        ({"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "x", "optional": True}}}]}, {}),
    ],
)
def test_environment(container: dict[str, Any], expected: dict[str, str]) -> None:
    assert environment(POD, container, fetch, FACTS) == expected


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"secretKeyRef": {"name": "none", "key": "k"}}, 'secret "none" not found'),
        ({"configMapKeyRef": {"name": "c", "key": "none"}}, "couldn't find key none in ConfigMap n/c"),
        ({"fieldRef": {"fieldPath": "status.nothing"}}, "fieldPath status.nothing is not known to this engine"),
        ({"fileKeyRef": {}}, "variable A: valueFrom fileKeyRef is not known to this engine"),
        (
            {"resourceFieldRef": {"containerName": "x", "resource": "limits.cpu"}},
            "resourceFieldRef: container x is not in the pod",
        ),
    ],
)
def test_missing_sources(source: dict[str, Any], message: str) -> None:
    with pytest.raises(NotReadyError) as caught:
        environment(POD, {"env": [{"name": "A", "valueFrom": source}]}, fetch, FACTS)
    assert (caught.value.reason, str(caught.value)) == ("CreateContainerConfigError", message)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.name", "p"),
        ("metadata.namespace", "n"),
        ("metadata.uid", "u"),
        ("spec.nodeName", "node-0"),
        ("metadata.labels['b']", "2"),
        ("metadata.labels['none']", ""),
        ("metadata.labels", 'a="x\\"y\\n"\nb="2"\n'),
        ("metadata.annotations", ""),
    ],
)
def test_pod_field(path: str, expected: str) -> None:
    assert pod_field(POD, path, FACTS) == expected


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ({"containerName": "c", "resource": "limits.memory"}, "1073741824"),
        ({"containerName": "c", "resource": "limits.memory", "divisor": "1Gi"}, "1"),
        ({"containerName": "c", "resource": "limits.memory", "divisor": "3Mi"}, "342"),
        ({"containerName": "c", "resource": "limits.cpu"}, "8"),
        ({"containerName": "c", "resource": "requests.cpu"}, "0"),
    ],
)
def test_resource_field(reference: dict[str, Any], expected: str) -> None:
    assert resource_field(POD, reference, None, FACTS) == expected
