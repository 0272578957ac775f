"""Takes jobs on: from routing queues, again and again until a destination takes them, and running ones into the
reservations that were made of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime

from hpcbatch.api.port import Api, Object
from hpcbatch.controller.intake import Intake
from hpcbatch.controller.records import Admitted, write_status
from hpcbatch.controller.site_source import SiteSource
from hpcbatch.dataclass import replace
from hpcbatch.errors import ApiError, HpcBatchError, RefusedError, UnreachableError
from hpcbatch.model.site import QueueConfig
from hpcbatch.policy.reserved import made_of
from hpcbatch.policy.routing import is_routed, rejected

_LOG = logging.getLogger(__name__)


class Routes:
    def __init__(self, api: Api, intake: Intake, sites: SiteSource, wrote: Callable[[Object], None]) -> None:
        self._api, self._intake, self._sites, self._wrote = api, intake, sites, wrote

    def move(self, job: Admitted) -> bool:
        """Whether the job has left its routing queue, ended in it, or moved into its own reservation. The event of the
        write leads to the next look.
        """
        if reservation := made_of(job.record, self._sites.in_force.config):
            self._wrote(write_status(self._api, job.obj, replace(job.record, queue=reservation), job.volcano_job))
            return True
        queue = self.queue_of(job)
        if queue is None or job.obj["spec"].get("deleteRequested") or not is_routed(queue, job.record.status.state):
            return False
        with self._intake.counting():
            try:
                record = self._intake.reroute(job.obj, job.record, self._sites.in_force.config)
            except (ApiError, UnreachableError):
                raise
            except RefusedError as refused:
                record = replace(job.record, status=rejected(job.record.status, str(refused), datetime.now(UTC)))
            except HpcBatchError as error:
                _LOG.warning("job %s stays in routing queue %s: %s", job.record.job_id, queue.name, error)
                return False
            if record is job.record:
                return False
            self._wrote(write_status(self._api, job.obj, record, job.volcano_job))
        return True

    def queue_of(self, job: Admitted) -> QueueConfig | None:
        """The routing queue that the job is in."""
        site = self._sites.in_force.config
        queue = site.queue(job.record.queue) if site.has_routes else None
        return None if queue is None or queue.destinations is None else queue
