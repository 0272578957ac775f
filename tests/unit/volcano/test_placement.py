from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.volcano.placement import Cluster, no_node_message, node_view, seat

HOST = "kubernetes.io/hostname"


def node(name: str, *, labels: dict[str, str] | None = None, ready: str = "True", **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": {HOST: name, **(labels or {})}},
        "spec": spec,
        "status": {
            "allocatable": {"cpu": "2", "memory": "1Gi", "pods": "10", "example.com/gpu": "1"},
            "conditions": [{"type": "Ready", "status": ready}],
        },
    }


def pod(
    name: str = "p", *, labels: dict[str, str] | None = None, requests: dict[str, str] | None = None, **spec: Any
) -> Any:
    container = {"name": "c", "resources": {"requests": requests or {}}, "ports": spec.pop("ports", [])}
    meta = {"namespace": "d", "name": name, "uid": name, "labels": labels or {}}
    return {"metadata": meta, "spec": {"containers": [container], **spec}}


def obstacles(given: Any, made: Any, *others: tuple[Any, str]) -> list[str]:
    cluster = Cluster([node_view(made), node_view(node("other"))])
    for other, place in others:
        cluster.put(seat(other), place)
    return cluster.obstacles(seat(given), made["metadata"]["name"])


def affinity(kind: str, match: dict[str, str] | None, key: str = HOST, **more: Any) -> dict[str, Any]:
    selector = {} if match is None else {"labelSelector": {"matchLabels": match}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": key, **selector, **more}]}}


def node_affinity(*expressions: dict[str, Any], fields: list[Any] | None = None) -> dict[str, Any]:
    term = {"matchExpressions": list(expressions), "matchFields": fields or []}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def need(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


SELECTOR = "node(s) didn't match Pod's node affinity/selector"
ANTI = "node(s) didn't match pod anti-affinity rules"
UNTOLERATED = "node(s) had untolerated taint {k: v}"
TAINT = [{"key": "k", "value": "v", "effect": "NoSchedule"}]


@pytest.mark.parametrize(
    ("given", "made", "expected"),
    [
        (pod(requests={"cpu": "2"}), node("n"), []),
        (pod(requests={"cpu": "2001m"}), node("n"), ["Insufficient cpu"]),
        (pod(requests={"cpu": "3", "memory": "2Gi"}), node("n"), ["Insufficient cpu", "Insufficient memory"]),
        (pod(requests={"example.com/gpu": "2"}), node("n"), ["Insufficient example.com/gpu"]),
        (pod(requests={"example.com/none": "1"}), node("n"), ["Insufficient example.com/none"]),
        (pod(nodeSelector={"disk": "ssd"}), node("n"), [SELECTOR]),
        (pod(nodeSelector={"disk": "ssd"}), node("n", labels={"disk": "ssd"}), []),
        (pod(affinity=node_affinity(need("a", "In", "1", "2"))), node("n", labels={"a": "2"}), []),
        (pod(affinity=node_affinity(need("a", "In", "1"))), node("n", labels={"a": "2"}), [SELECTOR]),
        (pod(affinity=node_affinity(need("a", "NotIn", "1"))), node("n"), []),
        (pod(affinity=node_affinity(need("a", "NotIn", "1"))), node("n", labels={"a": "1"}), [SELECTOR]),
        (pod(affinity=node_affinity(need("a", "Exists"))), node("n"), [SELECTOR]),
        (pod(affinity=node_affinity(need("a", "DoesNotExist"))), node("n"), []),
        (pod(affinity=node_affinity(need("a", "Gt", "4"))), node("n", labels={"a": "5"}), []),
        (pod(affinity=node_affinity(need("a", "Lt", "4"))), node("n", labels={"a": "5"}), [SELECTOR]),
        (pod(affinity=node_affinity(need("a", "Gt", "4"))), node("n", labels={"a": "x"}), [SELECTOR]),
        (pod(affinity=node_affinity(fields=[need("metadata.name", "In", "n")])), node("n"), []),
        (pod(affinity=node_affinity(fields=[need("metadata.name", "In", "m")])), node("n"), [SELECTOR]),
        (pod(affinity=node_affinity()), node("n"), [SELECTOR]),
        (pod(), node("n", unschedulable=True), ["node(s) were unschedulable"]),
        (pod(), node("n", ready="False"), ["node(s) had untolerated taint {node.kubernetes.io/not-ready: }"]),
        (pod(), node("n", taints=TAINT), [UNTOLERATED]),
        (pod(tolerations=[{"key": "k", "value": "v"}]), node("n", taints=TAINT), []),
        (pod(tolerations=[{"key": "k", "value": "w"}]), node("n", taints=TAINT), [UNTOLERATED]),
        (pod(tolerations=[{"operator": "Exists"}]), node("n", taints=TAINT), []),
        (pod(), node("n", taints=[{"key": "k", "effect": "PreferNoSchedule"}]), []),
    ],
)
def test_one_pod_and_one_node(given: Any, made: Any, expected: list[str]) -> None:
    assert obstacles(given, made) == expected


@pytest.mark.parametrize(
    ("given", "others", "expected"),
    [
        (pod(affinity=affinity("podAntiAffinity", {"a": "1"})), [(pod("o", labels={"a": "1"}), "n")], [ANTI]),
        (pod(affinity=affinity("podAntiAffinity", {"a": "1"})), [(pod("o", labels={"a": "1"}), "other")], []),
        (pod(affinity=affinity("podAntiAffinity", {"a": "1"})), [(pod("o", labels={"a": "2"}), "n")], []),
        (
            pod(labels={"a": "1"}),
            [(pod("o", affinity=affinity("podAntiAffinity", {"a": "1"})), "n")],
            ["node(s) didn't satisfy existing pods anti-affinity rules"],
        ),
        (pod(affinity=affinity("podAffinity", {"a": "1"})), [(pod("o", labels={"a": "1"}), "n")], []),
        (
            pod(affinity=affinity("podAffinity", {"a": "1"})),
            [(pod("o", labels={"a": "1"}), "other")],
            ["node(s) didn't match pod affinity rules"],
        ),
        (pod(affinity=affinity("podAffinity", {"a": "1"})), [], ["node(s) didn't match pod affinity rules"]),
        (pod(labels={"a": "1"}, affinity=affinity("podAffinity", {"a": "1"})), [], []),
        (
            pod(affinity=affinity("podAntiAffinity", {"a": "1"}, namespaces=["x"])),
            [(pod("o", labels={"a": "1"}), "n")],
            [],
        ),
        (
            pod(affinity=affinity("podAntiAffinity", {"a": "1"}, namespaceSelector={})),
            [(pod("o", labels={"a": "1"}), "n")],
            [ANTI],
        ),
        (pod(affinity=affinity("podAntiAffinity", None)), [(pod("o", labels={"a": "1"}), "n")], []),
        (
            pod(ports=[{"containerPort": 1, "hostPort": 80}]),
            [(pod("o", ports=[{"containerPort": 2, "hostPort": 80}]), "n")],
            ["node(s) didn't have free ports for the requested pod ports"],
        ),
        (
            pod(hostNetwork=True, ports=[{"containerPort": 80}]),
            [(pod("o", ports=[{"containerPort": 80}]), "n")],
            [],
        ),
        (pod(requests={"cpu": "1"}), [(pod("o", requests={"cpu": "1500m"}), "n")], ["Insufficient cpu"]),
        (
            pod(
                labels={"s": "1"},
                topologySpreadConstraints=[
                    {
                        "topologyKey": HOST,
                        "maxSkew": 1,
                        "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": {"matchLabels": {"s": "1"}},
                    }
                ],
            ),
            [(pod("o", labels={"s": "1"}), "n")],
            ["node(s) didn't match pod topology spread constraints"],
        ),
    ],
    ids=[
        "anti, same node",
        "anti, other node",
        "anti, other label",
        "symmetry",
        "affinity, same node",
        "affinity, other node",
        "affinity, nobody",
        "affinity, itself",
        "anti, other namespace",
        "anti, all namespaces",
        "anti, no selector",
        "host port",
        "host network",
        "room taken",
        "spread",
    ],
)
def test_between_pods(given: Any, others: list[Any], expected: list[str]) -> None:
    assert obstacles(given, node("n"), *others) == expected


def test_too_many_pods() -> None:
    others = [(pod(f"o{index}"), "n") for index in range(10)]
    assert obstacles(pod(), node("n"), *others) == ["Too many pods"]


def test_taking_away_restores_all() -> None:
    cluster = Cluster([node_view(node("n"))])
    before = {name: dict(free) for name, free in cluster.free.items()}
    placed = seat(pod(requests={"cpu": "1"}, affinity=affinity("podAntiAffinity", {"a": "1"})))
    cluster.put(placed, "n")
    assert cluster.has_anti_affinity
    cluster.take_away(placed, "n")
    assert {
        name: {k: v for k, v in free.items() if v or k in before[name]} for name, free in cluster.free.items()
    } == before
    assert not cluster.has_anti_affinity


def test_message() -> None:
    text = no_node_message({"a": ["Insufficient cpu"], "b": ["Insufficient cpu", "Insufficient memory"]})
    assert text == "0/2 nodes are unavailable: 1 Insufficient memory, 2 Insufficient cpu."


def test_requests_default_to_limits_and_init_containers_count() -> None:
    spec = {
        "containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}}],
        "initContainers": [{"name": "i", "resources": {"requests": {"cpu": "1500m"}}}],
    }
    made = seat({"metadata": {"namespace": "d", "name": "p", "uid": "u"}, "spec": spec})
    assert dict(made.needs.requests) == {"cpu": 1500, "pods": 1}
