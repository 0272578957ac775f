from datetime import UTC, datetime
from typing import Any

import pytest

from hpcbatch.api import resources
from hpcbatch.api.resources import Resource
from hpcbatch.engine.registry.kinds import BUILTIN, Kind, PrinterColumn
from hpcbatch.engine.server.tables import printer_of, table
from hpcbatch.errors import ApiError

KINDS = {kind.resource: kind for kind in BUILTIN}
NOW = datetime(2026, 11, 21, 10, 10, tzinfo=UTC)
META = {"name": "x", "namespace": "ns", "creationTimestamp": "2026-11-21T10:00:00Z"}


def cells(resource: Resource, **obj: Any) -> dict[str, Any]:
    kind = KINDS[resource]
    made = table(kind, [{"metadata": META | obj.pop("metadata", {}), **obj}], NOW, metadata={})
    return dict(zip([c["name"] for c in made["columnDefinitions"]], made["rows"][0]["cells"], strict=True))


def pod(*states: dict[str, Any], inits: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    def statuses(prefix: str, given: Any) -> list[dict[str, Any]]:
        return [
            {"name": f"{prefix}{i}", "state": state, "ready": "running" in state, "restartCount": 0}
            for i, state in enumerate(given)
        ]

    status = {"phase": more.pop("phase", "Running"), "containerStatuses": statuses("c", states)}
    if inits is not None:
        status["initContainerStatuses"] = statuses("i", inits)
    status |= {key: more.pop(key) for key in ("reason",) if key in more}
    return cells(resources.PODS, spec={"containers": [{}] * max(1, len(states))}, status=status, **more)


def ended(reason: str, code: int = 0, **more: Any) -> dict[str, Any]:
    return {"terminated": {"reason": reason, "exitCode": code, **more}}


WAITING = {"waiting": {"reason": "ContainerCreating"}}
INITIALIZING = {"waiting": {"reason": "PodInitializing"}}
RUNNING: dict[str, Any] = {"running": {}}


@pytest.mark.parametrize(
    ("row", "ready", "status"),
    [
        (pod(phase="Pending"), "0/1", "Pending"),
        (pod(WAITING, phase="Pending"), "0/1", "ContainerCreating"),
        (pod(RUNNING), "1/1", "Running"),
        (pod(RUNNING, RUNNING), "2/2", "Running"),
        (pod(ended("Completed"), phase="Succeeded"), "0/1", "Completed"),
        (pod(ended("Error", 3), phase="Failed"), "0/1", "Error"),
        (pod(ended("OOMKilled", 137), phase="Failed"), "0/1", "OOMKilled"),
        (pod(ended("Error", 137), phase="Failed", reason="DeadlineExceeded"), "0/1", "Error"),
        (pod(phase="Failed", reason="OutOfcpu"), "0/1", "OutOfcpu"),
        (pod(ended("", 3), phase="Failed"), "0/1", "ExitCode:3"),
        (pod(ended("", 0, signal=9), phase="Failed"), "0/1", "Signal:9"),
        (pod({"waiting": {"reason": "CrashLoopBackOff"}}), "0/1", "CrashLoopBackOff"),
        (pod(ended("Completed"), RUNNING), "1/2", "Completed"),
        (pod(INITIALIZING, inits=[RUNNING], phase="Pending"), "0/1", "Init:0/1"),
        (pod(INITIALIZING, inits=[ended("Completed"), WAITING], phase="Pending"), "0/1", "Init:ContainerCreating"),
        (pod(INITIALIZING, inits=[ended("Error", 1)], phase="Pending"), "0/1", "Init:Error"),
        (pod(INITIALIZING, inits=[ended("Completed")], phase="Pending"), "0/1", "PodInitializing"),
        (pod(RUNNING, metadata={"deletionTimestamp": "2026-11-21T10:00:00Z"}), "1/1", "Terminating"),
    ],
)
def test_pods(row: dict[str, Any], ready: str, status: str) -> None:
    assert (row["Ready"], row["Status"], row["Age"], row["Restarts"]) == (ready, status, "10m", "0")


def test_restarts() -> None:
    status = {
        "phase": "Running",
        "containerStatuses": [
            {
                "name": "c",
                "ready": True,
                "restartCount": 4,
                "state": RUNNING,
                "lastState": {"terminated": {"finishedAt": "2026-11-21T10:09:22Z"}},
            }
        ],
    }
    row = cells(resources.PODS, spec={"containers": [{}], "nodeName": "n"}, status=status)
    assert (row["Restarts"], row["Node"], row["IP"]) == ("4 (38s ago)", "n", "<none>")


@pytest.mark.parametrize(
    ("conditions", "spec", "status"),
    [
        ([{"type": "Ready", "status": "True"}], {}, "Ready"),
        ([{"type": "Ready", "status": "Unknown"}], {}, "NotReady"),
        ([{"type": "Ready", "status": "True"}], {"unschedulable": True}, "Ready,SchedulingDisabled"),
        ([], {}, "NotReady"),
    ],
)
def test_nodes(conditions: list[dict[str, str]], spec: dict[str, Any], status: str) -> None:
    row = cells(
        resources.NODES,
        spec=spec,
        status={"conditions": conditions, "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]},
    )
    assert (row["Status"], row["Roles"], row["Internal-IP"], row["OS-Image"]) == (
        status,
        "<none>",
        "10.0.0.1",
        "<unknown>",
    )


def test_events() -> None:
    row = cells(
        resources.EVENTS,
        involvedObject={"kind": "Pod", "name": "p", "fieldPath": "spec.containers{main}"},
        source={"component": "kubelet", "host": "node-1"},
        type="Normal",
        reason="Pulled",
        message="there\n",
        count=2,
        firstTimestamp="2026-11-21T10:00:00Z",
        lastTimestamp="2026-11-21T10:09:58Z",
    )
    assert list(row.values()) == [
        "2s",
        "Normal",
        "Pulled",
        "pod/p",
        "spec.containers{main}",
        "kubelet, node-1",
        "there",
        "10m",
        2,
        "x",
    ]


@pytest.mark.parametrize(
    ("resource", "obj", "row"),
    [
        (resources.CONFIGMAPS, {"data": {"a": ""}, "binaryData": {"b": ""}}, ["x", 2, "10m"]),
        (resources.SECRETS, {"type": "Opaque", "data": {"a": ""}}, ["x", "Opaque", 1, "10m"]),
        (resources.SERVICE_ACCOUNTS, {}, ["x", 0, "10m"]),
        (resources.NAMESPACES, {"status": {"phase": "Active"}}, ["x", "Active", "10m"]),
        (resources.LEASES, {"spec": {"holderIdentity": "n"}}, ["x", "n", "10m"]),
        (resources.CRDS, {}, ["x", "2026-11-21T10:00:00Z"]),
        (
            resources.SERVICES,
            {"spec": {"clusterIP": "None", "type": "ClusterIP", "ports": [{"port": 80}], "selector": {"a": "b"}}},
            ["x", "ClusterIP", "None", "<none>", "80/TCP", "10m", "a=b"],
        ),
        (resources.NETWORK_POLICIES, {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}}, ["x", "a=b", "10m"]),
        (resources.PRIORITY_CLASSES, {"value": 5, "preemptionPolicy": "Never"}, ["x", 5, False, "10m", "Never"]),
    ],
    ids=lambda value: value.plural if isinstance(value, Resource) else None,
)
def test_other_kinds(resource: Resource, obj: dict[str, Any], row: list[Any]) -> None:
    assert list(cells(resource, **obj).values()) == row


def test_every_kind_has_a_printer() -> None:
    for kind in BUILTIN:
        assert printer_of(kind).columns[0].name in {"Name", "Last Seen"}


CUSTOM = Kind(
    resource=Resource("x.io", "v1", "things", "Thing"),
    singular="thing",
    list_kind="ThingList",
    custom=True,
    columns=(
        PrinterColumn("Text", "string", ".spec.text"),
        PrinterColumn("Number", "integer", ".spec.number"),
        PrinterColumn("Flag", "boolean", ".spec.flag"),
        PrinterColumn("When", "date", ".status.when"),
        PrinterColumn("Item", "string", ".spec.items[1]"),
        PrinterColumn("Label", "string", ".metadata.labels.a\\.b/c"),
        PrinterColumn("Ready", "string", '.status.conditions[?(@.type=="Ready")].status'),
    ),
)


@pytest.mark.parametrize(
    ("spec", "status", "row"),
    [
        ({}, {}, [None, None, None, None, None]),
        (
            {"text": "t", "number": 6, "flag": True, "items": ["a", "b"]},
            {"when": "2026-11-21T09:42:00Z"},
            ["t", 6, True, "28m", "b"],
        ),
        (
            {"text": True, "number": True, "flag": 1, "items": ["a"]},
            {"when": "bad"},
            ["true", None, None, "<unknown>", None],
        ),
        ({"text": {"a": [1]}, "number": "6"}, {}, ['{"a":[1]}', None, None, None, None]),
        ({"text": 5, "items": {}}, {}, ["5", None, None, None, None]),
    ],
)
def test_custom_columns(spec: dict[str, Any], status: dict[str, Any], row: list[Any]) -> None:
    conditions = [{"type": "Other"}, {"type": "Ready", "status": "True"}]
    meta = META | {"labels": {"a.b/c": "l"}}
    obj = {"metadata": meta, "spec": spec, "status": status | {"conditions": conditions}}
    made = table(CUSTOM, [obj], NOW, metadata={"resourceVersion": "1"})
    assert made["rows"][0]["cells"] == ["x", *row, "l", "True"]
    assert made["metadata"] == {"resourceVersion": "1"}


def test_what_goes_with_a_row() -> None:
    obj: dict[str, Any] = {"metadata": META | {"managedFields": [{}]}, "spec": {}}
    beside = [
        table(CUSTOM, [obj], NOW, metadata={}, include=include)["rows"][0]["object"]
        for include in ("Metadata", "Object", "None")
    ]
    assert beside == [
        {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": META},
        obj,
        None,
    ]
    assert table(CUSTOM, [], NOW, metadata={}, with_columns=False)["columnDefinitions"] is None


def test_include_policy() -> None:
    from hpcbatch.engine.server.tables import include_policy

    assert include_policy("") == "Metadata"
    with pytest.raises(ApiError, match="must be 'Metadata', 'Object', 'None', or empty"):
        include_policy("Foo")
