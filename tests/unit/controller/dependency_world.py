"""A handful of BatchJobs in memory, brought on by what Dependents says, as the controller does it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from hpcbatch.api.informer import Informer
from hpcbatch.api.port import Api, Object, ObjectList, WatchEvent
from hpcbatch.controller.dependency_entries import Key
from hpcbatch.controller.dependents import Dependents
from hpcbatch.model.array import Array, ArrayStatus, Membership
from hpcbatch.model.dependency import Dependency
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.dependencies import Outlook, Verdict, dropped
from hpcbatch.policy.holds import behind_others
from hpcbatch.record.batchjob import full_status_to_json, record_from
from hpcbatch.record.manifest import spec_to_json

BEGIN = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


class World:
    """Implements the parts of Informer and Api that Dependents calls."""

    def __init__(self) -> None:
        self.now = BEGIN
        self.objects: dict[Key, Object] = {}
        self.history: dict[int, Object] = {}
        self.numbers: dict[int, Key] = {}
        self.woken: dict[Key, None] = {}
        self.wakes = 0
        self.dependents = self._dependents()

    def _dependents(self) -> Dependents:
        return Dependents(
            cast(Api, self),
            cast(Informer, self),
            key_of=self.numbers.get,
            ended=self.history.get,
            ended_member=self._ended_member,
            wake=self._wake,
        )

    def _ended_member(self, array: int, name: str) -> Object | None:
        found = (each for each in self.history.values() if each["metadata"]["name"] == name)
        return next((each for each in found if each["spec"]["memberOf"]["arrayId"] == array), None)

    def _wake(self, key: Key) -> None:
        self.wakes += 1
        self.woken[key] = None

    def get(self, namespace: str, name: str) -> Object | None:
        return self.objects.get((namespace, name))

    def list(self, _resource: object, _namespace: str | None = None, **_: str) -> ObjectList:
        return ObjectList((), "1")

    def restart(self) -> None:
        """A new controller, which learns from a list what there is."""
        self.dependents = self._dependents()
        for obj in self.objects.values():
            self.dependents.on_event(WatchEvent("ADDED", obj))

    # What users do

    def submit(
        self,
        number: int,
        dependency: Dependency | None = None,
        *,
        dialect: Dialect = Dialect.SLURM,
        name: str = "",
        array: str = "",
        namespace: str = "alice",
        hold: bool = False,
    ) -> None:
        """A new job, admitted as Intake does it."""
        spec = JobSpec(
            dialect=dialect,
            name=name or f"n{number}",
            server="s",
            dependency=dependency,
            hold=hold,
            array=Array(indices=Indices.parse(array)) if array else None,
        )
        status = JobStatus(
            owner=namespace, array=ArrayStatus(pending=Indices.parse(array)) if array else None, submit_time=self.now
        )
        record = JobRecord(
            job_id=number, namespace=namespace, object_name=f"j{number}", spec=spec, status=status, queue="q"
        )
        obj: Object = {
            "metadata": {"namespace": namespace, "name": f"j{number}", "creationTimestamp": "2026-11-21T12:00:00Z"},
            "spec": spec_to_json(spec),
        }
        self.dependents.on_event(WatchEvent("ADDED", obj))
        self._write(obj, replace(record, status=self._gated(record)), "MODIFIED")

    def make_member(self, number: int, array: int, index: int, *, hold: bool = False, **status: Any) -> None:
        """The record of a member of an array."""
        member = Membership(array_id=array, array_name=f"j{array}", index=index)
        spec = JobSpec(dialect=Dialect.LSF, name="m", server="s", hold=hold, member_of=member)
        name = f"j{array}-{index}"
        record = JobRecord(
            job_id=number, namespace="alice", object_name=name, spec=spec, status=JobStatus(**status), queue="q"
        )
        metadata = {"namespace": "alice", "name": name, "creationTimestamp": "2026-11-21T12:00:00Z"}
        self._write({"metadata": metadata, "spec": spec_to_json(spec)}, record, "ADDED")

    def _write(self, obj: Object, record: JobRecord, event: str = "MODIFIED", volcano_job: str = "") -> None:
        key = record.namespace, record.object_name
        written = obj | {"status": full_status_to_json(record, volcano_job=volcano_job)}
        self.objects[key] = written
        self.numbers[record.job_id] = key
        self.dependents.on_event(WatchEvent(cast(Any, event), written))
        self.woken[key] = None

    # What the controller does

    def settle(self) -> None:
        """Look at whatever was woken until nothing changes any more."""
        while self.woken:
            key = next(iter(self.woken))
            del self.woken[key]
            if key in self.objects:
                self._look(key)

    def _look(self, key: Key) -> None:
        record = record_from(self.objects[key])
        status = record.status
        if status.state.is_final or status.start_time is not None:
            return
        gated = self._gated(record)
        if gated != status:
            self._write(self.objects[key], replace(record, status=gated), volcano_job=self._made(gated))

    @staticmethod
    def _made(status: JobStatus) -> str:
        return "made" if status.state is JobState.QUEUED else ""

    def _gated(self, record: JobRecord) -> JobStatus:
        outlook = self.outlook(record)
        status = record.status
        if outlook is not None:
            status = replace(status, dependency=outlook.progress)
            if outlook.verdict is Verdict.NEVER and outlook.kills:
                return dropped(status, outlook, self.now)
        if record.spec.hold:
            return replace(status, state=JobState.HELD, reason=Reason.HELD_BY_USER)
        if outlook is not None and (behind := behind_others(outlook)):
            return replace(status, state=JobState.HELD, reason=behind, message=outlook.message)
        return replace(status, state=JobState.QUEUED, reason=Reason.NONE)

    def outlook(self, record: JobRecord) -> Outlook | None:
        return self.dependents.look(record, self.now)

    # What becomes of jobs

    def start(self, number: int) -> None:
        self.now += timedelta(seconds=1)
        self.change(number, state=JobState.RUNNING, start_time=self.now)

    def end(self, number: int, state: JobState) -> None:
        self.now += timedelta(seconds=1)
        self.change(number, state=state, end_time=self.now)

    def change(self, number: int, **changes: Any) -> None:
        key = self.numbers[number]
        record = self.record(number)
        new = replace(record, status=replace(record.status, **changes))
        self._write(self.objects[key], new, volcano_job=self.objects[key]["status"].get("volcanoJob", ""))

    def archive(self, number: int) -> None:
        """An ended job leaves the API for the history."""
        key = self.numbers.pop(number)
        self.history[number] = self.objects.pop(key)
        self.dependents.on_event(WatchEvent("DELETED", self.history[number]))

    def record(self, number: int) -> JobRecord:
        return record_from(self.objects[self.numbers[number]])

    def records(self) -> Iterator[JobRecord]:
        return map(record_from, list(self.objects.values()))

    def ready(self) -> Sequence[int]:
        """The jobs that the scheduler may start."""
        return [record.job_id for record in self.records() if record.status.state is JobState.QUEUED]
