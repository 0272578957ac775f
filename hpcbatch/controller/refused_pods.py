"""The Events that say why the pods of Volcano Jobs cannot be made: quotas and policies show nowhere else."""

from __future__ import annotations

from collections.abc import Callable

from hpcbatch.api.informer import Informer
from hpcbatch.api.port import Api, WatchEvent
from hpcbatch.api.resources import EVENTS
from hpcbatch.policy.pod_creation import FAILED_CREATE, Refusals


class RefusedPods:
    """The caller starts `informer`. `wake` is called with the number and the namespace of a job."""

    def __init__(self, api: Api, wake: Callable[[str, str], None]) -> None:
        self.refusals, self._wake = Refusals(), wake
        self.informer = Informer(api, EVENTS, on_event=self._on_event, fields=FAILED_CREATE)

    def _on_event(self, event: WatchEvent) -> None:
        about = event.object["involvedObject"]
        if event.type == "DELETED":
            self.refusals.remove(event.object)
            return
        self.refusals.add(event.object)
        self._wake(about["name"].removeprefix("job-"), about.get("namespace", ""))
