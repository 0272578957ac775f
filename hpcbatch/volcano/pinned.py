"""Keeps the pods of a Volcano Job to nodes, and notes on it where they were planned. Volcano places them there.

Only those jobs are pinned whose nodes matter: where a planned start of another job needs the others, and where the
job's pods are unlike. Volcano places these one by one in an order of its own, and tries no other one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

Object = dict[str, Any]

HOST: Final = "kubernetes.io/hostname"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def pinned(volcano_job: Object, hosts: Mapping[str, Sequence[str]]) -> Object:
    """`volcano_job` with a nodeAffinity for each task's pods to nodes whose label HOST is one of its `hosts`, beside
    what its template has. A task that has none is left as it is.
    """
    tasks = [
        {**task, "template": _pinned(task["template"], hosts[task["name"]])} if hosts.get(task["name"]) else task
        for task in volcano_job["spec"]["tasks"]
    ]
    return {**volcano_job, "spec": {**volcano_job["spec"], "tasks": tasks}}


def is_pinned(volcano_job: Object) -> bool:
    """Whether some of its pods are kept to nodes by name."""
    specs = [task["template"]["spec"] for task in volcano_job["spec"]["tasks"]]
    return any(line["key"] == HOST for spec in specs for line in _lines(spec))


def noted(volcano_job: Object, annotation: str, text: str) -> Object:
    """`volcano_job` with one more annotation."""
    metadata = volcano_job["metadata"]
    notes = {**(metadata.get("annotations") or {}), annotation: text}
    return {**volcano_job, "metadata": {**metadata, "annotations": notes}}


def kept_to(spec: Object, hosts: Sequence[str]) -> Object:
    """A pod's spec with a nodeAffinity to those nodes, beside what it has."""
    affinity, nodes, needed = _needed(spec)
    line = {"key": HOST, "operator": "In", "values": list(hosts)}
    # one of the terms suffices, so each of them gets the line
    terms = [
        {**term, "matchExpressions": [*(term.get("matchExpressions") or ()), line]}
        for term in needed.get("nodeSelectorTerms") or [{}]
    ]
    nodes = {**nodes, _REQUIRED: {**needed, "nodeSelectorTerms": terms}}
    return {**spec, "affinity": {**affinity, "nodeAffinity": nodes}}


def _pinned(template: Object, hosts: Sequence[str]) -> Object:
    return {**template, "spec": kept_to(template["spec"], hosts)}


def _needed(spec: Object) -> tuple[Object, Object, Object]:
    """A pod's affinity, that to nodes, and what that requires."""
    affinity = spec.get("affinity") or {}
    nodes = affinity.get("nodeAffinity") or {}
    return affinity, nodes, nodes.get(_REQUIRED) or {}


def _lines(spec: Object) -> Iterator[Object]:
    _, _, needed = _needed(spec)
    for term in needed.get("nodeSelectorTerms") or ():
        yield from term.get("matchExpressions") or ()
