"""Short jobs first, where the site wants that: its planner, and what records keep of who is due (policy.short_first).

What is due since when is in the records of jobs (`status.dueSince`), from before they start.
"""

from __future__ import annotations

from datetime import UTC, datetime

from hpcbatch.model.record import JobRecord
from hpcbatch.model.site import Policy, SiteConfig
from hpcbatch.policy.plan.planner import Planner
from hpcbatch.policy.plan.snapshot import Snapshot, WaitingJob
from hpcbatch.policy.planned import beside_walltime_s, holds_nodes_s, plan_id, seconds
from hpcbatch.policy.short_first import ShortFirst

SitesPlanner = Planner | ShortFirst
Times = tuple[float, float]


def times_of(site: SiteConfig) -> Times | None:
    """For how long short jobs may hold their nodes, and the delay of others, in seconds; None: no job goes first."""
    wanted = site.short_first
    if wanted is None or site.policy is Policy.VOLCANO:
        return None
    return min(wanted.walltime_s + beside_walltime_s(site), float(wanted.delay_s)), float(wanted.delay_s)


def planner_of(times: Times | None, snapshot: Snapshot) -> SitesPlanner:
    return Planner(snapshot) if times is None else ShortFirst(snapshot, short_s=times[0], delay_s=times[1])


def note_due(planner: SitesPlanner, record: JobRecord, site: SiteConfig) -> None:
    """Before the job is put there, what its record says."""
    if isinstance(planner, ShortFirst) and (since := record.status.due_since) is not None:
        since_s = seconds(since)
        planner.note_due(plan_id(record.job_id), since_s, since_s + holds_nodes_s(record, site))


def due_since(planner: SitesPlanner, record: JobRecord) -> datetime | None:
    """What the record is to say."""
    since_s = planner.due_since(plan_id(record.job_id)) if isinstance(planner, ShortFirst) else None
    return None if since_s is None else record.status.due_since or datetime.fromtimestamp(int(since_s), UTC)


def as_ordered(planner: SitesPlanner, job: WaitingJob) -> WaitingJob:
    """The job with its place as things are now."""
    return planner.as_ordered(job) if isinstance(planner, ShortFirst) else job


def newly_due(planner: SitesPlanner) -> frozenset[str]:
    return planner.take_due() if isinstance(planner, ShortFirst) else frozenset()
