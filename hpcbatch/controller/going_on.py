"""Which suspended jobs leave their CPUs to others, and which of them wait to go on, as PlanWorld plans them."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.controller.released import Released
from hpcbatch.model.record import JobRecord
from hpcbatch.model.spec import Sharing
from hpcbatch.model.state import JobState
from hpcbatch.policy.plan.snapshot import Node, WaitingJob
from hpcbatch.policy.planned import plan_id


class GoingOn:
    """Jobs by the plan's names for them."""

    def __init__(self) -> None:
        self.jobs: dict[str, WaitingJob] = {}
        """What the plan has for each that waits to go on."""
        self.let: set[str] = set()
        """Those that go on by the last plan, which their records do not say yet."""
        self._stopped: set[str] = set()
        """Those that are suspended by request."""

    def note(self, record: JobRecord, *, is_suspended: bool) -> None:
        """A record as it is written."""
        job_id = plan_id(record.job_id)
        if is_suspended:
            self._stopped.add(job_id)
        else:
            self._stopped.discard(job_id)
        if is_suspended or not _is_freed(record):
            self.let.discard(job_id)

    def frees_cpus(self, record: JobRecord) -> bool:
        return _is_freed(record) and plan_id(record.job_id) not in self.let

    def waits(self, record: JobRecord) -> bool:
        """For its CPUs, to go on."""
        return self.frees_cpus(record) and plan_id(record.job_id) not in self._stopped

    def put(self, job_id: str, wanted: WaitingJob | None) -> WaitingJob | None:
        """What the plan has for it from now on. Returns what it had."""
        before = self.jobs.pop(job_id, None)
        if wanted is not None:
            self.jobs[job_id] = wanted
        return before

    def forget(self, job_id: str) -> None:
        self.jobs.pop(job_id, None)
        self.let.discard(job_id)
        self._stopped.discard(job_id)


def lacking(released: Released, nodes: Mapping[str, Node]) -> dict[str, int]:
    """By node, the CPU that the job waits for, in thousandths: what its pods have given up. One that is alone on its
    nodes waits until nobody has any CPU there. A node that takes no pods has what it had: nobody else has got it.
    """
    found = {name: milli for name, milli in released.lacks_milli().items() if milli and _is_open(nodes.get(name))}
    if released.record.spec.sharing is not Sharing.EXCLUSIVE:
        return found
    return {name: max(milli, nodes[name].has.get("cpu", 0)) for name, milli in found.items()}


def _is_open(node: Node | None) -> bool:
    return node is not None and node.is_open


def _is_freed(record: JobRecord) -> bool:
    return record.status.state is JobState.SUSPENDED and record.status.frees_cpus
