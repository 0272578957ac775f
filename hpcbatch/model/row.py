"""What listings show: rows of jobs, nodes and queues.

Named tuples: every command makes these classes at its start, and a frozen dataclass costs a millisecond there.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from hpcbatch.model.dialect import Dialect
from hpcbatch.model.state import JobState, Reason


class JobRow(NamedTuple):
    """What a listing shows of a job: the BatchJob's printer columns, a few hundred bytes."""

    job_id: int
    namespace: str
    object_name: str
    dialect: Dialect
    server: str
    name: str
    user: str
    queue: str
    state: JobState
    reason: Reason
    message: str
    nodes: int
    cpus: int
    mem_bytes: int | None
    """Of all chunks together; None when no memory was asked."""
    walltime_s: int | None
    cpu_used_s: int | None
    hosts: tuple[str, ...]
    """Node of each pod in order; a node that holds two pods stands twice."""
    cpus_per_host: tuple[int, ...]
    submit_time: datetime | None
    eligible_time: datetime | None
    start_time: datetime | None
    end_time: datetime | None
    begin_time: datetime | None
    exit_code: int | None
    exit_signal: int | None
    priority: int
    account: str
    work_dir: str
    command: str
    session_id: int | None
    tres_per_node: str = ""
    """Generic resources as Slurm writes them, `gres:gpu:2`; of a node, of the job, of a task."""
    tres_per_job: str = ""
    tres_per_task: str = ""
    features: str = ""
    """Slurm's --constraint as given."""
    qos: str = ""
    """Slurm's --qos as given."""
    array_id: int | None = None
    """Of a member: the number of its array."""
    array_index: int | None = None
    keeps_number: bool = False
    """A member that Slurm knows by its array's number (model.array.Membership)."""
    array_indices: str = ""
    """Of an array, as model.indices writes them: all, and below where they stand (model.array.ArrayStatus)."""
    array_pending: str = ""
    array_active: str = ""
    array_succeeded: str = ""
    array_failed: str = ""
    array_deleted: str = ""
    array_limit: int | None = None
    array_held: str = ""
    """Members that users hold singly; of a whole record's row always empty."""
    nice: int = 0
    dependency: str = ""
    """What it still waits for of other jobs, as model.dependency.format_left writes it."""
    run_count: int = 0
    rerunnable: bool = True
    uid: int | None = None
    """Whose job it is; None as long as an older controller has not said so."""


class NodeRow(NamedTuple):
    """A node as pbsnodes and sinfo show it."""

    name: str
    ready: bool
    schedulable: bool
    cpus: int
    mem_bytes: int
    cpus_used: int
    mem_used_bytes: int
    jobs: tuple[str, ...] = ()
    """Job numbers with pods on it, as text, in order."""
    arch: str = "amd64"
    since: datetime | None = None
    """Last change of its readiness."""
    labels: frozenset[tuple[str, str]] = frozenset()


class QueueRow(NamedTuple):
    """A queue or partition as qstat -Q and sinfo show it. None: no limit, no default."""

    name: str
    is_default: bool
    is_open: bool
    max_walltime_s: int | None = None
    default_walltime_s: int | None = None
    max_nodes: int | None = None
    max_cpus: int | None = None
    """Of all nodes of a job together."""
    max_mem_per_node_bytes: int | None = None
    default_mem_per_node_bytes: int | None = None
    node_selector: tuple[tuple[str, str], ...] = ()
    """Labels of the nodes that it reaches."""

    def reaches(self, node: NodeRow) -> bool:
        return all(pair in node.labels for pair in self.node_selector)
