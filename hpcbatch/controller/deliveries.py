"""Output of jobs whose runner was killed: for its memory use, with its node, or by its own script.

In some dialects the runner renames a job's output files at its end (runner/script/output.sh). Where it could not, a
pod made for that renames them before anything of the job is removed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Final

from hpcbatch.api.informer import Informer
from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import VOLCANO_JOBS
from hpcbatch.controller.records import remove
from hpcbatch.dialects.registry import door
from hpcbatch.errors import AlreadyExistsError, HpcBatchError
from hpcbatch.model.record import JobRecord
from hpcbatch.policy.views import volcano_job_view
from hpcbatch.units import parse_rfc3339
from hpcbatch.volcano.delivery import delivery_name
from hpcbatch.volcano.job_names import job_name
from hpcbatch.volcano.report import parse_report

_LOG = logging.getLogger(__name__)
_LOOK_S: Final = 5.0
_LIMIT_S: Final = 600.0
"""Then the output stays as it is: there is no room for the pod, or it cannot start."""


def owes_output(record: JobRecord, first: Object | None) -> bool:
    """Whether the first pod of an ended job, as last seen, ended without delivering the script's output."""
    if record.status.start_time is None or first is None or not door(record.spec.dialect).rules.delivers_output_at_end:
        return False
    container: Object = next(iter(first.get("status", {}).get("containerStatuses", ())), {})
    ended = container.get("state", {}).get("terminated") or {}
    if not ended.get("startedAt"):
        return False
    report = parse_report(ended.get("message", ""))
    # at its start the runner writes that it was killed, and overwrites that at its end
    return ended["exitCode"] != 0 and (report is None or (report.started is not None and report.ended is None))


class Deliveries:
    """`make` returns the Volcano Job that delivers a job's output."""

    def __init__(self, api: Api, volcano_jobs: Informer) -> None:
        self._api, self._volcano_jobs = api, volcano_jobs

    def wait_s(self, record: JobRecord, make: Callable[[], Object], now: datetime) -> float | None:
        """Seconds until the next look; None when nothing is left to do."""
        name, namespace = delivery_name(job_name(record.job_id)), record.namespace
        found = self._volcano_jobs.get(namespace, name)
        if found is None:
            try:
                self._api.create(VOLCANO_JOBS, make(), namespace)
            except AlreadyExistsError:
                pass
            except HpcBatchError as error:
                _LOG.warning("output of job %s/%d is not delivered: %s", namespace, record.job_id, error)
                return None
            return _LOOK_S
        if volcano_job_view(found).is_final:
            return None
        if (now - parse_rfc3339(found["metadata"]["creationTimestamp"])).total_seconds() > _LIMIT_S:
            _LOG.warning("output of job %s/%d is not delivered: its pod does not end", namespace, record.job_id)
            return None
        return _LOOK_S

    def remove(self, record: JobRecord) -> None:
        name = delivery_name(job_name(record.job_id))
        if self._volcano_jobs.get(record.namespace, name) is not None:
            remove(self._api, VOLCANO_JOBS, name, record.namespace)
