"""Server-side tables: what `kubectl get` and `qstat` print of each kind."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from hpcbatch.engine.registry.kinds import Kind, PrinterColumn
from hpcbatch.engine.registry.statuses import bad_request
from hpcbatch.engine.registry.values import Step, as_dict, follow, parse_path, read_path
from hpcbatch.engine.server.ages import age_of

Object = Mapping[str, Any]
_NAME_HELP = "Name must be unique within a namespace."


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str = "string"
    format: str = ""
    priority: int = 0
    description: str = ""

    def definition(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description or self.name,
            "priority": self.priority,
        }


@dataclass(frozen=True, slots=True)
class Printer:
    """The columns of a kind, and the cells of one object."""

    columns: tuple[Column, ...]
    cells: Callable[[Object, datetime], list[Any]]


def _columns(text: str) -> tuple[Column, ...]:
    """`Name Ready IP*`: a star is for `-o wide`, an underscore for a blank, `Age` and the like are text."""
    return tuple(
        Column(
            word.rstrip("*").replace("_", " "),
            format="name" if word == "Name" else "",
            priority=1 if word.endswith("*") else 0,
            description=_NAME_HELP if word == "Name" else "",
        )
        for word in text.split()
    )


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])


def _created(obj: Object, now: datetime) -> str | None:
    return age_of(obj["metadata"].get("creationTimestamp"), now)


def _joined(values: Iterable[Any]) -> str:
    return ",".join(str(value) for value in values) or "<none>"


# --- pods ---


def _pod_status(pod: Object) -> str:
    """The one word that says how a pod is. Source: printPod in k8s.io/kubernetes/pkg/printers/internalversion."""
    status = as_dict(pod.get("status"))
    word = str(status.get("reason") or status.get("phase") or "Unknown")
    initializing = ""
    inits = status.get("initContainerStatuses") or ()
    for index, container in enumerate(inits):
        state = as_dict(container.get("state"))
        ended = as_dict(state.get("terminated"))
        if ended and ended.get("exitCode") == 0:
            continue
        if ended:
            initializing = f"Init:{ended.get('reason') or 'ExitCode:' + str(ended.get('exitCode'))}"
        elif as_dict(state.get("waiting")).get("reason") not in (None, "", "PodInitializing"):
            initializing = f"Init:{state['waiting']['reason']}"
        else:
            initializing = f"Init:{index}/{len(inits)}"
        break
    if initializing:
        word = initializing
    else:
        # The last container asked is the first in the list: its word stays.
        for container in reversed(status.get("containerStatuses") or ()):
            state = as_dict(container.get("state"))
            waiting, ended = as_dict(state.get("waiting")), as_dict(state.get("terminated"))
            if waiting.get("reason"):
                word = str(waiting["reason"])
            elif ended.get("reason"):
                word = str(ended["reason"])
            elif ended:
                word = f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode')}"
    if pod["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return word


def _pod_cells(pod: Object, now: datetime) -> list[Any]:
    status, spec = as_dict(pod.get("status")), pod["spec"]
    containers = status.get("containerStatuses") or ()
    ready = sum(1 for container in containers if container.get("ready"))
    restarts = sum(container.get("restartCount", 0) for container in containers)
    text = str(restarts)
    if restarts:
        ends = [
            as_dict(as_dict(container.get("lastState")).get("terminated")).get("finishedAt") for container in containers
        ]
        last = max((end for end in ends if end), default=None)
        if last:
            text += f" ({age_of(last, now)} ago)"
    gates = spec.get("readinessGates") or ()
    return [
        _name(pod),
        f"{ready}/{len(spec.get('containers') or ())}",
        _pod_status(pod),
        text,
        _created(pod, now),
        status.get("podIP") or "<none>",
        spec.get("nodeName") or "<none>",
        status.get("nominatedNodeName") or "<none>",
        f"0/{len(gates)}" if gates else "<none>",
    ]


# --- nodes ---


def _ready(status: Mapping[str, Any]) -> str:
    conditions = status.get("conditions") or ()
    return next((str(item.get("status")) for item in conditions if item.get("type") == "Ready"), "Unknown")


def _node_cells(node: Object, now: datetime) -> list[Any]:
    status = as_dict(node.get("status"))
    ready = _ready(status)
    word = "Ready" if ready == "True" else "NotReady"
    if as_dict(node.get("spec")).get("unschedulable"):
        word += ",SchedulingDisabled"
    addresses = {item.get("type"): item.get("address", "") for item in status.get("addresses") or ()}
    system = as_dict(status.get("nodeInfo"))
    prefix = "node-role.kubernetes.io/"
    roles = sorted(
        label.removeprefix(prefix)
        for label in as_dict(node["metadata"].get("labels"))
        if label.startswith(prefix) and label != prefix
    )
    return [
        _name(node),
        word,
        _joined(roles),
        _created(node, now),
        system.get("kubeletVersion", ""),
        addresses.get("InternalIP", "<none>"),
        addresses.get("ExternalIP", "<none>"),
        system.get("osImage", "<unknown>"),
        system.get("kernelVersion", "<unknown>"),
        system.get("containerRuntimeVersion", "<unknown>"),
    ]


# --- the other core kinds ---


def _service_cells(service: Object, now: datetime) -> list[Any]:
    spec = service["spec"]
    ports = [
        f"{port.get('port')}{':' + str(port['nodePort']) if port.get('nodePort') else ''}/{port.get('protocol', 'TCP')}"
        for port in spec.get("ports") or ()
    ]
    selector = [f"{key}={value}" for key, value in sorted(as_dict(spec.get("selector")).items())]
    external = spec.get("externalName") or _joined(spec.get("externalIPs") or ())
    return [
        _name(service),
        spec.get("type", "ClusterIP"),
        spec.get("clusterIP") or "<none>",
        external,
        _joined(ports),
        _created(service, now),
        _joined(selector),
    ]


def _event_cells(event: Object, now: datetime) -> list[Any]:
    involved = as_dict(event.get("involvedObject"))
    source = as_dict(event.get("source"))
    when = event.get("eventTime")
    first, last = event.get("firstTimestamp") or when, event.get("lastTimestamp") or when
    by = ", ".join(part for part in (source.get("component"), source.get("host")) if part)
    target = f"{str(involved.get('kind', '')).lower()}/{involved.get('name', '')}"
    return [
        age_of(last, now),
        event.get("type", ""),
        event.get("reason", ""),
        target,
        involved.get("fieldPath", ""),
        by or event.get("reportingComponent", ""),
        str(event.get("message", "")).strip(),
        age_of(first, now),
        event.get("count", 1),
        _name(event),
    ]


def _network_policy_cells(policy: Object, now: datetime) -> list[Any]:
    labels = as_dict(read_path(policy, ".spec.podSelector.matchLabels"))
    return [_name(policy), _joined(f"{key}={value}" for key, value in sorted(labels.items())), _created(policy, now)]


def _data_count(obj: Object) -> int:
    return len(obj.get("data") or ()) + len(obj.get("binaryData") or ())


PRINTERS: dict[tuple[str, str], Printer] = {
    ("", "pods"): Printer(
        _columns("Name Ready Status Restarts Age IP* Node* Nominated_Node* Readiness_Gates*"), _pod_cells
    ),
    ("", "nodes"): Printer(
        _columns(
            "Name Status Roles Age Version Internal-IP* External-IP* OS-Image* Kernel-Version* Container-Runtime*"
        ),
        _node_cells,
    ),
    ("", "services"): Printer(_columns("Name Type Cluster-IP External-IP Port(s) Age Selector*"), _service_cells),
    ("", "configmaps"): Printer(_columns("Name Data Age"), lambda o, now: [_name(o), _data_count(o), _created(o, now)]),
    ("", "secrets"): Printer(
        _columns("Name Type Data Age"), lambda o, now: [_name(o), o.get("type", ""), _data_count(o), _created(o, now)]
    ),
    ("", "serviceaccounts"): Printer(
        _columns("Name Secrets Age"), lambda o, now: [_name(o), len(o.get("secrets") or ()), _created(o, now)]
    ),
    ("", "namespaces"): Printer(
        _columns("Name Status Age"), lambda o, now: [_name(o), read_path(o, ".status.phase"), _created(o, now)]
    ),
    ("", "events"): Printer(
        _columns("Last_Seen Type Reason Object Subobject* Source* Message First_Seen* Count* Name*"), _event_cells
    ),
    ("coordination.k8s.io", "leases"): Printer(
        _columns("Name Holder Age"),
        lambda o, now: [_name(o), read_path(o, ".spec.holderIdentity") or "", _created(o, now)],
    ),
    ("networking.k8s.io", "networkpolicies"): Printer(_columns("Name Pod-Selector Age"), _network_policy_cells),
    ("scheduling.k8s.io", "priorityclasses"): Printer(
        _columns("Name Value Global-Default Age PreemptionPolicy"),
        lambda o, now: [
            _name(o),
            o.get("value"),
            bool(o.get("globalDefault")),
            _created(o, now),
            o.get("preemptionPolicy"),
        ],
    ),
    ("apiextensions.k8s.io", "customresourcedefinitions"): Printer(
        (Column("Name", format="name", description=_NAME_HELP), Column("Created At", type="date")),
        lambda o, now: [_name(o), o["metadata"]["creationTimestamp"]],  # noqa: ARG005
    ),
}


_Conversion = Callable[[Any, datetime], Any]


def _custom_text(value: Any, _now: datetime) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, (dict, list)):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else str(value)


# What a value of each column type becomes; one of another type gives an empty cell.
_CONVERSIONS: dict[str, _Conversion] = {
    "string": _custom_text,
    "date": age_of,
    "integer": lambda value, _now: value if type(value) is int else None,
    "number": lambda value, _now: value if type(value) in {int, float} else None,
    "boolean": lambda value, _now: value if type(value) is bool else None,
}


@dataclass(frozen=True, slots=True)
class _Part:
    """What columns show of a part of an object. Most have no value in most objects, and of many the whole part is
    missing: it is looked for once.
    """

    columns: tuple[tuple[int, Step, _Conversion], ...]
    """The place of the cell, and the last step of the column's path."""
    inner: tuple[tuple[Step, _Part], ...]

    def fill(self, row: list[Any], part: Any, now: datetime) -> None:
        find = part.get if isinstance(part, dict) else lambda step: follow(part, (step,))
        for place, step, convert in self.columns:
            if (value := find(step)) is not None:
                row[place] = convert(value, now)
        for step, inner in self.inner:
            if (value := find(step)) is not None:
                inner.fill(row, value, now)


def _part(columns: Iterable[tuple[int, tuple[Step, ...], _Conversion]]) -> _Part:
    """Of columns with their paths within the part."""
    ends: list[tuple[int, Step, _Conversion]] = []
    inner: dict[Step, list[tuple[int, tuple[Step, ...], _Conversion]]] = {}
    for place, (step, *rest), convert in columns:
        if rest:
            inner.setdefault(step, []).append((place, tuple(rest), convert))
        else:
            ends.append((place, step, convert))
    return _Part(tuple(ends), tuple((step, _part(some)) for step, some in inner.items()))


def _custom_cells(columns: Sequence[PrinterColumn]) -> Callable[[Object, datetime], list[Any]]:
    """Tables of thousands of rows are requested often: all that is the same for each row is done here, once."""
    paths = [(parse_path(column.json_path), _CONVERSIONS[column.type]) for column in columns]
    whole = _part((place, steps, convert) for place, (steps, convert) in enumerate(paths, start=1))
    empty = [None] * len(columns)

    def cells(obj: Object, now: datetime) -> list[Any]:
        row: list[Any] = [obj["metadata"]["name"], *empty]
        whole.fill(row, obj, now)
        return row

    return cells


def printer_of(kind: Kind) -> Printer:
    return _custom_printer(kind.columns) if kind.custom else PRINTERS[kind.key]


@lru_cache(maxsize=256)
def _custom_printer(custom: tuple[PrinterColumn, ...]) -> Printer:
    columns = (
        Column("Name", format="name", description=_NAME_HELP),
        *(Column(item.name, item.type, item.format, item.priority, item.description) for item in custom),
    )
    return Printer(columns, _custom_cells(custom))


def partial(obj: Object) -> dict[str, Any]:
    """The object without all but its metadata."""
    meta = obj["metadata"]
    if "managedFields" in meta:
        meta = {key: value for key, value in meta.items() if key != "managedFields"}
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": meta}


def include_policy(text: str) -> str:
    """Read `includeObject`. Raises ApiError 400."""
    if text not in {"", "Metadata", "Object", "None"}:
        raise bad_request(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{text}": '
            "must be 'Metadata', 'Object', 'None', or empty"
        )
    return text or "Metadata"


def table(
    kind: Kind,
    objects: Sequence[Object],
    now: datetime,
    *,
    metadata: Mapping[str, Any],
    include: str = "Metadata",
    with_columns: bool = True,
) -> dict[str, Any]:
    """The Table of some objects; `include` is Metadata, Object or None: what goes with each row."""
    printer = printer_of(kind)

    def beside(obj: Object) -> Any:
        if include == "Metadata":
            return partial(obj)
        return obj if include == "Object" else None

    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": dict(metadata),
        "columnDefinitions": [column.definition() for column in printer.columns] if with_columns else None,
        "rows": [{"cells": printer.cells(obj, now), "object": beside(obj)} for obj in objects],
    }
