"""The types of the fields of Volcano Jobs and Queues that admission reads, and the refusals of Go's JSON decoder.

Mutating admission runs before the CRD's schema, so it gets any JSON; after `check_shape` the other code may rely on
these types. Unlisted fields are left to the schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hpcbatch.dataclass import dataclass
from hpcbatch.errors import HpcBatchError
from hpcbatch.units import parse_quantity
from hpcbatch.volcano.job_view import parse_go_duration


@dataclass(frozen=True, slots=True)
class Scalar:
    go: str
    types: tuple[type, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    item: Shape

    @property
    def go(self) -> str:
        return f"[]{self.item.go}"


@dataclass(frozen=True, slots=True)
class MapOf:
    value: Shape

    @property
    def go(self) -> str:
        return f"map[string]{self.value.go}"


@dataclass(frozen=True, slots=True)
class Struct:
    name: str
    fields: Mapping[str, Shape]
    package: str = "v1alpha1"

    @property
    def go(self) -> str:
        return f"{self.package}.{self.name}"


Shape = Scalar | ListOf | MapOf | Struct

_INT = Scalar("int32", (int,))
_TEXT = Scalar("string", (str,))
_BOOL = Scalar("bool", (bool,))
_QUANTITY = Scalar("resource.Quantity", (str, int, float))
_DURATION = Scalar("string", (str,))
_RESOURCES = Struct("ResourceRequirements", {"requests": MapOf(_QUANTITY), "limits": MapOf(_QUANTITY)}, "v1")
_CONTAINER = Struct("Container", {"name": _TEXT, "image": _TEXT, "resources": _RESOURCES}, "v1")
_POD = Struct(
    "PodSpec",
    {
        "hostNetwork": _BOOL,
        "dnsPolicy": _TEXT,
        "restartPolicy": _TEXT,
        "hostname": _TEXT,
        "subdomain": _TEXT,
        "priorityClassName": _TEXT,
        "schedulerName": _TEXT,
        "containers": ListOf(_CONTAINER),
        "initContainers": ListOf(_CONTAINER),
    },
    "v1",
)
_TEMPLATE = Struct(
    "PodTemplateSpec",
    {"metadata": Struct("ObjectMeta", {"labels": MapOf(_TEXT), "annotations": MapOf(_TEXT)}, "v1"), "spec": _POD},
    "v1",
)
_POLICY = Struct(
    "LifecyclePolicy",
    {"event": _TEXT, "events": ListOf(_TEXT), "action": _TEXT, "exitCode": _INT, "timeout": _DURATION},
)
_PARTITION = Struct("PartitionPolicySpec", {"totalPartitions": _INT, "partitionSize": _INT, "minPartitions": _INT})
_TASK = Struct(
    "TaskSpec",
    {
        "name": _TEXT,
        "replicas": _INT,
        "minAvailable": _INT,
        "maxRetry": _INT,
        "topologyPolicy": _TEXT,
        "template": _TEMPLATE,
        "policies": ListOf(_POLICY),
        "partitionPolicy": _PARTITION,
        "dependsOn": Struct("DependsOn", {"name": ListOf(_TEXT), "iteration": _TEXT}),
    },
)
_ANYTHING = Scalar("any", (object,))
_VOLUME = Struct("VolumeSpec", {"mountPath": _TEXT, "volumeClaimName": _TEXT, "volumeClaim": MapOf(_ANYTHING)})
_TOPOLOGY = Struct("NetworkTopologySpec", {"highestTierAllowed": _INT, "highestTierName": _TEXT, "mode": _TEXT})
JOB_SPEC = Struct(
    "JobSpec",
    {
        "schedulerName": _TEXT,
        "queue": _TEXT,
        "priorityClassName": _TEXT,
        "minAvailable": _INT,
        "maxRetry": _INT,
        "minSuccess": _INT,
        "ttlSecondsAfterFinished": _INT,
        "plugins": MapOf(ListOf(_TEXT)),
        "policies": ListOf(_POLICY),
        "tasks": ListOf(_TASK),
        "volumes": ListOf(_VOLUME),
        "networkTopology": _TOPOLOGY,
    },
)
QUEUE_SPEC = Struct(
    "QueueSpec",
    {
        "weight": _INT,
        "parent": _TEXT,
        "reclaimable": _BOOL,
        "dequeueStrategy": _TEXT,
        "capability": MapOf(_QUANTITY),
        "deserved": MapOf(_QUANTITY),
        "guarantee": Struct("Guarantee", {"resource": MapOf(_QUANTITY)}),
    },
)


def check_shape(value: Any, shape: Shape, path: str, holder: str = "") -> None:
    """Raises HpcBatchError with the message of Go's decoder. `path` is `spec.tasks.replicas`, `holder` the struct of
    the field. Null is an absent value, except in a list.
    """
    match shape:
        case Scalar():
            is_wrong_bool = isinstance(value, bool) and int in shape.types  # Python's bool is an int
            if not isinstance(value, shape.types) or is_wrong_bool:
                raise _cannot_read(value, holder, path, shape.go)
            _check_text(value, shape)
        case ListOf():
            if not isinstance(value, list):
                raise _cannot_read(value, holder, path, shape.go)
            for item in value:
                check_shape(item, shape.item, path, holder)
        case MapOf():
            if not isinstance(value, dict):
                raise _cannot_read(value, holder, path, shape.go)
            for item in value.values():
                if item is not None:
                    # Go names the map's values by the type they should have.
                    check_shape(item, shape.value, path, holder)
        case Struct():
            if not isinstance(value, dict):
                raise _cannot_read(value, holder, path, shape.go)
            for name, part in shape.fields.items():
                if value.get(name) is not None:
                    check_shape(value[name], part, f"{path}.{name}", shape.name)


def _check_text(value: Any, shape: Scalar) -> None:
    if shape is _DURATION:
        parse_go_duration(value)
    elif shape is _QUANTITY:
        _check_quantity(value)


def _check_quantity(value: Any) -> None:
    try:
        parse_quantity(value)
    except HpcBatchError:
        pattern = r"^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
        raise HpcBatchError(f"quantities must match the regular expression '{pattern}'") from None


def _cannot_read(value: Any, holder: str, path: str, go: str) -> HpcBatchError:
    if isinstance(value, bool) or value is None:
        word = "null" if value is None else "bool"
    elif isinstance(value, float):
        word = f"number {value}"
    else:
        word = {str: "string", dict: "object", list: "array", int: "number"}.get(type(value), type(value).__name__)
    return HpcBatchError(f"json: cannot unmarshal {word} into Go struct field {holder}.{path} of type {go}")


def without_nulls(value: Any) -> Any:
    """A deep copy without the null values of objects."""
    if isinstance(value, dict):
        return {
            key: without_nulls(item) if isinstance(item, (dict, list)) else item
            for key, item in value.items()
            if item is not None
        }
    if isinstance(value, list):
        return [without_nulls(item) if isinstance(item, (dict, list)) else item for item in value]
    return value
