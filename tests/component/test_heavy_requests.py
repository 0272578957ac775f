"""Requests that are small and stand for much, take long, or cannot be read: each is refused, or waits alone."""

import gzip
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from hpcbatch.api.port import Object
from hpcbatch.api.resources import CONFIGMAPS
from hpcbatch.engine.registry.writes import Operation
from tests.component.api_server import Cluster, batch_job, cluster

CM = "/api/v1/namespaces/default/configmaps"
BJ = "/apis/hpcbatch.io/v1alpha1/namespaces/default/batchjobs"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
XS = "/apis/y.io/v1/namespaces/default/xs"
YAML, JSON_PATCH = "application/yaml", "application/json-patch+json"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("api")) as running:
        running.request("POST", CM, {"metadata": {"name": "c"}, "data": {"a": "b" * 1000}})
        yield running


def laughs(levels: int, width: int) -> str:
    lines = ['a0: &a0 ["x"]']
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels)]
    return "\n".join(lines)


def merges(levels: int, width: int) -> str:
    lines = ["a0: &a0 {x: y}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * width)}]}}" for n in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("body", "content_type", "code", "words"),
    [
        ("[" * 300_000, "application/json", 400, "nested too deeply"),
        ("[" * 500 + "]" * 500, "application/json", 400, "nested too deeply"),
        ('{"a":' * 200 + "1" + "}" * 200, "application/json", 400, "nested too deeply"),
        ("[" * 300_000, YAML, 400, "nested too deeply"),
        ("[" * 300_000 + "]" * 300_000, YAML, 400, "nested too deeply"),
        (laughs(9, 10), YAML, 413, "too large"),
        (laughs(9, 100), YAML, 400, "aliases"),
        (merges(9, 10), YAML, 400, "too many merged keys"),
        ("a: &a [*a]", YAML, 400, "nested too deeply"),
        ("[1e400]", "application/json", 400, "cannot unmarshal number 1e400"),
        ('{"metadata": {"name": "x"}, "data": 1' + "0" * 5000 + "}", "application/json", 400, "integer string"),
        ("x" * (3 * 1024 * 1024 + 1), "application/json", 413, "too large"),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else None,
)
def test_bodies(api: Cluster, body: str, content_type: str, code: int, words: str) -> None:
    response = api.request("POST", CM, body, Content_Type=content_type)
    assert (response.code, words in response.json["message"]) == (code, True), response.text[:500]


@pytest.mark.parametrize(
    "content",
    [b"no gzip", gzip.compress(b"{" + b"a" * 5000, mtime=0)[:-12], b""],
    ids=["no gzip", "cut short", "empty"],
)
def test_body_that_is_no_gzip(api: Cluster, content: bytes) -> None:
    response = api.request("POST", CM, content, Content_Type="application/json", Content_Encoding="gzip")
    assert response.code == 400
    assert response.json["reason"] == "BadRequest"


def test_gzip_of_much(api: Cluster) -> None:
    content = gzip.compress(b" " * 200_000_000, 9)
    response = api.request("POST", CM, content, Content_Type="application/json", Content_Encoding="gzip")
    assert response.code == 413


@pytest.mark.parametrize(
    ("query", "code"),
    [
        (f"limit={'9' * 5000}", 400),
        (f"limit={'9' * 30}", 400),
        (f"resourceVersion={'9' * 5000}", 400),
        ("limit=-1", 200),
        (f"watch=1&timeoutSeconds={'9' * 5000}", 400),
        (f"continue={'W' * 6000}", 400),
    ],
    ids=lambda value: str(value)[:20],
)
def test_queries(api: Cluster, query: str, code: int) -> None:
    assert api.request("GET", f"{CM}?{query}").code == code


@pytest.mark.parametrize(
    "options",
    [
        {"propagationPolicy": [1]},
        {"preconditions": "x"},
        {"preconditions": {"uid": {}}},
        {"gracePeriodSeconds": True},
        {"gracePeriodSeconds": 10**30},
        {"dryRun": "All"},
        {"orphanDependents": "yes"},
        [],
        5,
    ],
)
def test_delete_options(api: Cluster, options: Any) -> None:
    response = api.request("DELETE", f"{CM}/c", options)
    assert (response.code, response.json["reason"]) == (400, "BadRequest"), response.text


def test_doublings_by_json_patch(api: Cluster) -> None:
    double = [{"op": "copy", "from": "/data", "path": "/data/a"}, {"op": "copy", "from": "/data", "path": "/data/b"}]
    response = api.request("PATCH", f"{CM}/c", double * 30, Content_Type=JSON_PATCH)
    assert response.code in {400, 413}, response.text
    flat = [{"op": "copy", "from": "/data/a", "path": f"/data/x{n}"} for n in range(5000)]
    assert api.request("PATCH", f"{CM}/c", flat, Content_Type=JSON_PATCH).code == 413
    many = [{"op": "test", "path": "/kind", "value": "ConfigMap"}] * 10_001
    assert api.request("PATCH", f"{CM}/c", many, Content_Type=JSON_PATCH).code == 413
    good = [{"op": "copy", "from": "/data/a", "path": "/data/d"}]
    assert api.request("PATCH", f"{CM}/c", good, Content_Type=JSON_PATCH).json["data"]["d"] == "b" * 1000


def test_an_object_does_not_grow_by_and_by(api: Cluster) -> None:
    """Each patch is small enough."""
    assert api.request("POST", CRDS, crd({"type": "object", "x-kubernetes-preserve-unknown-fields": True})).code == 201
    body = {"apiVersion": "y.io/v1", "kind": "X", "metadata": {"name": "grows"}}
    assert api.request("POST", XS, body).code == 201
    codes = []
    for number in range(4):
        patch = {"spec": {f"k{number}": "x" * 1_000_000}}
        codes.append(api.request("PATCH", f"{XS}/grows", patch, Content_Type="application/merge-patch+json").code)
    assert codes == [200, 200, 200, 413]
    assert api.request("DELETE", f"{XS}/grows").code == 200
    assert api.request("DELETE", f"{CRDS}/xs.y.io").code == 200


def test_long_warnings_can_be_read(api: Cluster) -> None:
    body = batch_job("warned", **{f"field\x01\n{number}": 1 for number in range(5000)})
    response = api.request("POST", BJ, body)
    assert response.code == 201
    assert "unknown field" in response.headers["warnings"]
    assert len(response.headers["warnings"]) < 6000


def crd(schema: Any, **names: Any) -> Object:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "xs.y.io"},
        "spec": {
            "group": "y.io",
            "scope": "Namespaced",
            "names": {"plural": "xs", "kind": "X", **names},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["object"]},
        {"type": "object", "required": [[1]]},
        {"type": "object", "required": 5},
        {"type": "object", "properties": {"a": {"type": {}}}},
        {"type": "object", "allOf": [1]},
        {"type": "object", "properties": {"a": {"type": "string", "pattern": 5}}},
        {"type": "object", "properties": {"a": {"type": "integer", "minimum": "x"}}},
        {"type": "object", "additionalProperties": {"type": ["x"]}},
    ],
    ids=str,
)
def test_definitions_of_wrong_types(api: Cluster, schema: Any) -> None:
    response = api.request("POST", CRDS, crd(schema))
    assert response.code in {400, 422}, response.text


def test_a_slow_request_does_not_stop_the_others(api: Cluster) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(operation: Operation, obj: Object, old: Object | None) -> None:
        if obj["metadata"]["name"] == "slow":
            begun.set()
            assert go_on.wait(60)

    api.registry.admission[CONFIGMAPS].validators.append(slow)
    answers: list[int] = []
    body = json.dumps({"metadata": {"name": "slow"}})
    asking = threading.Thread(target=lambda: answers.append(api.request("POST", CM, body).code))
    asking.start()
    try:
        assert begun.wait(60)
        begin = time.monotonic()
        assert api.request("GET", "/healthz").code == 200
        assert api.request("GET", "/apis").code == 200
        assert api.request("GET", "/api/v1").code == 200
        assert time.monotonic() - begin < 20
        assert not answers
    finally:
        go_on.set()
        asking.join(30)
        api.registry.admission[CONFIGMAPS].validators.remove(slow)
    assert answers == [201]
