"""Volcano's HyperNodes as labels of nodes: members by name, by pattern, by labels, and other HyperNodes."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.policy.hypernodes import labels_of_tiers

Object = dict[str, Any]
NODES = {
    "node-0": {"rack": "a", "gpu": "yes"},
    "node-1": {"rack": "a"},
    "node-2": {"rack": "b"},
    "other": {},
}


def hypernode(name: str, tier: int, *members: Object) -> Object:
    return {"metadata": {"name": name}, "spec": {"tier": tier, "members": list(members)}}


def nodes(**selector: Any) -> Object:
    return {"type": "Node", "selector": selector}


def below(name: str) -> Object:
    return {"type": "HyperNode", "selector": {"exactMatch": {"name": name}}}


def expression(key: str, operator: str, *values: str) -> Object:
    return nodes(labelMatch={"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]})


@pytest.mark.parametrize(
    ("member", "found"),
    [
        (nodes(exactMatch={"name": "node-1"}), ["node-1"]),
        (nodes(exactMatch={"name": "none"}), []),
        (nodes(regexMatch={"pattern": "^node-[01]$"}), ["node-0", "node-1"]),
        (nodes(regexMatch={"pattern": "de-2"}), ["node-2"]),
        (nodes(regexMatch={"pattern": "("}), []),
        (nodes(labelMatch={"matchLabels": {"rack": "a"}}), ["node-0", "node-1"]),
        (nodes(labelMatch={}), []),
        (expression("rack", "In", "b", "c"), ["node-2"]),
        (expression("rack", "NotIn", "a"), ["node-2", "other"]),
        (expression("gpu", "Exists"), ["node-0"]),
        (expression("rack", "DoesNotExist"), ["other"]),
        (expression("rack", "Near", "a"), []),
        (expression("rack", "Gt", "1"), []),
        (expression("rack", "Lt"), []),
        ({"type": "Node"}, []),
        (below("none"), []),
    ],
)
def test_members(member: Object, found: list[str]) -> None:
    labels = labels_of_tiers([hypernode("s0", 1, member)], NODES, {1})
    assert labels == {name: {"hypernode.hpcbatch.io/tier-1": "s0"} for name in found}


def test_tiers() -> None:
    tree = [
        hypernode("s0", 1, nodes(exactMatch={"name": "node-0"}), nodes(exactMatch={"name": "node-1"})),
        hypernode("s1", 1, nodes(regexMatch={"pattern": "node-[12]"})),
        hypernode("r0", 2, below("s0"), below("s1")),
        hypernode("all", 3, below("r0"), below("all"), nodes(exactMatch={"name": "other"})),
    ]
    labels = labels_of_tiers(tree, NODES, {1, 3})
    one, three = "hypernode.hpcbatch.io/tier-1", "hypernode.hpcbatch.io/tier-3"
    assert labels == {
        "node-0": {one: "s0", three: "all"},
        "node-1": {one: "s0", three: "all"},
        "node-2": {one: "s1", three: "all"},
        "other": {three: "all"},
    }
