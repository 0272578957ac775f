"""Jobs that have ended: their output gets its name, their objects are removed, and their record moves to the history,
or they are queued again.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import BATCHJOBS, CLAIM_TEMPLATES, CONFIGMAPS, SECRETS, VOLCANO_JOBS
from hpcbatch.controller.archive import Archive
from hpcbatch.controller.arrays import Arrays
from hpcbatch.controller.deliveries import Deliveries, owes_output
from hpcbatch.controller.job_pods import JobPods
from hpcbatch.controller.mail import Mailer
from hpcbatch.controller.own_writes import OwnWrites
from hpcbatch.controller.records import Admitted, remove, write_status
from hpcbatch.controller.requests import Requests
from hpcbatch.controller.runs import Runs
from hpcbatch.controller.site_source import SiteSource
from hpcbatch.controller.start_bar import StartBar
from hpcbatch.controller.volcano_jobs import VolcanoJobs
from hpcbatch.dataclass import replace
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.record import JobRecord
from hpcbatch.policy.again import may_run_again, with_members_again
from hpcbatch.volcano import job_names
from hpcbatch.volcano.device_claims import template_name

_MAIL_LOOK_S = 30.0

Key = tuple[str, str]


class Ended:
    """What is left to do for ended jobs. Without an `archive` their records stay BatchJobs."""

    def __init__(
        self,
        api: Api,
        sites: SiteSource,
        *,
        archive: Archive | None,
        mailer: Mailer,
        deliveries: Deliveries,
        job_pods: JobPods,
        volcano_jobs: VolcanoJobs,
        start_bar: StartBar,
        runs: Runs,
        arrays: Arrays,
        requests: Requests,
        own_writes: OwnWrites,
        wake: Callable[[Key], None],
    ) -> None:
        self._api, self._sites, self._archive, self._mailer = api, sites, archive, mailer
        self._deliveries, self._job_pods, self._volcano_jobs = deliveries, job_pods, volcano_jobs
        self._start_bar, self._runs, self._arrays, self._requests = start_bar, runs, arrays, requests
        self._own_writes, self._wake = own_writes, wake

    def reconcile(self, job: Admitted) -> float | None:
        """Bring an ended job on by a step; seconds until the next look, None: the next event suffices."""
        if not job.obj["status"].get("cleaned"):
            if (left_s := self._deliver(job)) is not None:
                return left_s
            job = self._clean(job)
        self._volcano_jobs.remove_latecomer(job.record)
        if self._queue_again(job):
            return None
        if self._archive is not None:
            if self._mailer.owes(job.record):
                return _MAIL_LOOK_S
            self._archive.offer(job.obj)
        return None

    def _queue_again(self, job: Admitted) -> bool:
        """Whether its record was written: it is queued again, or that is refused. An array follows its members."""
        record = self._requests.handle_ended(job.obj, job.record)
        if record is None and job.record.spec.array is not None:
            status = with_members_again(job.record.status, self._arrays.alive(job.key))
            record = None if status is None else replace(job.record, status=status)
        if record is None:
            return False
        written = write_status(self._api, job.obj, record)
        if record.status.state.is_final:  # the reply only: nothing is left to remove
            written = self._mark_cleaned(job)
        self._own_writes.add(written)
        return True

    def _deliver(self, job: Admitted) -> float | None:
        """Give the output of an ended job its own names; seconds until the next look, None when that is done."""
        record, site = job.record, self._sites.in_force
        queue, first = site.config.queue(record.queue), self._job_pods.last_seen_first(job)
        if queue is None or not owes_output(record, first):
            return None
        return self._deliveries.wait_s(record, lambda: self._runs.delivery(job, queue, site), datetime.now(UTC))

    def _clean(self, job: Admitted) -> Admitted:
        """Remove everything of an ended job but its record, and what it would need to run again; the job as it is then,
        which nobody needs to look at again for that.
        """
        record, namespace = job.record, job.record.namespace
        self._deliveries.remove(record)
        remove(self._api, VOLCANO_JOBS, job_names.job_name(record.job_id), namespace)
        remove(self._api, CONFIGMAPS, job_names.conf_name(record.job_id), namespace)
        for name in self._claim_templates(record):
            remove(self._api, CLAIM_TEMPLATES, name, namespace)
        self._start_bar.forget(record.job_id)
        self._runs.forget_conf(record.job_id)
        # the members of an array have its Secret; one that is kept goes with the record, which owns it
        if record.spec.member_of is None and not may_run_again(record.spec):
            remove(self._api, SECRETS, job.obj["spec"].get("submissionSecret", ""), namespace)
        self._job_pods.forget_ended(job.key)
        written = self._own_writes.settle_and_wake(job.key, partial(self._mark_cleaned, job), self._wake)
        return Admitted(written, job.record)

    def _claim_templates(self, record: JobRecord) -> set[str]:
        """Those that the job has by the site as it is; others go with its record, which owns them."""
        site = self._sites.in_force.config
        try:
            return {template_name(record.job_id, chunk, site) for chunk in record.status.layout} - {""}
        except HpcBatchError:  # the site has changed since the job was admitted
            return set()

    def _mark_cleaned(self, job: Admitted) -> Object:
        cleaned = {"status": {"cleaned": True}}
        return self._api.patch(BATCHJOBS, job.record.object_name, cleaned, job.record.namespace, subresource="status")
