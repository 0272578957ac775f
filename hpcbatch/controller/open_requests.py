"""Requests to change or rerun a job, as the controller finds them in its record."""

from __future__ import annotations

from hpcbatch.api.port import Api
from hpcbatch.controller.observer import Observer
from hpcbatch.controller.own_writes import OwnWrites
from hpcbatch.controller.records import Admitted, write_status
from hpcbatch.controller.requests import Requests
from hpcbatch.controller.runs import Runs


class OpenRequests:
    def __init__(self, api: Api, requests: Requests, observer: Observer, runs: Runs, own_writes: OwnWrites) -> None:
        self._api, self._requests, self._observer = api, requests, observer
        self._runs, self._own_writes = runs, own_writes

    def handle(self, job: Admitted) -> bool:
        """Handle one open request; False if there is none. The event of the written reply leads to the next look."""
        if not self._requests.are_open(job.obj, job.record):
            return False
        is_placed = job.record.spec.array is None and any(pod.node for pod in self._observer.observe(job).pods)
        handled = self._requests.handle(job.obj, job.record, is_placed=is_placed)
        if not is_placed and self._runs.is_made(job):
            if_placed = self._requests.handle(job.obj, job.record, is_placed=True)
            if if_placed.status.altered != handled.status.altered:
                # granted only when no pod can start with the old values
                handled = handled if self._runs.withdraw(job) else if_placed
        self._own_writes.add(write_status(self._api, job.obj, handled, job.volcano_job))
        return True
