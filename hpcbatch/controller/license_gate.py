"""Gives licences to jobs that are about to start, never more than there are: one job at a time is looked at.

All its state is in the API: a job holds its licences while it has a Volcano Job. What was given, but is not in the
caches yet, is kept here; after a restart the caches are complete before any job is started.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from hpcbatch.api.informer import object_key
from hpcbatch.api.port import Object, WatchEvent
from hpcbatch.controller.volcano_jobs import VolcanoJobs
from hpcbatch.model.labels import JOB_ID_LABEL
from hpcbatch.model.record import JobRecord
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.licenses import Claim, claim_of, obstacle, waits_for_licenses
from hpcbatch.policy.observed import Waiting

Key = tuple[str, str]


class LicenseGate:
    """`wake` is called with each job that may now get what it waits for."""

    def __init__(self, volcano_jobs: VolcanoJobs, wake: Callable[[Key], None]) -> None:
        self._volcano_jobs, self._wake = volcano_jobs, wake
        self._lock = threading.Lock()
        self._given: dict[int, Claim] = {}
        self._waiting: set[Key] = set()
        self._claimants: dict[Key, Object] = {}
        """The BatchJobs with licences that have not ended: few of all, so that others cost nothing."""

    def take(self, record: JobRecord, site: SiteConfig) -> Waiting | None:
        """Give the job its licences, or say what prevents that. A job that has them keeps them."""
        if not record.status.licenses:
            return None
        claim = Claim(record.job_id, dict(record.status.licenses), record.spec.weight)
        with self._lock:
            holding, waiting = self._claims()
            if why := obstacle(claim, site, holding, waiting):
                return Waiting(reason=Reason.LICENSES, message=why)
            self._given[record.job_id] = claim
        return None

    def give_back(self, job_id: int) -> None:
        """The job has no Volcano Job, and gets none for now."""
        with self._lock:
            given = self._given.pop(job_id, None)
        if given is not None:
            self.wake_waiting()

    def on_event(self, event: WatchEvent) -> None:
        """Of a BatchJob: what another needs may be free now."""
        obj, key = event.object, object_key(event.object)
        status = obj.get("status") or {}
        if "licenses" not in status and key not in self._claimants:
            return
        is_gone = event.type == "DELETED"
        with self._lock:
            if is_gone or claim_of(obj) is None:
                self._claimants.pop(key, None)
                self._given.pop(int(status["jobId"]), None)
            else:
                self._claimants[key] = obj
        if waits_for_licenses(obj) and not is_gone:
            self._waiting.add(key)
            return
        self._waiting.discard(key)
        state = JobState(status["state"])
        goes_on = state is JobState.QUEUED and bool(status.get("volcanoJob"))  # nobody waits behind it any more
        if is_gone or goes_on or state.is_final or state is JobState.HELD:
            self.wake_waiting()

    def wake_waiting(self) -> None:
        for key in tuple(self._waiting):
            self._wake(key)

    def _claims(self) -> tuple[list[Claim], list[Claim]]:
        """Of those that hold licences, and of those that wait for some."""
        with_volcano_job = {
            (obj["metadata"].get("labels") or {}).get(JOB_ID_LABEL) for obj in self._volcano_jobs.informer.items()
        }
        holding, waiting = dict[int, Claim](), list[Claim]()
        for obj in self._claimants.values():
            if (claim := claim_of(obj)) is None:
                continue
            if obj["status"].get("volcanoJob") or obj["status"]["jobId"] in with_volcano_job:
                self._given.pop(claim.job_id, None)  # the caches show it from now on
                holding[claim.job_id] = claim
            elif waits_for_licenses(obj):
                waiting.append(claim)
        holding |= self._given
        return list(holding.values()), [claim for claim in waiting if claim.job_id not in holding]
