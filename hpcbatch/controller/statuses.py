"""How the controller writes the status of a job: not more often than it shows something, and with no look at itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Final

from hpcbatch.api.port import Api, Object
from hpcbatch.controller.own_writes import OwnWrites
from hpcbatch.controller.records import Admitted, write_status
from hpcbatch.dataclass import replace
from hpcbatch.model.record import JobRecord
from hpcbatch.model.state import JobState

_EXITING_S: Final = 1.5
"""How long a run whose script has ended shows what it did before: most ends take no longer, and are one write. A
kubelet says that a container has ended a second before it says so of its pod.
"""
_STARTING_S: Final = 3.0
"""How long a job that may start still shows why it waited, and no Volcano Job: most starts take no longer. Who comes
after a kill finds the Volcano Job all the same.
"""

Key = tuple[str, str]


class Statuses:
    """`wake` is called with a job that has changed while its status was written, `mail` with what was written."""

    def __init__(
        self,
        api: Api,
        own_writes: OwnWrites,
        *,
        wake: Callable[[Key], None],
        mail: Callable[[Object, JobRecord], None],
    ) -> None:
        self._api, self._own_writes, self._wake, self._mail = api, own_writes, wake, mail
        self._put_off: dict[Key, tuple[JobState, float]] = {}
        """The states that the records of jobs do not say yet, and since when."""

    def write(self, job: Admitted, record: JobRecord, volcano_job: str, *, is_settled: bool) -> float | None:
        """Write the record's status. `is_settled`: nothing follows from that but mails, see `policy.settled`.
        Returns the seconds after which to try again if it is not to be written yet, else None.
        """
        if is_settled and (moment_s := _may_wait_s(job, record, volcano_job)):
            state, since_s = self._put_off.get(job.key, (None, 0.0))
            if state is not record.status.state:
                since_s = time.monotonic()
                self._put_off[job.key] = record.status.state, since_s
            if (left_s := since_s + moment_s - time.monotonic()) > 0:
                return left_s
        self._put_off.pop(job.key, None)
        write = partial(write_status, self._api, job.obj, record, volcano_job)
        if not is_settled:
            self._own_writes.add(write())
            return None
        self._mail(self._own_writes.settle_and_wake(job.key, write, self._wake), record)
        return None


def _may_wait_s(job: Admitted, record: JobRecord, volcano_job: str) -> float:
    """How long a write can wait for the one that mostly follows at once, and says more."""
    before, now = job.record.status, record.status
    if before.state in {JobState.QUEUED, JobState.RUNNING} and now.state is JobState.EXITING:
        return _EXITING_S
    is_let_start = before.state is now.state is JobState.QUEUED and bool(volcano_job)
    if is_let_start and not record.status.licenses:  # who has a Volcano Job is said to hold them
        shown = {name: getattr(before, name) for name in ("reason", "message", "planned_start", "planned_nodes")}
        if replace(now, **shown) == before:
            return _STARTING_S
    return 0.0
