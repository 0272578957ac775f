"""Moves ended jobs from the Kubernetes API to the history: each is written there first, then removed here.

After a kill in between, a job is in both until the next start moves it again. Readers list it once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

from hpcbatch.api.informer import Informer, object_key
from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.controller.records import unneeded
from hpcbatch.controller.site_source import SiteSource
from hpcbatch.errors import ConflictError, HpcBatchError, NotFoundError
from hpcbatch.history.databases import HistoryError
from hpcbatch.history.store import HistoryStore, end_of
from hpcbatch.record.state import state_of

_LOG = logging.getLogger(__name__)
_LOOK_S = 1.0
_AT_ONCE = 200
_REMOVERS = 4
"""So many requests at a time remove what has moved: each waits for the API server, which may have much else to do."""
_CROWD = 2000
"""If more BatchJobs than this have ended, the oldest are moved before their time."""
_CROWD_WAIT = timedelta(seconds=5)
_AGAIN_S = 30.0
"""Pause after a failure of the database."""
_FORGET_S = 300.0

Key = tuple[str, str]


class Archive:
    """Moves the jobs given to `offer`, in its own thread, and removes those that the site no longer keeps."""

    def __init__(
        self,
        api: Api,
        store: HistoryStore,
        batchjobs: Informer,
        sites: SiteSource,
        is_served: Callable[[], bool] = lambda: True,
        *,
        settle: Callable[[], None] = lambda: None,
    ) -> None:
        """Nothing is moved before `is_served`: nobody could read it there. `settle` is that of the Controller."""
        self._is_served, self._settle = is_served, settle
        self._api, self._store, self._batchjobs, self._sites = api, store, batchjobs, sites
        self._ends: dict[Key, datetime] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._removers = ThreadPoolExecutor(_REMOVERS, thread_name_prefix="archive-remove")
        self.moved = 0
        """Jobs moved since the start."""
        self.problem = ""
        """Why nothing is moved now."""
        self.thread = threading.Thread(target=self._run, name="archive", daemon=True)

    def stop(self) -> None:
        """Ask the thread to end after its current step."""
        self._stopping.set()

    @property
    def waiting(self) -> int:
        """Number of ended jobs that have not been moved yet."""
        return len(self._ends)

    def offer(self, job: Object) -> None:
        """Take an ended BatchJob of which only the record is left."""
        with self._lock:
            self._ends[object_key(job)] = end_of(job)

    def ended(self, number: int) -> Object | None:
        """The BatchJob of a job that has been moved. Raises HistoryError."""
        return self._store.by_number(number)

    def ended_member(self, array: int, name: str) -> Object | None:
        """The BatchJob of that name that has been moved, a member of the array of that number. Raises HistoryError."""
        return self._store.member(array, name)

    def _run(self) -> None:
        pause_s, forget_at = _LOOK_S, time.monotonic()
        while not self._stopping.wait(pause_s):
            pause_s = _LOOK_S
            if not (self._sites.is_in_force.is_set() and self._is_served()):
                continue
            try:
                now = datetime.now(UTC)
                if self.move(now):
                    pause_s = 0.0
                if time.monotonic() >= forget_at:
                    has_more = self._store.remove_ended_before(now - self._kept)
                    forget_at = time.monotonic() + (_LOOK_S if has_more else _FORGET_S)
                self.problem = ""
            except HistoryError as error:
                if str(error) != self.problem:
                    _LOG.warning("ended jobs stay BatchJobs for now: %s", error)
                self.problem, pause_s = str(error), _AGAIN_S
            except HpcBatchError as error:
                _LOG.warning("moving ended jobs to the history: %s", error)
                pause_s = _AGAIN_S
            except Exception:
                _LOG.exception("moving ended jobs to the history")
                pause_s = _AGAIN_S
        self._removers.shutdown(wait=False)

    def move(self, now: datetime) -> bool:
        """Move the jobs whose time has come; True if there are more of them. Raises HistoryError, ApiError."""
        movable, ready = self._movable(now), list[Object]()
        for begin in range(0, len(movable), 2 * _AT_ONCE):
            jobs = []
            for key in movable[begin : begin + 2 * _AT_ONCE]:
                job = self._batchjobs.get(*key)
                if job is None or not state_of(job).is_final:
                    self._drop(key)
                else:
                    jobs.append(job)
            ready += unneeded(jobs, self._batchjobs)
            if len(ready) >= _AT_ONCE:
                del ready[_AT_ONCE:]
                break
        if not ready:
            return False
        is_full = len(ready) == _AT_ONCE
        self._settle()
        put = self._put(ready)
        for job, is_gone in zip(put, self._removers.map(self._remove, put), strict=True):
            self.moved += is_gone
            self._drop(object_key(job))
        return is_full

    def _remove(self, job: Object) -> bool:
        """Remove the BatchJob as it has been moved; False if it has changed since: then it may have been queued again,
        and if not, it is offered again.
        """
        metadata = job["metadata"]
        try:
            self._api.delete(
                BATCHJOBS,
                metadata["name"],
                metadata["namespace"],
                uid=metadata["uid"],
                resource_version=metadata["resourceVersion"],
            )
        except NotFoundError:
            pass
        except ConflictError:
            return False
        return True

    def _put(self, jobs: list[Object]) -> list[Object]:
        """The jobs that the history accepted; a rejected one does not block the others. Raises HistoryError."""
        try:
            self._store.put(jobs)
        except HistoryError:
            raise
        except Exception:
            if len(jobs) > 1:
                return [job for one in jobs for job in self._put([one])]
            _LOG.exception("job %s/%s cannot be moved to the history, it stays a BatchJob", *object_key(jobs[0]))
            self._drop(object_key(jobs[0]))
            return []
        return jobs

    def _movable(self, now: datetime) -> list[Key]:
        """Keys of the jobs to move now, the oldest first."""
        with self._lock:
            ends = sorted(self._ends.items(), key=lambda item: item[1])
        last = now - timedelta(seconds=self._sites.in_force.config.history_moved_after_s)
        crowd = max(0, len(ends) - _CROWD)
        return [
            key for place, (key, end) in enumerate(ends) if end <= last or (place < crowd and end <= now - _CROWD_WAIT)
        ]

    @property
    def _kept(self) -> timedelta:
        return timedelta(seconds=self._sites.in_force.config.history_kept_s)

    def _drop(self, key: Key) -> None:
        with self._lock:
            self._ends.pop(key, None)
