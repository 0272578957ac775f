"""Which scheduler of the cluster gives the pods of jobs their nodes."""

from __future__ import annotations

from enum import StrEnum

from hpcbatch.typed import Final


class Scheduler(StrEnum):
    VOLCANO = "volcano"  # with its controllers, which make the pods; for all others hpcbatch's controller makes them
    COSCHEDULING = "coscheduling"  # the plugin of scheduler-plugins, and what comes from it
    KOORDINATOR = "koordinator"
    KUEUE = "kueue"  # whose quota lets jobs in; the default scheduler binds their pods
    NONE = "none"  # none for gangs: the default scheduler, and the plan alone sees to all or nothing

    @property
    def makes_pods(self) -> bool:
        """Whether it comes with controllers that make the pods of Volcano Jobs."""
        return self is Scheduler.VOLCANO

    @property
    def may_bind_in_part(self) -> bool:
        """Whether a job may have some of its nodes and not get the others: it is taken back whole then."""
        return not self.makes_pods

    @property
    def binds_one_by_one(self) -> bool:
        """Whether it gives one pod its node without looking at the others of the job. So each pod is made for the node
        on which it was planned.
        """
        return self in {Scheduler.KUEUE, Scheduler.NONE}


USUAL_NAME: Final = {
    Scheduler.VOLCANO: "volcano",
    Scheduler.COSCHEDULING: "scheduler-plugins-scheduler",
    Scheduler.KOORDINATOR: "koord-scheduler",
    Scheduler.KUEUE: "default-scheduler",
    Scheduler.NONE: "default-scheduler",
}
"""The schedulerName of its pods, where the site names no other."""
