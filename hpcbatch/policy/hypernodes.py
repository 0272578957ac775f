"""Groups of nodes as Volcano's HyperNodes have them, as if they were labels of the nodes. Pure.

A HyperNode has a tier, the lowest being the nearest, and members: nodes, by name, by a regular expression or by labels;
or other HyperNodes, by name. Source: volcano.sh/apis topology/v1alpha1.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from hpcbatch.model.grouping import tier_label
from hpcbatch.typed import Any
from hpcbatch.volcano.labels import label_selector

Object = dict[str, Any]
_Nodes = Mapping[str, Mapping[str, str]]
"""Their labels, by their names."""


def labels_of_tiers(hypernodes: Iterable[Object], nodes: _Nodes, tiers: Collection[int]) -> dict[str, dict[str, str]]:
    """Of each node in a HyperNode of those tiers, the label that says which; of two of one tier the first by name."""
    named = {one["metadata"]["name"]: one["spec"] for one in hypernodes}
    found: dict[str, dict[str, str]] = {}
    for name, spec in sorted(named.items()):
        if spec.get("tier") in tiers:
            for node in sorted(_nodes_in(name, named, nodes, frozenset())):
                found.setdefault(node, {}).setdefault(tier_label(spec["tier"]), name)
    return found


def _nodes_in(name: str, named: Mapping[str, Object], nodes: _Nodes, above: frozenset[str]) -> set[str]:
    """`above`: those that it is a member of; one that would be its own member counts for nothing."""
    found: set[str] = set()
    if name in above or name not in named:
        return found
    for member in named[name].get("members") or ():
        selector = member.get("selector") or {}
        exact = (selector.get("exactMatch") or {}).get("name", "")
        if member.get("type") == "HyperNode":
            found |= _nodes_in(exact, named, nodes, above | {name})
            continue
        if exact in nodes:
            found.add(exact)
        if pattern := (selector.get("regexMatch") or {}).get("pattern", ""):
            found |= _by_pattern(pattern, nodes)
        if wanted := selector.get("labelMatch"):
            found |= {node for node, labels in nodes.items() if _meets(labels, wanted)}
    return found


def _by_pattern(pattern: str, nodes: _Nodes) -> set[str]:
    """Anywhere in the name, as in Go; a pattern that Python cannot read has no nodes."""
    try:
        test = re.compile(pattern)
    except re.error:
        return set()
    return {node for node in nodes if test.search(node)}


def _meets(labels: Mapping[str, str], selector: Object) -> bool:
    """Kubernetes' LabelSelector, of which an empty one selects nothing here."""
    lines = label_selector(selector) or ()
    return bool(lines) and all(line.matches(labels) for line in lines)
