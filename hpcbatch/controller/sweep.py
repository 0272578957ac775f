"""Removes leftovers: what killed clients have submitted, records older than the site keeps, the oldest of too many."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from hpcbatch.api.informer import Informer
from hpcbatch.api.names import SECRET_TYPE
from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import BATCHJOBS, SECRETS
from hpcbatch.controller.records import remove, unneeded
from hpcbatch.controller.site_source import SiteSource
from hpcbatch.errors import ForbiddenError, HpcBatchError
from hpcbatch.record.state import state_of
from hpcbatch.site.identity import USER
from hpcbatch.units import parse_rfc3339

_LOG = logging.getLogger(__name__)
_SUBMISSION_KEPT = timedelta(minutes=10)  # a Secret whose BatchJob never came
_SWEEP_S = 300.0
_SWEEP_MORE_S, _SWEEP_SURPLUS_S = 10.0, 1.0
HISTORY_AT_ONCE = 100
"""Records removed in one round: a long history that expires at once must not keep jobs from starting."""
SURPLUS_WAIT = timedelta(minutes=1)
"""Nobody is surprised that a job which has just ended is gone."""


def sweep_submissions(api: Api, namespaces: Iterable[Object], now: datetime) -> None:
    """Remove the Secrets of submissions that were never finished."""
    oldest = now - _SUBMISSION_KEPT
    users = [n["metadata"]["name"] for n in namespaces if USER in (n["metadata"].get("annotations") or {})]
    for namespace in users:  # the controller may not read the Secrets of other namespaces
        try:
            secrets = api.list(SECRETS, namespace, fields=f"type={SECRET_TYPE}").items
        except ForbiddenError as error:  # made by hand, or incomplete: the other namespaces are still swept
            _LOG.warning("looking for submissions without a job in namespace %s: %s", namespace, error)
            continue
        for metadata in (secret["metadata"] for secret in secrets):
            if not metadata.get("ownerReferences") and parse_rfc3339(metadata["creationTimestamp"]) < oldest:
                remove(api, SECRETS, metadata["name"], namespace, uid=metadata["uid"])


def sweep_history(api: Api, batchjobs: Iterable[Object], kept_s: int, now: datetime) -> bool:
    """Remove the records of jobs that ended more than `kept_s` ago, the oldest first. True if there are more."""
    ended = [
        (end, job) for job in batchjobs if (end := _end_of(job)) is not None and (now - end).total_seconds() > kept_s
    ]
    ended.sort(key=lambda pair: pair[0])
    for _, job in ended[:HISTORY_AT_ONCE]:
        metadata = job["metadata"]
        remove(api, BATCHJOBS, metadata["name"], metadata["namespace"], uid=metadata["uid"])
    return len(ended) > HISTORY_AT_ONCE


def sweep_surplus(api: Api, batchjobs: Informer, most: int, now: datetime) -> int:
    """Remove the oldest records of ended jobs of which there are more than `most`, some at a time: so many."""
    ends = [(end, job) for job in batchjobs.items() if (end := _end_of(job)) is not None]
    if len(ends) <= most:
        return 0
    ends.sort(key=lambda pair: pair[0])
    oldest = [job for end, job in ends[: len(ends) - most] if end <= now - SURPLUS_WAIT]
    gone = unneeded(oldest, batchjobs)[:HISTORY_AT_ONCE]
    for metadata in (job["metadata"] for job in gone):
        remove(api, BATCHJOBS, metadata["name"], metadata["namespace"], uid=metadata["uid"])
    return len(gone)


def _end_of(job: Object) -> datetime | None:
    """When the job ended; None while some of its objects are left to remove."""
    status = job.get("status") or {}
    is_over = state_of(job).is_final and status.get("cleaned")
    return parse_rfc3339(status["endTime"]) if is_over and status.get("endTime") else None


class Sweeper:
    """Does all of it now and then, until `stopping`."""

    def __init__(
        self, api: Api, sites: SiteSource, batchjobs: Informer, namespaces: Informer, stopping: threading.Event
    ) -> None:
        self._api, self._sites, self._batchjobs, self._namespaces = api, sites, batchjobs, namespaces
        self._stopping = stopping
        self.thread = threading.Thread(target=self._run, name="batchjobs-sweep", daemon=True)

    def _run(self) -> None:
        pause_s = _SWEEP_S
        while not self._stopping.wait(pause_s):
            pause_s = _SWEEP_S
            try:
                sweep_submissions(self._api, self._namespaces.items(), datetime.now(UTC))
                self._sweep_surplus()
                if self._sweep_history(datetime.now(UTC)):
                    pause_s = _SWEEP_MORE_S
            except HpcBatchError as error:
                _LOG.warning("removing what is no longer needed: %s", error)
            except Exception:
                _LOG.exception("removing what is no longer needed")

    def _sweep_history(self, now: datetime) -> bool:
        """Remove records that the site no longer keeps; True if there are more of them."""
        if not self._sites.is_in_force.is_set():
            return False
        return sweep_history(self._api, self._batchjobs.items(), self._sites.in_force.config.history_kept_s, now)

    def _sweep_surplus(self) -> None:
        """Until there are no more records than the site allows."""
        removed = 0
        while self._sites.is_in_force.is_set() and not self._stopping.is_set():
            most = self._sites.in_force.config.most_records
            some = sweep_surplus(self._api, self._batchjobs, most, datetime.now(UTC))
            removed += some
            if some < HISTORY_AT_ONCE or self._stopping.wait(_SWEEP_SURPLUS_S):
                break
        if removed:
            _LOG.warning("removed the records of the %d oldest jobs: mostRecords allows %d", removed, most)
