"""Which waiting jobs have ways to run that depend on the groups of nodes, and when these are to be looked at anew."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from hpcbatch.model.record import JobRecord
from hpcbatch.model.site import SiteConfig
from hpcbatch.policy.grouping import choices, groups_of, until_s
from hpcbatch.policy.plan.snapshot import Node, Shape
from hpcbatch.policy.planned import plan_id


class Groupings:
    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._nodes = nodes
        self._due_s: dict[str, float] = {}
        self._groups: dict[str, tuple[str, ...]] = {}
        """By label, those that the jobs' ways to run were made from."""
        self.has_other_labels = False
        """A node has come, gone, or got other labels since `outdated` looked."""

    def shapes(self, record: JobRecord, shape: Shape, site: SiteConfig, now_s: float) -> tuple[Shape, ...]:
        """The ways in which a waiting job can run."""
        job_id = plan_id(record.job_id)
        level = site.level_of(record.spec.grouping)
        if record.spec.grouping is None or level is None:
            self._due_s.pop(job_id, None)
            return (shape,)
        until = until_s(record)
        any_will_do = until is not None and until <= now_s
        self._due_s[job_id] = math.inf if until is None or any_will_do else until
        groups = self._groups[level.label] = self._seen(level.label)
        return choices(shape, record.spec.grouping, level.label, groups, any_will_do=any_will_do)

    def forget(self, job_id: str) -> None:
        self._due_s.pop(job_id, None)

    def outdated(self, now_s: float) -> Iterable[str]:
        """The jobs whose ways to run may be other ones by now."""
        if not self._due_s:
            return ()
        if self.has_other_labels:
            self.has_other_labels = False
            if any(self._seen(label) != groups for label, groups in self._groups.items()):
                return tuple(self._due_s)
        return tuple(job_id for job_id, due_s in self._due_s.items() if due_s <= now_s)

    @property
    def next_s(self) -> float:
        """When a job has waited long enough for its groups."""
        return min(self._due_s.values(), default=math.inf)

    def _seen(self, label: str) -> tuple[str, ...]:
        return groups_of(label, (node.labels for node in self._nodes.values()))
