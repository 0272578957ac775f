"""When jobs reach their stages, as a watch tells it: the times that objects carry are whole seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hpcbatch.api.informer import Informer
from hpcbatch.api.port import Api, Object, WatchEvent
from hpcbatch.api.resources import BATCHJOBS, PODS, VOLCANO_JOBS, Resource
from hpcbatch.model.state import JobState

STARTED, ENDED, BROKEN = "started", "ended", "broken"
"""A pod's container runs or has run; a job has ended well; it has ended otherwise."""
Stages = Callable[[Object], tuple[str, str]]
"""An object → the name of its job, and the stage that it shows; "": none."""


class Moments:
    """For each job and stage the `perf_counter` at which it was first seen."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._at: dict[str, dict[str, float]] = {STARTED: {}, ENDED: {}, BROKEN: {}}

    def note(self, job: str, stage: str) -> None:
        now = time.perf_counter()
        with self._changed:
            self._at[stage].setdefault(job, now)
            self._changed.notify_all()

    def count(self, stage: str) -> int:
        with self._changed:
            return len(self._at[stage])

    def wait(self, count: int, limit_s: float) -> float:
        """Until that many jobs have ended well: when the last of them did. Raises if one ends otherwise."""
        with self._changed:
            self._changed.wait_for(lambda: self._at[BROKEN] or len(self._at[ENDED]) >= count, limit_s)
            if self._at[BROKEN]:
                raise RuntimeError(f"these jobs failed: {' '.join(list(self._at[BROKEN])[:5])}")
            if len(self._at[ENDED]) < count:
                raise RuntimeError(f"{len(self._at[ENDED])} of {count} jobs have ended after {limit_s:.0f} s")
            return sorted(self._at[ENDED].values())[count - 1]

    def first_start(self) -> float:
        """When the first job started; only jobs that did are requested."""
        with self._changed:
            return min(self._at[STARTED].values())


@contextmanager
def moments(api: Api, namespace: str, ends_of: Resource) -> Iterator[Moments]:
    """Of the jobs that come to be in `namespace` from now on; `ends_of`: BATCHJOBS or VOLCANO_JOBS."""
    seen = Moments()
    of_job = {BATCHJOBS: _record, VOLCANO_JOBS: _volcano_job}[ends_of]
    informers = [_watch(api, namespace, ends_of, of_job, seen), _watch(api, namespace, PODS, _pod, seen)]
    try:
        yield seen
    finally:
        for informer in informers:
            informer.stop()


def _watch(api: Api, namespace: str, resource: Resource, stages: Stages, seen: Moments) -> Informer:
    def on_event(event: WatchEvent) -> None:
        metadata = event.object["metadata"]
        if not informer.synced.is_set():
            old.add(metadata["uid"])
        elif metadata["uid"] not in old and event.type != "DELETED":
            job, stage = stages(event.object)
            if stage:
                seen.note(job, stage)

    old: set[str] = set()
    informer = Informer(api, resource, namespace, on_event=on_event)
    informer.start()
    if not informer.synced.wait(60):
        raise RuntimeError(f"the {resource.plural} of {namespace} cannot be listed")
    return informer


def _pod(pod: Object) -> tuple[str, str]:
    states = [status.get("state", {}) for status in pod.get("status", {}).get("containerStatuses", ())]
    has_started = any("running" in state or "terminated" in state for state in states)
    return (pod["metadata"].get("labels") or {}).get("volcano.sh/job-name", ""), STARTED if has_started else ""


def _volcano_job(job: Object) -> tuple[str, str]:
    phase = job.get("status", {}).get("state", {}).get("phase", "")
    is_bad = phase in {"Failed", "Aborted", "Terminated"}
    return job["metadata"]["name"], ENDED if phase == "Completed" else BROKEN if is_bad else ""


def _record(job: Object) -> tuple[str, str]:
    status = job.get("status", {})
    state = JobState(status["state"]) if "state" in status else JobState.QUEUED
    stage = ENDED if state is JobState.FINISHED else BROKEN if state.is_final else ""
    return str(status.get("jobId", job["metadata"]["name"])), stage
