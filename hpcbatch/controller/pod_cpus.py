"""Takes the CPUs from the pods of suspended jobs and gives them back, by `pods/resize`, as the jobs' records say.

What a pod's containers request when its job runs is written into an annotation of the pod before that changes. All is
found again in the API: after a kill the next look does the rest. Where the API refuses, the CPUs stay taken, and the
job says so.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import PODS
from hpcbatch.controller.records import Admitted
from hpcbatch.errors import ApiError, ConflictError, NotFoundError
from hpcbatch.model.labels import CPUS_ANNOTATION
from hpcbatch.model.record import JobStatus
from hpcbatch.model.state import JobState
from hpcbatch.policy.freed_cpus import annotation, freed, has_its_cpus, is_pending, whole, why_never

_LOG = logging.getLogger(__name__)
_STOPPED_AFTER_S: Final = 3.0
"""By then a job's processes have been stopped: until then they keep their CPUs."""
_LOOK_S: Final = 0.2
_ASKED_AGAIN_S: Final = 600.0
"""An API server that has no pods/resize may be updated."""
NONE_HERE: Final = "this cluster cannot resize running pods (Kubernetes 1.33 and later can)"

Key = tuple[str, str]


class PodCpus:
    """Of suspended jobs."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._missing_since: float | None = None
        self._refused: dict[Key, str] = {}
        """Jobs of which a pod is not resized, and why."""

    @property
    def why_none(self) -> str:
        """Why no job can be relieved of its CPUs here; "": the API has not refused it."""
        since = self._missing_since
        return "" if since is None or time.monotonic() - since > _ASKED_AGAIN_S else NONE_HERE

    def why_not_freed(self, key: Key, pods: Sequence[Object]) -> str:
        """Why the CPUs of this job stay taken."""
        return self._refused.get(key) or self.why_none or why_never(pods)

    def forget(self, key: Key) -> None:
        self._refused.pop(key, None)

    def carry_out(self, job: Admitted, status: JobStatus, pods: Sequence[Object], now: datetime) -> float | None:
        """Bring the pods of a suspended job to what its record says, if that stays so (`status`). Returns the seconds
        until the next look; None: it is done.
        """
        written = job.record.status
        if written.state is not JobState.SUSPENDED or not written.suspensions:
            self._refused.pop(job.key, None)
            return None
        if (status.state, status.frees_cpus) != (JobState.SUSPENDED, written.frees_cpus):
            return None  # written first
        if not written.frees_cpus:
            todo = [(pod, containers) for pod in pods if (containers := whole(pod)) is not None]
            self._resize(job.key, todo)
            return None if has_its_cpus(pods) and not todo else _LOOK_S
        left_s = _STOPPED_AFTER_S - (now - written.suspensions[-1].start_time).total_seconds()
        if left_s > 0:
            return left_s
        todo = [(pod, containers) for pod in pods if (containers := freed(pod)) is not None]
        for pod, _ in todo:
            if (text := annotation(pod)) is not None:
                self._patch(pod, {"metadata": {"annotations": {CPUS_ANNOTATION: text}}})
        self._resize(job.key, todo)
        return _LOOK_S if todo or is_pending(pods) else None

    def _resize(self, key: Key, todo: Sequence[tuple[Object, list[Object]]]) -> None:
        for pod, containers in todo:
            try:
                self._patch(pod, {"spec": {"containers": containers}}, subresource="resize")
            except ConflictError:
                raise
            except NotFoundError as error:
                if f'"{pod["metadata"]["name"]}"' in error.message:
                    raise  # the pod is gone
                if self.why_none != NONE_HERE:
                    _LOG.warning("suspended jobs keep their CPUs: %s", NONE_HERE)
                self._missing_since = time.monotonic()
                return
            except ApiError as error:
                if error.code not in {400, 403, 422}:
                    raise
                self._refused[key] = error.message
                _LOG.warning("pod %s/%s is not resized: %s", *_name(pod), error.message)
                return

    def _patch(self, pod: Object, change: Object, *, subresource: str = "") -> None:
        namespace, name = _name(pod)
        only = {"uid": pod["metadata"]["uid"], **change.get("metadata", {})}
        self._api.patch(PODS, name, {**change, "metadata": only}, namespace, subresource=subresource)


def _name(pod: Object) -> tuple[str, str]:
    return pod["metadata"]["namespace"], pod["metadata"]["name"]
