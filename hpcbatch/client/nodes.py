"""The nodes, with their usage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime

from hpcbatch.api.client import TableApi
from hpcbatch.api.nodes import is_reserved
from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import HYPERNODES, NODES, NUMATOPOLOGIES, PODS
from hpcbatch.client.listing import list_rows
from hpcbatch.errors import ForbiddenError, HpcBatchError, NotFoundError
from hpcbatch.model.grouping import tiers_of
from hpcbatch.model.labels import HAS_CPUS_ANNOTATION, JOB_ID_LABEL, NODE_COMMENT, NODE_COMMENT_BY, NODE_COMMENT_TIME
from hpcbatch.model.node_marks import marks_of
from hpcbatch.model.row import JobRow, NodeRow
from hpcbatch.model.text import printable, printable_tree
from hpcbatch.typed import TYPE_CHECKING
from hpcbatch.units import cpu_milli, memory_bytes, parse_rfc3339

if TYPE_CHECKING:
    from hpcbatch.model.cpu_topology import CpuTopology

_MOST_DIGITS = 8


def list_nodes(api: TableApi, namespace: str) -> list[NodeRow]:
    """The nodes with their usage, by name; without those reserved for other purposes."""
    found = [node for node in api.list(NODES).items if not is_reserved(node)]
    try:
        used = _used_by_pods(api)
    except ForbiddenError:  # an ordinary user on a cluster; the records show nearly the same
        used = _used_by_rows(list_rows(api, namespace, finished=False))
    return sorted((_node_row(node, used.get(node["metadata"]["name"], _Use())) for node in found), key=_node_order)


def node_labels(api: Api) -> dict[str, dict[str, str]]:
    """The labels of each node that `list_nodes` has."""
    found = (node["metadata"] for node in api.list(NODES).items if not is_reserved(node))
    return {metadata["name"]: dict(metadata.get("labels") or {}) for metadata in found}


def cpu_topologies(api: Api) -> dict[str, CpuTopology]:
    """By the names of the nodes; of those that Volcano's resource-exporter describes, if it is there."""
    from hpcbatch.model.cpu_topology import cpu_topology

    try:
        found = api.list(NUMATOPOLOGIES).items
    except (NotFoundError, ForbiddenError):
        return {}
    return {obj["metadata"]["name"]: cpu_topology(obj) for obj in found}


def with_hypernodes(
    api: Api, nodes: Mapping[str, Mapping[str, str]], levels: Iterable[str]
) -> dict[str, dict[str, str]]:
    """The labels of nodes, and those that Volcano's HyperNodes are to say among `levels`."""
    found = {name: dict(labels) for name, labels in nodes.items()}
    if tiers := tiers_of(levels):
        from hpcbatch.policy.hypernodes import labels_of_tiers

        try:
            hypernodes = api.list(HYPERNODES).items
        except NotFoundError:  # this Volcano has none
            return found
        for name, more in labels_of_tiers(hypernodes, nodes, tiers).items():
            found[name] |= more
    return found


def count_nodes(api: Api) -> int:
    """How many nodes `list_nodes` has."""
    return sum(not is_reserved(node) for node in api.list(NODES).items)


class _Use:
    """The resources that pods hold on one node."""

    __slots__ = ("extended", "jobs", "mem_bytes", "milli")

    def __init__(self) -> None:
        self.milli = self.mem_bytes = 0
        self.jobs: set[str] = set()
        self.extended: Counter[str] = Counter()


def _used_by_pods(api: Api) -> dict[str, _Use]:
    used: dict[str, _Use] = {}
    for pod in api.list(PODS, fields="status.phase!=Succeeded,status.phase!=Failed").items:
        if not (node := pod["spec"].get("nodeName")):
            continue
        use, milli = used.setdefault(node, _Use()), 0
        for container in pod["spec"].get("containers") or []:
            requests = (container.get("resources") or {}).get("requests") or {}
            milli += cpu_milli(requests.get("cpu", 0))
            use.mem_bytes += memory_bytes(requests.get("memory", 0))
            use.extended.update(_extended(requests))
        has = (pod["metadata"].get("annotations") or {}).get(HAS_CPUS_ANNOTATION, "")
        use.milli += 1000 * int(has) if has.isdecimal() and len(has) < _MOST_DIGITS else milli
        if number := (pod["metadata"].get("labels") or {}).get(JOB_ID_LABEL):
            use.jobs.add(number)
    return used


def _used_by_rows(rows: Iterable[JobRow]) -> dict[str, _Use]:
    used: dict[str, _Use] = {}
    for row in rows:
        for node, cpus in zip(row.hosts, row.cpus_per_host, strict=True):
            use = used.setdefault(node, _Use())
            use.milli += 0 if row.frees_cpus else 1000 * cpus
            use.mem_bytes += (row.mem_bytes or 0) // len(row.hosts)
            for part in filter(None, row.resources.split(",")):
                name, _, amount = part.rpartition("=")
                use.extended[name] += int(amount) // len(row.hosts)
            use.jobs.add(str(row.job_id))
    return used


def _node_row(node: Object, use: _Use) -> NodeRow:
    status = node.get("status") or {}
    ready: Object = next((c for c in status.get("conditions") or [] if c.get("type") == "Ready"), {})
    since = ready.get("lastTransitionTime")
    room = status.get("allocatable") or {}
    notes = node["metadata"].get("annotations") or {}
    return NodeRow(
        name=node["metadata"]["name"],
        ready=ready.get("status") == "True",
        schedulable=not (node.get("spec") or {}).get("unschedulable"),
        cpus=cpu_milli(room.get("cpu", 0)) // 1000,
        mem_bytes=memory_bytes(room.get("memory", 0)),
        cpus_used=use.milli // 1000,  # fractions of a CPU, as daemons request, do not make a node busy
        mem_used_bytes=use.mem_bytes,
        jobs=tuple(sorted(use.jobs, key=int)),
        arch=printable((status.get("nodeInfo") or {}).get("architecture") or "amd64"),
        since=parse_rfc3339(since) if since else None,
        labels=frozenset(printable_tree(node["metadata"].get("labels") or {}).items()),
        comment=printable(notes.get(NODE_COMMENT, "")),
        comment_by=printable(notes.get(NODE_COMMENT_BY, "")),
        comment_time=_moment(notes.get(NODE_COMMENT_TIME, "")),
        marks=marks_of(node),
        extended=frozenset(_extended(room).items()),
        extended_used=frozenset(use.extended.items()),
    )


def _extended(amounts: Mapping[str, object]) -> dict[str, int]:
    """The extended resources among them. They are whole numbers; others are left out."""
    found = {name: str(amount) for name, amount in amounts.items() if _is_extended(name)}
    return {name: int(text) for name, text in found.items() if text.isdecimal() and len(text) < _MOST_DIGITS}


def _is_extended(name: str) -> bool:
    domain, slash, _ = name.rpartition("/")
    return bool(slash) and domain != "kubernetes.io" and not domain.endswith(".kubernetes.io")


def _moment(text: str) -> datetime | None:
    """None for what is no time: annotations hold what somebody wrote."""
    try:
        return parse_rfc3339(text)
    except HpcBatchError:
        return None


def _node_order(row: NodeRow) -> tuple[tuple[int, int | str], ...]:
    """node-2 before node-10."""
    parts: list[tuple[int, int | str]] = []
    digits = ""
    for char in row.name + " ":
        if char.isascii() and char.isdigit():
            digits += char
            continue
        if digits:
            parts.append((0, int(digits)))
            digits = ""
        parts.append((1, char))
    return tuple(parts)
