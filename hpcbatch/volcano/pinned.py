"""Keeps the pods of a Volcano Job to nodes, and notes on it where they were planned. Volcano places them there.

Only jobs that must keep off other nodes are pinned: where a planned start of another job needs these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

Object = dict[str, Any]

HOST: Final = "kubernetes.io/hostname"


def pinned(volcano_job: Object, hosts: Sequence[str]) -> Object:
    """`volcano_job` with a nodeAffinity of all its pods to nodes whose label HOST is one of `hosts`, beside what its
    template has.
    """
    tasks = [{**task, "template": _pinned(task["template"], hosts)} for task in volcano_job["spec"]["tasks"]]
    return {**volcano_job, "spec": {**volcano_job["spec"], "tasks": tasks}}


def noted(volcano_job: Object, annotation: str, text: str) -> Object:
    """`volcano_job` with one more annotation."""
    metadata = volcano_job["metadata"]
    notes = {**(metadata.get("annotations") or {}), annotation: text}
    return {**volcano_job, "metadata": {**metadata, "annotations": notes}}


def _pinned(template: Object, hosts: Sequence[str]) -> Object:
    spec = template["spec"]
    affinity = spec.get("affinity") or {}
    nodes = affinity.get("nodeAffinity") or {}
    needed = nodes.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    line = {"key": HOST, "operator": "In", "values": list(hosts)}
    # one of the terms suffices, so each of them gets the line
    terms = [
        {**term, "matchExpressions": [*(term.get("matchExpressions") or ()), line]}
        for term in needed.get("nodeSelectorTerms") or [{}]
    ]
    nodes = {**nodes, "requiredDuringSchedulingIgnoredDuringExecution": {**needed, "nodeSelectorTerms": terms}}
    return {**template, "spec": {**spec, "affinity": {**affinity, "nodeAffinity": nodes}}}
