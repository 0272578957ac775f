"""Lets the PodGroups of jobs in which the plan has just released, as Volcano's scheduler would a little later.

Volcano makes the pods of a job once its PodGroup is Inqueue. Its scheduler says so at the end of a session, and gives
the pods their nodes in the next one, a period (1 s) later. Where the plan has decided that the job runs now, the first
of the two decides nothing more: the PodGroup is made Inqueue as soon as it is there, and one period is saved.

Nothing depends on this, and nothing of it is kept: what is not done here, be it for a kill or an error, the scheduler
does. What the scheduler has said of a PodGroup before, also that it has to wait, stays.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

from hpcbatch.api.informer import WorkQueue
from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import PODGROUPS
from hpcbatch.controller.site_source import SiteSource
from hpcbatch.errors import ApiError, ConflictError, ForbiddenError, NotFoundError, UnreachableError
from hpcbatch.model.scheduler import Scheduler
from hpcbatch.model.site import Policy
from hpcbatch.policy.lone_pod import is_given_away
from hpcbatch.volcano.job_objects import pod_group_name

_LOG = logging.getLogger(__name__)
_INQUEUE: Final = "Inqueue"
_FIRST_LOOK_S: Final = 0.05
"""Volcano's controllers take about so long to make a PodGroup."""
_LOOKS: Final = 5
"""Each waits twice as long as the one before: together 1.5 s, after which the scheduler has looked."""
_NEXT_LOOK_S: Final = 0.02
_MANY_LOOKS: Final = 20
"""Where somebody waits for a prompt it is looked so often for, before it is as with others."""
_MOST: Final = 16
"""PodGroups at a time: of many jobs that start at once the scheduler's next session sees most anyway."""

Key = tuple[str, str]


class LetIn:
    def __init__(self, api: Api, sites: SiteSource) -> None:
        self._api, self._sites = api, sites
        self._queue: WorkQueue[Key] = WorkQueue(first_backoff_s=_FIRST_LOOK_S)
        self._waiting: dict[Key, int] = {}
        """How many looks in quick succession are left for each."""
        self._is_off = False
        self.thread = threading.Thread(target=self._run, name="let-in", daemon=True)

    def stop(self) -> None:
        self._queue.stop()

    @property
    def is_idle(self) -> bool:
        """Whether no PodGroup is waited for."""
        return not self._waiting

    def was_made(self, volcano_job: Object) -> None:
        """The Volcano Job of a job that the plan has released, as the API has answered."""
        site = self._sites.in_force.config
        if self._is_off or site.scheduler is not Scheduler.VOLCANO or site.policy is Policy.VOLCANO:
            return
        key = volcano_job["metadata"]["namespace"], pod_group_name(volcano_job)
        if len(self._waiting) < _MOST:
            is_urgent = is_given_away(volcano_job)
            self._waiting[key] = _MANY_LOOKS if is_urgent else 0
            self._queue.add_after(key, _NEXT_LOOK_S if is_urgent else _FIRST_LOOK_S)

    def _run(self) -> None:
        while (key := self._queue.get()) is not None:
            try:
                is_done = self._look(*key)
            except (ApiError, UnreachableError) as error:
                _LOG.info("PodGroup %s/%s is left to the scheduler: %s", *key, error)
                is_done = True
            if is_done or self._is_off or self._queue.failures(key) + 1 >= _LOOKS:
                self._waiting.pop(key, None)
                self._queue.forget(key)
            elif self._waiting[key]:
                self._waiting[key] -= 1
                self._queue.add_after(key, _NEXT_LOOK_S)
            else:
                self._queue.retry(key)
            self._queue.done(key)

    def _look(self, namespace: str, name: str) -> bool:
        """Whether there is no more to do."""
        try:
            group = self._api.get(PODGROUPS, name, namespace)
            if (group.get("status") or {}).get("phase"):
                return True
            version = {"resourceVersion": group["metadata"]["resourceVersion"]}
            patch = {"metadata": version, "status": {"phase": _INQUEUE}}
            group = self._api.patch(PODGROUPS, name, patch, namespace)
        except (NotFoundError, ConflictError):
            return False
        except ForbiddenError as error:
            self._turn_off(f"{error}; `kubectl apply -k deploy` gives the right")
            return True
        if (group.get("status") or {}).get("phase") != _INQUEUE:
            self._turn_off("this Volcano keeps what is said of them apart")
        return True

    def _turn_off(self, why: str) -> None:
        self._is_off = True
        _LOG.warning("PodGroups are left to Volcano's scheduler, so each job starts up to a second later: %s", why)
