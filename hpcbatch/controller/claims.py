"""Which running jobs end for which waiting ones. It stands in the record of the waiting one, which is written first;
then each victim's record says so, and only then something is done about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Protocol

from hpcbatch.model.accounts import first_accounts
from hpcbatch.model.record import MOST_TEXT, JobRecord, Preempted, Preempting, Victim
from hpcbatch.model.site import SiteConfig
from hpcbatch.policy.owners import Owners
from hpcbatch.policy.plan.outcome import Preemption
from hpcbatch.policy.planned import places_text, plan_id
from hpcbatch.policy.preemption import Preemptions


class _HasRecord(Protocol):
    record: JobRecord


class Claims:
    def __init__(self, released: Mapping[str, _HasRecord], waiting: Mapping[str, JobRecord]) -> None:
        """The jobs of the plan by its names for them; both change."""
        self._released, self._waiting = released, waiting
        self.rules = Preemptions(SiteConfig(), Owners(first_accounts(), frozenset()))
        self._claimants: dict[str, JobRecord] = {}
        self._by: dict[str, str] = {}
        """Running job → the waiting one for which it ends."""
        self.touched: set[str] = set()
        """Running jobs that have become one of these, or are no longer."""

    def is_victim(self, job_id: str) -> bool:
        return job_id in self._by

    def stands(self, record: JobRecord) -> bool:
        """Whether all that were chosen for the job have ended, or will."""
        preempting = record.status.preempting
        if preempting is None:
            return False
        victims, now = (self._run_of(victim) for victim in preempting.victims), datetime.now(UTC)
        return all(
            _is_ending(victim) or self.rules.preempted(victim, record, now) is not None
            for victim in victims
            if victim is not None
        )

    def note(self, job_id: str, record: JobRecord | None) -> None:
        """Of a job that waits with a claim; None: it has none, or does not wait."""
        preempting = None if record is None else record.status.preempting
        if record is None or preempting is None:
            self._claimants.pop(job_id, None)
        else:
            self._claimants[job_id] = record
        victims = () if preempting is None else preempting.victims
        now = {plan_id(victim.job) for victim in victims if self._run_of(victim) is not None}
        before = {victim for victim, by in self._by.items() if by == job_id}
        for victim in before - now:
            del self._by[victim]
        self._by |= dict.fromkeys(now, job_id)
        self.touched |= before ^ now

    def renew(self) -> None:
        """Other jobs run now: those for which others end may have become known before these."""
        for job_id, record in tuple(self._claimants.items()):
            self.note(job_id, record)

    def forget(self, victim: str) -> None:
        """Its run is over."""
        self._by.pop(victim, None)

    def preempted(self, record: JobRecord, now: datetime) -> Preempted | None:
        """That a running job ends for another one, and how; None if it does not."""
        by = self._waiting.get(self._by.get(plan_id(record.job_id), ""))
        if by is None or by.status.preempting is None:
            return None
        if Victim(job=record.job_id, run=record.status.run_count) not in by.status.preempting.victims:
            return None
        return self.rules.preempted(record, by, now)

    def untold(self) -> Iterator[str]:
        """Victims whose records do not say so yet."""
        for job_id in self._by:
            found = self._released.get(job_id)
            if found is not None and not _is_ending(found.record):
                yield job_id

    def preempting(self, chosen: Preemption, now: datetime) -> Preempting | None:
        """What the record of a waiting job is to say; None: it has no room for that."""
        records = [self._released[job_id].record for job_id in chosen.victims if job_id in self._released]
        victims = tuple(Victim(job=one.job_id, run=one.status.run_count) for one in records)
        places = places_text(chosen.places)
        if len(places) > MOST_TEXT:
            return None
        return Preempting(time=now, places=places, victims=victims, is_ending=chosen.is_ending)

    def _run_of(self, victim: Victim) -> JobRecord | None:
        """The job in that run; None: that is over."""
        found = self._released.get(plan_id(victim.job))
        return found.record if found is not None and found.record.status.run_count == victim.run else None


def _is_ending(record: JobRecord) -> bool:
    return record.status.preempted is not None or record.status.is_rerunning
