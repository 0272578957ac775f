"""Protobuf bodies: `kubectl create KIND` and `kubectl auth` send nothing else. Only the kinds that they send to us.

Field numbers are those of the generated.proto files of k8s.io/api.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hpcbatch.engine.registry.statuses import bad_request

MAGIC = b"k8s\x00"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message. `type` is string, bytes, int, bool, quantity, time, intstr or the name of a message;
    `shape` is one, list or map (from strings).
    """

    name: str
    type: str
    shape: str = "one"


def _message(text: str) -> dict[int, Field]:
    """`1 name string; 2 labels map string`."""
    fields: dict[int, Field] = {}
    for entry in text.split(";"):
        number, name, *words = entry.split()
        shape = words[0] if words[0] in {"map", "list"} else "one"
        fields[int(number)] = Field(name, words[-1], shape)
    return fields


_MESSAGES: dict[str, dict[int, Field]] = {
    "Unknown": _message("1 typeMeta TypeMeta; 2 raw raw; 3 contentEncoding string; 4 contentType string"),
    "TypeMeta": _message("1 apiVersion string; 2 kind string"),
    "ObjectMeta": _message(
        "1 name string; 2 generateName string; 3 namespace string; 5 uid string; 6 resourceVersion string; "
        "7 generation int; 8 creationTimestamp time; 11 labels map string; 12 annotations map string; "
        "13 ownerReferences list OwnerReference; 14 finalizers list string"
    ),
    "OwnerReference": _message(
        "1 kind string; 3 name string; 4 uid string; 5 apiVersion string; 6 controller bool; 7 blockOwnerDeletion bool"
    ),
    "ConfigMap": _message("1 metadata ObjectMeta; 2 data map string; 3 binaryData map bytes; 4 immutable bool"),
    "Secret": _message(
        "1 metadata ObjectMeta; 2 data map bytes; 3 type string; 4 stringData map string; 5 immutable bool"
    ),
    "Namespace": _message("1 metadata ObjectMeta; 2 spec NamespaceSpec; 3 status NamespaceStatus"),
    "NamespaceSpec": _message("1 finalizers list string"),
    "NamespaceStatus": _message("1 phase string"),
    "ServiceAccount": _message(
        "1 metadata ObjectMeta; 2 secrets list ObjectReference; 3 imagePullSecrets list LocalObjectReference; "
        "4 automountServiceAccountToken bool"
    ),
    "ObjectReference": _message(
        "1 kind string; 2 namespace string; 3 name string; 4 uid string; 5 apiVersion string; "
        "6 resourceVersion string; 7 fieldPath string"
    ),
    "LocalObjectReference": _message("1 name string"),
    "Service": _message("1 metadata ObjectMeta; 2 spec ServiceSpec"),
    "ServiceSpec": _message(
        "1 ports list ServicePort; 2 selector map string; 3 clusterIP string; 4 type string; 10 externalName string; "
        "13 publishNotReadyAddresses bool; 18 clusterIPs list string"
    ),
    "ServicePort": _message("1 name string; 2 protocol string; 3 port int; 4 targetPort intstr; 5 nodePort int"),
    "PriorityClass": _message(
        "1 metadata ObjectMeta; 2 value int; 3 globalDefault bool; 4 description string; 5 preemptionPolicy string"
    ),
    "SelfSubjectAccessReview": _message("1 metadata ObjectMeta; 2 spec AccessSpec"),
    "AccessSpec": _message("1 resourceAttributes ResourceAttributes; 2 nonResourceAttributes PathAttributes"),
    "ResourceAttributes": _message(
        "1 namespace string; 2 verb string; 3 group string; 4 version string; 5 resource string; 6 subresource string; "
        "7 name string"
    ),
    "PathAttributes": _message("1 path string; 2 verb string"),
    "SelfSubjectRulesReview": _message("1 metadata ObjectMeta; 2 spec RulesSpec"),
    "RulesSpec": _message("1 namespace string"),
    "SelfSubjectReview": _message("1 metadata ObjectMeta"),
    "IntOrString": _message("1 type int; 2 intVal int; 3 strVal string"),
    "Time": _message("1 seconds int; 2 nanos int"),
}


class _MalformedError(Exception):
    pass


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(data) or shift > 63:
            raise _MalformedError
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position += 1
        shift += 7
        if not byte & 0x80:
            return value, position


def _fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """(field number, wire type, value) one after the other."""
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        wire = key & 7
        if wire == 0:
            number, position = _varint(data, position)
            yield key >> 3, wire, number
            continue
        if wire == 2:
            length, position = _varint(data, position)
        elif wire in {1, 5}:
            length = 8 if wire == 1 else 4
        else:
            raise _MalformedError
        if position + length > len(data):
            raise _MalformedError
        yield key >> 3, wire, data[position : position + length]
        position += length


def _value(kind: str, value: int | bytes) -> Any:
    if isinstance(value, int):
        if kind == "bool":
            return bool(value)
        if kind != "int":
            raise _MalformedError
        return value - (1 << 64) if value >= 1 << 63 else value
    match kind:
        case "string":
            return value.decode()
        case "raw":
            return value
        case "bytes":
            return base64.b64encode(value).decode()
        case "intstr":
            parts = _decode("IntOrString", value)
            return parts.get("strVal", "") if parts.get("type") else parts.get("intVal", 0)
        case "time":
            return None  # the server's own times: none that a client may set
        case "int" | "bool":
            raise _MalformedError
    return _decode(kind, value)


def _decode(message: str, data: bytes) -> dict[str, Any]:
    result: dict[str, Any] = {}
    known = _MESSAGES[message]
    for number, _, raw in _fields(data):
        field = known.get(number)
        if field is None:
            continue
        if field.shape == "map":
            if isinstance(raw, int):
                raise _MalformedError
            entry = {index: item for index, _, item in _fields(raw)}
            key = entry.get(1, b"")
            value = entry.get(2, b"")
            if isinstance(key, int):
                raise _MalformedError
            result.setdefault(field.name, {})[key.decode()] = _value(field.type, value)
        elif field.shape == "list":
            result.setdefault(field.name, []).append(_value(field.type, raw))
        else:
            value = _value(field.type, raw)
            # kubectl writes every field; empty text means that it was not given
            if value not in ("", None):
                result[field.name] = value
    return result


def decode(body: bytes) -> dict[str, Any]:
    """A protobuf body as the JSON form of its object. Raises ApiError 400."""
    if not body.startswith(MAGIC):
        raise bad_request("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    try:
        envelope = _decode("Unknown", body[len(MAGIC) :])
        meta: Mapping[str, str] = envelope.get("typeMeta", {})
        kind = meta.get("kind", "")
        if kind not in _MESSAGES:
            raise bad_request(
                f"this server does not read {kind or 'an object without kind'} in protobuf: send JSON "
                f"(kubectl create ... --dry-run=client -o json | kubectl create -f -)"
            )
        obj = _decode(kind, envelope.get("raw", b""))
    except (_MalformedError, UnicodeDecodeError):
        raise bad_request("the body is no valid protobuf message") from None
    return {"apiVersion": meta.get("apiVersion", "v1"), "kind": kind, **obj}
