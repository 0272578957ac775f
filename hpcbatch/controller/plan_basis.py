"""What all parts of the plan's world go by: the site, its accounts, the order, and the planner with what runs in it."""

from __future__ import annotations

from collections.abc import Callable

from hpcbatch.controller.plan_order import PlanOrder
from hpcbatch.controller.shapes import Shapes
from hpcbatch.controller.short_jobs import SitesPlanner, planner_of
from hpcbatch.model.accounts import first_accounts
from hpcbatch.model.site import SiteConfig
from hpcbatch.policy.owners import Owners
from hpcbatch.policy.plan.snapshot import RunningJob, Snapshot


class PlanBasis:
    def __init__(self, site: Callable[[], SiteConfig], order: PlanOrder) -> None:
        self.site, self.order = site, order
        self.owners = Owners(first_accounts(), frozenset())
        self.shapes = Shapes()
        self.planner: SitesPlanner = planner_of(None, Snapshot(now_s=0.0))
        """Another one as soon as the site's `shortFirst` changes."""
        self.running: dict[str, RunningJob] = {}
        """What the planner has as running, by its names."""
        self.now_s = 0.0
        """Of the last look at what has changed."""
        self.is_changed = True
        """Whether there is something that the last plan does not know and by which jobs may start."""
        self.has_other_ends = False
        """Whether running jobs end at other times than the last plan knows, or have begun as it says: no job starts at
        once by that.
        """

    def put_running(self, job: RunningJob) -> None:
        self.running[job.job_id] = job
        self.planner.put_running(job)

    def drop_running(self, name: str) -> bool:
        """Whether there was one."""
        if self.running.pop(name, None) is None:
            return False
        self.planner.drop_job(name)
        return True
