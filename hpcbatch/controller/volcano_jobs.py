"""The Volcano Jobs of the BatchJobs: the cache, and our own changes since."""

from __future__ import annotations

import time
from collections.abc import Callable

from hpcbatch.api.informer import Informer, object_key
from hpcbatch.api.news import News
from hpcbatch.api.port import Api, Object, WatchEvent
from hpcbatch.api.resources import COMMANDS, VOLCANO_JOBS
from hpcbatch.controller.own_writes import LAG_S
from hpcbatch.controller.records import Admitted, owner_reference, remove
from hpcbatch.dataclass import replace
from hpcbatch.errors import AlreadyExistsError, NotFoundError
from hpcbatch.model.labels import JOB_ID_LABEL
from hpcbatch.model.record import JobRecord
from hpcbatch.policy.observed import VolcanoJobView
from hpcbatch.policy.views import volcano_job_news, volcano_job_view
from hpcbatch.units import parse_rfc3339
from hpcbatch.volcano import job_names

Key = tuple[str, str]
_ENDING_OR_ENDED = frozenset({"Terminating", "Terminated", "Aborting", "Completing", "Completed", "Failed"})


class VolcanoJobs:
    """The caller starts `informer`."""

    def __init__(self, api: Api, on_event: Callable[[WatchEvent], None]) -> None:
        self._api = api
        self.informer = Informer(api, VOLCANO_JOBS, on_event=on_event, labels=JOB_ID_LABEL)
        self._made: dict[Key, tuple[Object, float]] = {}  # not in the cache yet, perhaps
        self._removed: dict[Key, str] = {}  # by BatchJob, uids of removed ones that the cache may still show
        self._news = News()

    def is_news(self, event: WatchEvent) -> bool:
        """Whether a job's next step may follow from the event. To be asked once for each."""
        return self._news.is_new(event, volcano_job_news(event.object))

    def of(self, job: Admitted) -> Object | None:
        """From the cache; from the API where the cache may lag behind our own creation."""
        name = job_names.job_name(job.record.job_id)
        key = job.record.namespace, name
        found = self.informer.get(*key)
        made, since = self._made.get(key, (None, 0.0))
        if found is not None or time.monotonic() - since > LAG_S:
            self._made.pop(key, None)
        elif made is not None and self._removed.get(job.key) != made["metadata"]["uid"]:
            return made
        if found is None and job.volcano_job:
            try:
                found = self._api.get(VOLCANO_JOBS, name, job.record.namespace)
            except NotFoundError:
                return None
        return found

    def view(self, job: Admitted, found: Object) -> VolcanoJobView:
        """The result of `of` as `decide` needs it."""
        view = volcano_job_view(found)
        if view.is_of_this_run(job.record.status.start_time):
            view = replace(view, has_run=True)
        return replace(view, is_deleting=True) if self._removed.get(job.key) == view.uid else view

    def was_made(self, volcano_job: Object) -> None:
        self._made[object_key(volcano_job)] = volcano_job, time.monotonic()

    def remove(self, record: JobRecord, uid: str) -> None:
        """Delete by uid: the one in the cache may have been replaced meanwhile."""
        remove(self._api, VOLCANO_JOBS, job_names.job_name(record.job_id), record.namespace, uid=uid)
        self._removed[(record.namespace, record.object_name)] = uid

    def forget(self, key: Key) -> None:
        """The BatchJob was deleted."""
        self._removed.pop(key, None)

    def terminate(self, namespace: str, name: str) -> None:
        """Make Volcano end the job's pods, once."""
        job = self.informer.get(namespace, name) or self._api.get(VOLCANO_JOBS, name, namespace)
        if volcano_job_view(job).phase in _ENDING_OR_ENDED:
            return
        reference = owner_reference(job)
        command = {
            "apiVersion": COMMANDS.api_version,
            "kind": COMMANDS.kind,
            "metadata": {"name": f"{name}-terminate", "ownerReferences": [reference]},
            "action": "TerminateJob",
            "target": reference,
        }
        try:
            self._api.create(COMMANDS, command, namespace)
        except AlreadyExistsError:
            pass

    def remove_latecomer(self, record: JobRecord) -> None:
        """Remove one that a controller made after a long pause, when the job had already ended."""
        ended = record.status.end_time
        late = self.informer.get(record.namespace, job_names.job_name(record.job_id))
        if late is not None and ended is not None and parse_rfc3339(late["metadata"]["creationTimestamp"]) > ended:
            remove(self._api, VOLCANO_JOBS, late["metadata"]["name"], record.namespace, uid=late["metadata"]["uid"])
