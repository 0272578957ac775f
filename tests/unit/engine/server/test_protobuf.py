from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.engine.server.protobuf import MAGIC, decode
from hpcbatch.errors import ApiError


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def entry(key: str, value: bytes | str) -> bytes:
    return field(1, key) + field(2, value)


def body(api_version: str, kind: str, raw: bytes) -> bytes:
    return MAGIC + field(1, field(1, api_version) + field(2, kind)) + field(2, raw) + field(3, "") + field(4, "")


META = field(1, "c1") + field(2, "") + field(3, "ns") + field(8, b"") + field(11, entry("a", "b"))


@pytest.mark.parametrize(
    ("content", "obj"),
    [
        pytest.param(
            body("v1", "ConfigMap", field(1, META) + field(2, entry("k", "v")) + field(3, entry("b", b"\x00\xff"))),
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "data": {"k": "v"},
                "binaryData": {"b": "AP8="},
                "metadata": {"name": "c1", "namespace": "ns", "labels": {"a": "b"}},
            },
            id="configmap",
        ),
        pytest.param(
            body("v1", "Secret", field(1, META) + field(2, entry("k", b"v")) + field(3, "Opaque") + field(5, 1)),
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "data": {"k": "dg=="},
                "type": "Opaque",
                "immutable": True,
                "metadata": {"name": "c1", "namespace": "ns", "labels": {"a": "b"}},
            },
            id="secret",
        ),
        pytest.param(
            body("v1", "Namespace", field(1, field(1, "n")) + field(2, field(1, "kubernetes")) + field(3, b"")),
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": "n"},
                "spec": {"finalizers": ["kubernetes"]},
                "status": {},
            },
            id="namespace",
        ),
        pytest.param(
            body(
                "v1",
                "Service",
                field(1, field(1, "s"))
                + field(
                    2,
                    field(1, field(3, 80) + field(4, field(1, 1) + field(3, "http")))
                    + field(2, entry("a", "b"))
                    + field(3, "None"),
                ),
            ),
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "s"},
                "spec": {"ports": [{"port": 80, "targetPort": "http"}], "selector": {"a": "b"}, "clusterIP": "None"},
            },
            id="service",
        ),
        pytest.param(
            body("scheduling.k8s.io/v1", "PriorityClass", field(1, field(1, "p")) + field(2, -5)),
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "p"}, "value": -5},
            id="negative-number",
        ),
        pytest.param(
            body(
                "authorization.k8s.io/v1",
                "SelfSubjectAccessReview",
                field(1, b"") + field(2, field(1, field(1, "ns") + field(2, "get") + field(5, "pods"))),
            ),
            {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SelfSubjectAccessReview",
                "metadata": {},
                "spec": {"resourceAttributes": {"namespace": "ns", "verb": "get", "resource": "pods"}},
            },
            id="review",
        ),
    ],
)
def test_decode(content: bytes, obj: dict[str, Any]) -> None:
    assert decode(content) == obj


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{}", "expected prefix"),
        (body("apps/v1", "Deployment", b""), "does not read Deployment in protobuf"),
        (body("v1", "ConfigMap", b"\xff\xff"), "no valid protobuf message"),
        (body("v1", "ConfigMap", field(1, b"\x0a\x7fx")), "no valid protobuf message"),
    ],
)
def test_bad_bodies(content: bytes, message: str) -> None:
    with pytest.raises(ApiError, match=message) as caught:
        decode(content)
    assert caught.value.code == 400


@given(st.binary(max_size=60))
def test_any_bytes_are_an_object_or_a_400(raw: bytes) -> None:
    for kind in ("ConfigMap", "Service", "SelfSubjectAccessReview"):
        try:
            assert decode(body("v1", kind, raw))["kind"] == kind
        except ApiError as error:
            assert error.code == 400
