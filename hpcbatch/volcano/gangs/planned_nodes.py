"""Which pod of a job was planned on which node, noted on its Volcano Job for whoever makes the pods."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby

from hpcbatch.typed import Final
from hpcbatch.volcano.gangs.port import Object
from hpcbatch.volcano.job_objects import TASK_INDEX, TASK_SPEC
from hpcbatch.volcano.pinned import kept_to, noted

POD_NODES: Final = "hpcbatch.io/pod-nodes"
"""Annotation of a Volcano Job: by task the nodes of its pods in their order, `{"mpiworker": "n1*2 n2"}`."""
_UNPLANNED: Final = "-"


def with_pod_nodes(volcano_job: Object, hosts: Mapping[str, Sequence[str]]) -> Object:
    """`hosts`: by task the values of label HOST of the nodes of its pods, in their order; "": it may be on any."""
    return noted(volcano_job, POD_NODES, json.dumps({task: _text(its) for task, its in hosts.items()}))


def on_planned_node(pod: Object, job: Object) -> Object:
    """The pod, kept to the node on which it was planned; as it is if the plan says nothing of it."""
    notes = pod["metadata"]["annotations"]
    planned = json.loads((job["metadata"].get("annotations") or {}).get(POD_NODES, "{}"))
    hosts = _hosts(planned.get(notes[TASK_SPEC], ""))
    index = int(notes[TASK_INDEX])
    if index >= len(hosts) or hosts[index] == _UNPLANNED:
        return pod
    return {**pod, "spec": kept_to(pod["spec"], [hosts[index]])}


def _text(hosts: Sequence[str]) -> str:
    runs = ((host or _UNPLANNED, len(list(same))) for host, same in groupby(hosts))
    return " ".join(host if count == 1 else f"{host}*{count}" for host, count in runs)


def _hosts(text: str) -> list[str]:
    found: list[str] = []
    for word in text.split():
        host, _, count = word.partition("*")
        found += [host] * (int(count) if count else 1)
    return found
