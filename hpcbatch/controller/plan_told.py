"""What waiting jobs are told of the plan: why they wait, and when and where they are expected to start."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from hpcbatch.controller.node_rooms import NodeRooms
from hpcbatch.controller.plan_foresight import estimate, foresee
from hpcbatch.controller.plan_world import PlanWorld
from hpcbatch.model.foreseen import Foreseen
from hpcbatch.model.record import JobRecord
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.state import Reason
from hpcbatch.policy.observed import Waiting
from hpcbatch.policy.plan.outcome import Expected, Held, Plan, Preemption, Why
from hpcbatch.policy.planned import Forecast, forecast, is_as_good, plan_id, why_held

_ESTIMATED: Final = 64
"""How many waiting jobs show when they may start, beside those whose start is planned."""
_ESTIMATE_S: Final = 5.0
_SHARE: Final = 0.04
"""Of a thread's time, what estimates may take."""


class _Told(NamedTuple):
    """What a job was last told of the plan."""

    why: Why | None
    limit: str
    start: datetime | None


class PlanTold:
    """Not safe for threads: the gate has the lock."""

    def __init__(self, world: PlanWorld, rooms: NodeRooms) -> None:
        self._world, self._rooms = world, rooms
        self._plan = Plan(now_s=0.0)
        self._estimates: Mapping[str, Expected] = {}
        self._estimate_at = float("-inf")  # by the monotonic clock
        self._is_estimated = True
        self._told: dict[str, _Told] = {}

    def set_plan(self, plan: Plan) -> None:
        self._plan, self._is_estimated = plan, False

    def starts(self, job_id: str) -> None:
        self._told.pop(job_id, None)

    def why(self, record: JobRecord, site: SiteConfig, behind: tuple[float, str] | None) -> Waiting:
        """`behind`: until when by the monotonic clock the job goes behind all others, and why."""
        job_id = plan_id(record.job_id)
        is_known = not (self._world.is_changed or self._world.has_other_ends)
        held = self._plan.held.get(job_id) if is_known else None
        if held is None:  # the next plan has it
            self._told[job_id] = _Told(None, "", None)
            return Waiting(reason=record.status.reason, message=record.status.message)
        if held.why is Why.PRIORITY and job_id not in {*self._plan.expected, *self._estimates}:
            self._told.pop(job_id, None)  # most jobs: they hear of it when that changes
        else:
            self._told[job_id] = self._to_tell(held, record)
        queue = site.queue(record.queue)
        if queue is None:
            return Waiting(reason=Reason.QUEUE_UNAVAILABLE, message="")
        if behind is not None and behind[0] > time.monotonic():
            return Waiting(reason=Reason.RESOURCES, message=behind[1])
        return why_held(held, record, self._rooms.get(), queue=queue, site=site)

    def changes(self) -> list[str]:
        """The held jobs that show something else than the plan says."""
        found, world = [], self._world
        for job_id in {*self._plan.expected, *self._estimates, *self._told}:
            held, record = self._plan.held.get(job_id), world.records.get(job_id)
            told = self._told.get(job_id)
            if record is None or held is None:
                self._told.pop(job_id, None)
            elif told != self._to_tell(held, record):
                found.append(job_id)
        return found

    def _to_tell(self, held: Held, record: JobRecord) -> _Told:
        return _Told(held.why, "" if held.limit is None else held.limit.code, self.forecast(record).start)

    def forecast(self, record: JobRecord) -> Forecast:
        """When and where the plan starts a waiting job; what the record shows already, where that is near enough."""
        job_id = plan_id(record.job_id)
        if job_id not in self._world.waiting:
            return Forecast()
        expected = self._plan.expected.get(job_id) or self._estimates.get(job_id)
        found = forecast(expected, self._plan.now_s)
        shown = record.status.planned_start
        if is_as_good(shown, found.start, at_s=self._plan.now_s):
            return Forecast(shown, record.status.planned_nodes)
        return found

    def foresee(self, record: JobRecord, found: Foreseen) -> Foreseen:
        """`found` with when and where the job would start that came now."""
        expected = foresee(self._world, record, _ESTIMATED, time.time())
        if isinstance(expected, Held):
            return found._replace(never_fits=expected.why is Why.NEVER_FITS)
        if isinstance(expected, Preemption):  # as Slurm tells it: now
            found = found._replace(preempts=tuple(sorted(map(int, expected.victims))))
            expected = Expected(start_s=time.time(), shape=expected.shape, places=expected.places)
        start, nodes = forecast(expected, time.time())
        return found if start is None else found._replace(start=start, nodes=tuple(nodes.split(",")))

    # Estimates

    def may_estimate(self) -> bool:
        """Now and then: it is only shown."""
        return not self._is_estimated and time.monotonic() >= self._estimate_at

    def estimate(self) -> None:
        began = time.monotonic()
        self._is_estimated = True
        planned = 0 if self._world.has_short_first else 1  # one that is not due is not
        self._estimates = estimate(self._world, _ESTIMATED) if len(self._world.waiting) > planned else {}
        took_s = time.monotonic() - began
        self._estimate_at = began + max(_ESTIMATE_S, took_s / _SHARE)

    def until_s(self) -> float:
        """Seconds until the next estimate."""
        return float("inf") if self._is_estimated else max(0.0, self._estimate_at - time.monotonic())
