"""The limits that the plan keeps: those of accounts and those of Volcano's Queues, and what has been spent of them."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.api.port import WatchEvent
from hpcbatch.controller.plan_basis import PlanBasis
from hpcbatch.policy.plan.snapshot import Limit
from hpcbatch.policy.planned import capability_limits
from hpcbatch.policy.spent import is_counted


class PlanLimits:
    def __init__(self, basis: PlanBasis) -> None:
        self._basis = basis
        self._of_accounts: tuple[Limit, ...] = ()
        self._of_queues: dict[str, tuple[Limit, ...]] = {}
        self.spent: Mapping[str, int] = {}
        self.counts_spent = self.lacks_spent = False
        """Whether there are limits of what has been used in the course of time, and whether that is not known yet."""

    @property
    def all(self) -> tuple[Limit, ...]:
        return (*self._of_accounts, *(limit for limits in self._of_queues.values() for limit in limits))

    def on_queue(self, event: WatchEvent) -> None:
        """Of a Volcano Queue."""
        name = event.object["metadata"]["name"]
        before = self._of_queues.pop(name, ())
        if event.type != "DELETED" and (limits := capability_limits(event.object)):
            self._of_queues[name] = limits
        if self._of_queues.get(name, ()) != before:
            self._tell_planner()

    def set_of_accounts(self, limits: tuple[Limit, ...]) -> None:
        """Those of the accounts and the site in force."""
        if limits != self._of_accounts:
            self.lacks_spent = is_counted(limits) and (self.lacks_spent or not self.counts_spent)
            self._of_accounts, self.counts_spent = limits, is_counted(limits)
            self._tell_planner()

    def count_spent(self, now_s: float) -> None:
        """Anew, where there are limits of that."""
        if self.counts_spent:
            self.spent, self.lacks_spent = self._basis.order.spent(now_s, self._basis.site().resources), False
            self._basis.is_changed = True

    def _tell_planner(self) -> None:
        self._basis.planner.set_limits(self.all)
        self._basis.is_changed = True
