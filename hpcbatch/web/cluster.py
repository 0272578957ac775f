"""The nodes and what runs on each, and the queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from hpcbatch.client.nodes import list_nodes
from hpcbatch.client.queues import list_queues
from hpcbatch.model.row import JobRow, NodeRow
from hpcbatch.model.state import WAITING, JobState
from hpcbatch.units import counted
from hpcbatch.web.charts import share
from hpcbatch.web.facts import Facts
from hpcbatch.web.jobs import shown_id
from hpcbatch.web.page import Page, Part, Request

_RUNS = frozenset({JobState.RUNNING, JobState.SUSPENDED, JobState.EXITING})
_COLOURS = 8


class NodeLine(NamedTuple):
    node: NodeRow
    state: str
    kind: str
    bar: Markup
    jobs: Sequence[tuple[JobRow, str, int]]
    """What runs there: the row, its id, and its CPUs there."""
    others: int
    """CPUs of what is no job, or no job that the user may see."""


def state_of(node: NodeRow) -> tuple[str, str]:
    """In a word, and its class of the style sheet."""
    if node.is_down:
        return "down", "failed"
    if not node.schedulable:
        return "drained" if node.is_drained else "takes no jobs", "held"
    if node.cpus_used >= node.cpus:
        return "full", "runs"
    return ("partly used", "runs") if node.cpus_used else ("free", "done")


def node_line(node: NodeRow, rows: Sequence[JobRow], address: Any) -> NodeLine:
    jobs = []
    for row in rows:
        cpus = sum(count for host, count in zip(row.hosts, row.cpus_per_host, strict=False) if host == node.name)
        if node.name in row.hosts:
            jobs.append((row, shown_id(row), cpus))
    others = max(0, node.cpus_used - sum(cpus for _, _, cpus in jobs))
    total = max(1, node.cpus)
    parts = [
        (
            cpus / total,
            f"part-{row.job_id % _COLOURS}",
            f"job {name} of {row.user}: {counted(cpus, 'CPU')}",
            address(f"jobs/{row.job_id}"),
        )
        for row, name, cpus in jobs
    ]
    if others:
        parts.append((others / total, "part-other", f"others: {counted(others, 'CPU')}", ""))
    state, kind = state_of(node)
    return NodeLine(node, state, kind, share(parts, f"{max(0, node.cpus - node.cpus_used)} free"), jobs, others)


def nodes_page(facts: Facts, _request: Request, address: Any) -> Page:
    def table() -> Mapping[str, Any]:
        rows = [row for row in facts.rows() if row.state in _RUNS and not row.array_indices]
        nodes = list_nodes(facts.api, facts.namespace)
        ready = [node for node in nodes if node.ready and node.schedulable]
        return {
            "lines": [node_line(node, rows, address) for node in nodes],
            "ready": len(ready),
            "used": sum(node.cpus_used for node in ready),
            "cpus": sum(node.cpus for node in ready),
        }

    return Page("nodes.html", "Nodes", {}, {"nodes": Part("nodes_table.html", table, 5)})


def queues_page(facts: Facts, _request: Request) -> Page:
    def table() -> Mapping[str, Any]:
        rows = [row for row in facts.rows() if not (row.array_indices and row.start_time is not None)]
        nodes = list_nodes(facts.api, facts.namespace)
        lines = []
        for queue in (one for one in list_queues(facts.api) if not one.is_hidden):
            own = [row for row in rows if row.queue == queue.name]
            running = [row for row in own if row.state in _RUNS]
            lines.append(
                {
                    "queue": queue,
                    "running": len(running),
                    "cpus": sum(row.cpus for row in running),
                    "held": sum(row.state is JobState.HELD for row in own),
                    "waiting": sum(row.state in WAITING - {JobState.HELD} for row in own),
                    "nodes": sum(queue.reaches(node) for node in nodes),
                }
            )
        return {"lines": lines}

    return Page("queues.html", "Queues", {}, {"queues": Part("queues_table.html", table, 5)})
