"""Which job may hold licences next. Pure: who holds and who waits is read from the records of jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from hpcbatch.model.site import SiteConfig
from hpcbatch.model.spec import MAX_WEIGHT
from hpcbatch.model.state import JobState, Reason
from hpcbatch.typed import Any, NamedTuple

Amounts = Mapping[str, int]


class Claim(NamedTuple):
    """The licences of one job that holds them or waits for them."""

    job_id: int
    amounts: Amounts
    weight: int = 0
    """Greater goes first."""

    @property
    def rank(self) -> tuple[int, int]:
        return -self.weight, self.job_id


def claim_of(obj: Mapping[str, Any]) -> Claim | None:
    """That of a BatchJob that has not ended; None if it needs no licences. The members of an array have their own."""
    status = obj.get("status") or {}
    amounts = status.get("licenses")
    if not amounts or "array" in obj["spec"] or JobState(status.get("state", JobState.QUEUED)).is_final:
        return None
    summary = status.get("summary") or {}
    weight = int(summary.get("priority", 0)) - int(summary.get("nice", 0))
    return Claim(int(status["jobId"]), amounts, max(-MAX_WEIGHT, min(MAX_WEIGHT - 1, weight)))


def waits_for_licenses(obj: Mapping[str, Any]) -> bool:
    status = obj.get("status") or {}
    return status.get("state") == JobState.QUEUED and status.get("reason") == Reason.LICENSES


def obstacle(claim: Claim, site: SiteConfig, holding: Iterable[Claim], waiting: Iterable[Claim]) -> str:
    """What keeps a job from its licences, in PBS's form (R required, A available, T total); "" if it may have them.

    None of those that wait for one of the same licences is overtaken by a job of lower rank, unless it can never start.
    """
    held: Counter[str] = Counter()
    for other in holding:
        if other.job_id != claim.job_id:
            held.update(other.amounts)
    ahead: Counter[str] = Counter()
    for other in waiting:
        can_start = all(amount <= site.licenses.get(name, 0) for name, amount in other.amounts.items())
        if other.job_id != claim.job_id and other.rank < claim.rank and can_start:
            ahead.update(other.amounts)
    for name, amount in claim.amounts.items():
        total = site.licenses.get(name, 0)
        free = max(0, total - held[name])
        if amount > free or ahead[name]:
            return f"Insufficient amount of resource: {name} (R: {amount} A: {free} T: {total})"
    return ""
