"""What is left to do for an ended job: its output gets its own names, and all but its record is removed."""

from __future__ import annotations

from datetime import UTC, datetime

from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import BATCHJOBS, CONFIGMAPS, SECRETS, VOLCANO_JOBS
from hpcbatch.controller.deliveries import Deliveries, owes_output
from hpcbatch.controller.job_pods import JobPods
from hpcbatch.controller.records import Admitted, remove
from hpcbatch.controller.runs import Runs
from hpcbatch.controller.site_source import SiteSource
from hpcbatch.controller.start_bar import StartBar
from hpcbatch.volcano import job_names


class Endings:
    def __init__(
        self,
        api: Api,
        sites: SiteSource,
        *,
        deliveries: Deliveries,
        job_pods: JobPods,
        runs: Runs,
        start_bar: StartBar,
    ) -> None:
        self._api, self._sites, self._deliveries = api, sites, deliveries
        self._job_pods, self._runs, self._start_bar = job_pods, runs, start_bar

    def deliver(self, job: Admitted) -> float | None:
        """Give the output of an ended job its own names; seconds until the next look, None when that is done."""
        record, site = job.record, self._sites.in_force
        queue, first = site.config.queue(record.queue), self._job_pods.last_seen_first(job)
        if queue is None or not owes_output(record, first):
            return None
        return self._deliveries.wait_s(record, lambda: self._runs.delivery(job, queue, site), datetime.now(UTC))

    def clean(self, job: Admitted) -> Object:
        """Remove everything of an ended job but its record, which is returned as written."""
        record, namespace = job.record, job.record.namespace
        self._deliveries.remove(record)
        remove(self._api, VOLCANO_JOBS, job_names.job_name(record.job_id), namespace)
        remove(self._api, CONFIGMAPS, job_names.conf_name(record.job_id), namespace)
        self._start_bar.forget(record.job_id)
        self._runs.forget_conf(record.job_id)
        if record.spec.member_of is None:  # the members of an array have its Secret
            remove(self._api, SECRETS, job.obj["spec"].get("submissionSecret", ""), namespace)
        self._job_pods.forget_ended(job.key)
        cleaned = {"status": {"cleaned": True}}
        return self._api.patch(BATCHJOBS, record.object_name, cleaned, namespace, subresource="status")
