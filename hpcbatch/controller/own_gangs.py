"""Runs the job controller in hpcbatch's own, for jobs that Volcano has nothing to do with."""

from __future__ import annotations

import threading

from hpcbatch.api.port import Api, Object
from hpcbatch.gang.event_writer import EventWriter
from hpcbatch.gang.job_controller import JobController
from hpcbatch.model.labels import JOB_ID_LABEL
from hpcbatch.model.site import SiteConfig
from hpcbatch.volcano.gangs.registry import gang_of


class OwnGangs:
    """Begins when there is something to do: clusters with Volcano do not give the rights that it needs. A job says by
    itself who makes its pods, so what was started goes on where the site changes to another scheduler.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self._lock = threading.Lock()
        self._controller: JobController | None = None
        self._is_stopped = False

    def on_site(self, site: SiteConfig) -> None:
        if not site.scheduler.makes_pods:
            self._begin()

    def on_volcano_job(self, volcano_job: Object) -> None:
        if gang_of(volcano_job) is not None:
            self._begin()

    def stop(self) -> None:
        with self._lock:
            self._is_stopped = True
        if self._controller is not None:
            self._controller.stop()

    @property
    def dead(self) -> list[str]:
        """Names of threads that have ended unexpectedly."""
        return [] if self._controller is None else self._controller.dead

    def _begin(self) -> None:
        with self._lock:
            if self._controller is not None or self._is_stopped:
                return
            self._controller = JobController(self._api, EventWriter(self._api), gang_of=gang_of, labels=JOB_ID_LABEL)
            # it waits for its caches
            threading.Thread(target=self._controller.start, name="own-gangs", daemon=True).start()
