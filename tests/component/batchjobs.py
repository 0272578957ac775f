"""BatchJobs in any state, and a few lines in the controller's place."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.errors import ConflictError, NotFoundError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState
from hpcbatch.record.batchjob import full_status_to_json, record_from, spec_from_json
from hpcbatch.record.manifest import spec_to_json

NS = "default"


def admitted(obj: Object, number: int, state: JobState = JobState.QUEUED, **status: Any) -> Object:
    """`obj` as the controller would leave it."""
    spec = spec_from_json(obj["spec"])
    record = JobRecord(
        job_id=number,
        namespace=obj["metadata"]["namespace"],
        object_name=obj["metadata"]["name"],
        spec=spec,
        status=JobStatus(state=state, owner="alice", **{"home": "/d", **status}),
        queue="default",
    )
    return obj | {"status": full_status_to_json(record)}


class Answering:
    """Admits, or does what `answer` says, whenever a record has no answer yet."""

    def __init__(self, registry: Registry, answer: Callable[[Object], Object | None] | None = None) -> None:
        self._registry, self._answer = registry, answer or self._admit
        self._watch = registry.watch(BATCHJOBS)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._number = 0

    def __enter__(self) -> Answering:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.close()
        self._thread.join(10)

    def _admit(self, obj: Object) -> Object:
        self._number += 1
        return admitted(obj, self._number)

    def _run(self) -> None:
        for event in self._watch:
            if event.type not in {"ADDED", "MODIFIED"}:
                continue
            obj = event.object
            if "jobId" in obj.get("status", {}):
                answered = self._obey(obj)
            elif "status" not in obj and "placed" not in obj["metadata"].get("labels", {}):
                answered = self._answer(obj)
            else:
                answered = None
            if answered is None:
                continue
            try:
                self._registry.replace(BATCHJOBS, answered, NS, subresource="status")
            except (ConflictError, NotFoundError):
                continue  # its next event tells what it has become

    @staticmethod
    def _obey(obj: Object) -> Object | None:
        """Do at once what a request says; a running job has no pods that would have to end first."""
        spec, status = obj["spec"], obj["status"]
        state = JobState(status["state"])
        wanted = state
        if spec.get("deleteRequested") and not state.is_final:
            wanted = JobState.DELETED
        elif spec.get("hold") and state is JobState.QUEUED:
            wanted = JobState.HELD
        elif not spec.get("hold") and state is JobState.HELD:
            wanted = JobState.QUEUED
        return None if wanted is state else obj | {"status": status | {"state": wanted.value}}


def put_job(
    registry: Registry, number: int, state: JobState, *, spec: JobSpec | None = None, **status: Any
) -> JobRecord:
    """A job that has been admitted as `number` and come to `state`."""
    name = f"pbs-{number}"
    chunks = (Chunk(cpus=2),)
    asked = spec or JobSpec(dialect=Dialect.PBS, name=f"job{number}", chunks=chunks, server="pbs1")
    created = registry.create(
        BATCHJOBS,
        {
            "apiVersion": "hpcbatch.io/v1alpha1",
            "kind": "BatchJob",
            "metadata": {"name": name, "labels": {"placed": "by-hand"}},
            "spec": spec_to_json(asked),
        },
        NS,
    )
    registry.replace(BATCHJOBS, admitted(created, number, state, **status), NS, subresource="status")
    return record_of(registry, name)


def record_of(registry: Registry, name: str) -> JobRecord:
    return record_from(registry.get(BATCHJOBS, name, NS))
