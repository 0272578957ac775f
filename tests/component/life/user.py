"""A user at random work, who keeps in mind what he was told."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from hpcbatch.api.client import Table, TableRow
from hpcbatch.api.history import ENDED_JOBS
from hpcbatch.api.informer import object_key
from hpcbatch.api.names import SYSTEM_NAMESPACE
from hpcbatch.api.port import Object
from hpcbatch.api.resources import ACCESS_REVIEWS, BATCHJOBS, Resource
from hpcbatch.client import changes, holds, signals
from hpcbatch.client.alter import alter
from hpcbatch.client.reservations import DeniedReservationError, make_reservation
from hpcbatch.client.submit import submit
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.errors import (
    ApiError,
    HpcBatchError,
    JobFinishedError,
    NotFoundError,
    RefusedError,
    UnknownJobError,
    UnreachableError,
)
from hpcbatch.history.store import HistoryStore
from hpcbatch.history.tables import columns
from hpcbatch.model.array import Array
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dependency import Clause, Dependency, DependencyKind, JobRef
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobRecord
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.reservation import Flag, ReservationSpec
from hpcbatch.model.spec import JobSpec, Submission
from hpcbatch.model.state import JobState, Reason
from hpcbatch.record.batchjob import record_from
from hpcbatch.record.rows import cell_at, row_of
from tests.component.life.limits import ACCOUNTS, SHORT
from tests.component.life.play import Script, Stage
from tests.component.volcano_cluster import NS

AT_ONCE = 12
"""Jobs that have not ended, above which the user submits no more."""
SMALL = "small"
"""A queue with room for SMALL_CPUS at once."""
SMALL_CPUS = 2
NODES = 4, 4
"""CPUs of each."""
AFTER = [DependencyKind.AFTER_OK, DependencyKind.AFTER_NOT_OK, DependencyKind.AFTER_ANY]
TOO_LATE = {RefusalCode.STARTED, RefusalCode.NOT_RUNNING, RefusalCode.ENDING, RefusalCode.NOT_RERUNNABLE}
FOREVER = float("inf")


class LoginNode:
    """The API as an admin's commands reach it, with the history."""

    def __init__(self, registry: Registry, history: HistoryStore) -> None:
        self._registry, self._history = registry, history

    def __getattr__(self, method: str) -> Any:
        return getattr(self._registry, method)

    def create(self, resource: Resource, obj: Object, namespace: str | None = None) -> Object:
        if resource is ACCESS_REVIEWS:
            return {"status": {"allowed": True}}
        return self._registry.create(resource, obj, namespace)

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> Object:
        if resource is not ENDED_JOBS:
            return self._registry.get(resource, name, namespace)
        if (found := self._history.get(namespace or "", name)) is None:
            raise NotFoundError(404, "NotFound", name)
        return found

    def table(self, resource: Resource, namespace: str | None = None, *, labels: str = "", fields: str = "") -> Table:
        assert resource is BATCHJOBS
        found = self._registry.list(resource, namespace, labels=labels, fields=fields).items
        rows = [TableRow([cell_at(o, c) for c in columns()], *object_key(o)) for o in found]
        return [column.name for column in columns()], rows


@dataclass
class Asked:
    """What the user knows of a job."""

    spec: JobSpec
    script: Script
    job_id: int
    is_deleted: bool = False
    held: list[tuple[float, float]] = field(default_factory=list)
    """From the answer to a hold to the request to release."""
    is_held: bool = False
    suspended: int | None = None
    """Which run is suspended, by its count; of an array 0."""
    was_suspended: bool = False
    losses: int = 0
    """How often a node was lost under it."""
    failures: int = 0
    """How often a pod of it failed by itself."""
    reruns: int = 0
    """How often it was asked to run again."""
    reruns_granted: int = 0
    """Of a run that was seen."""
    shapes: list[tuple[float, tuple[int, int] | None]] = field(default_factory=list)
    """Number and CPUs of its pods, from when on; None: as before, or as requested just then."""
    limits: list[int | None] = field(default_factory=list)
    shown: dict[str, Any] | None = field(default_factory=dict)
    """Name, walltime and priority as altered; None: it is not known whether they were."""
    is_wide: bool = False
    """It needs the whole cluster."""
    came: float = field(default_factory=time.monotonic)
    """When the user knew its number."""
    deleted_at: float | None = None
    """When its deletion was first requested."""


@dataclass
class Kept:
    """A node that an operator has reserved for nobody."""

    node: str
    granted: float
    """When the operator knew."""
    until: float


class Life:
    """Everything random comes from `dice`, but not what threads do when."""

    def __init__(
        self, registry: Registry, history: HistoryStore, stage: Stage, scripts: dict[str, Script], dice: random.Random
    ) -> None:
        self.api: Any = LoginNode(registry, history)
        self.history, self.stage, self.scripts, self.dice = history, stage, scripts, dice
        self.asked: dict[str, Asked] = {}
        self.specs: dict[str, JobSpec] = {}
        """Of all that was submitted, though perhaps nobody answered."""
        self.kept: list[Kept] = []
        self.refused = 0

    def step(self) -> None:
        acts: list[tuple[int, Callable[[], None]]] = [
            (10, self.submit),
            (3, self.submit_dependent),
            (2, self.submit_array),
            (2, self.submit_together),
            (1, self.submit_wide),
            (3, self.hold),
            (4, self.release),
            (3, self.delete),
            (2, self.lose_node),
            (1, self.fail_worker),
            (3, self.alter),
            (2, self.rerun),
            (2, self.suspend),
            (3, self.resume),
            (1, self.alter_limit),
            (1, self.maintain),
        ]
        if len(self.unfinished()) >= AT_ONCE:
            acts = acts[5:]
            time.sleep(0.02)  # the user has time, the machine is busy
        weights = [weight for weight, _ in acts]
        try:
            self.dice.choices([act for _, act in acts], weights)[0]()
        except RefusedError as refused:
            assert refused.code in TOO_LATE, refused
        except (JobFinishedError, UnknownJobError, UnreachableError, ApiError):
            pass  # too late, or no controller answered in time: nothing was done then

    # Requests

    def submit(self, dependency: Dependency | None = None, array: Array | None = None) -> None:
        self._submit(*self._drawn(dependency, array))

    def submit_together(self) -> None:
        with ThreadPoolExecutor(3) as pool:
            done = [pool.submit(self._submit, *self._drawn()) for _ in range(3)]
        for each in done:
            each.result()

    def submit_wide(self) -> None:
        last = next((asked for asked in reversed(self.asked.values()) if asked.is_wide), None)
        if last is None or self.record(last).status.state.is_final:
            spec, script = self._drawn()
            chunk = Chunk(count=sum(NODES), cpus=1, ranks=1)
            spec = replace(spec, chunks=(chunk,), hold=False, queue="default", account=None, attributes={})
            self._submit(spec, replace(script, runs_s=0.02))

    def _drawn(self, dependency: Dependency | None = None, array: Array | None = None) -> tuple[JobSpec, Script]:
        name = f"j{len(self.scripts)}"
        chunk = Chunk(count=self.dice.choice([1, 1, 2]), cpus=1, ranks=1)
        spec = JobSpec(
            dialect=self.dice.choice(list(Dialect)),
            name=name,
            chunks=(chunk,),
            server="here",
            dependency=dependency,
            array=array,
            hold=array is None and self.dice.random() < 0.1,
            rerunnable=self.dice.random() < 0.5,
            queue=self.dice.choice(["default", "default", SMALL]),
            account=self.dice.choice([None, *ACCOUNTS]),
            attributes={"qos": SHORT} if self.dice.random() < 0.3 else {},
        )
        runs_s = FOREVER if self.dice.random() < 0.15 else self.dice.choice([0.0, 0.02, 0.1])
        script = Script(runs_s, self.dice.choice([0, 0, 1]))
        self.scripts[name], self.specs[name] = script, spec
        return spec, script

    def _submit(self, spec: JobSpec, script: Script) -> None:
        self.scripts[spec.name], self.specs[spec.name] = script, spec
        try:
            made = submit(self.api, NS, Submission(spec=spec, script=b"#!/bin/sh\n", environment={}), timeout_s=20)
        except RefusedError:
            # what it depends on has left already in a way that it can never be met
            assert spec.dependency is not None
            self.refused += 1
            return
        (chunk,) = spec.chunks
        asked = Asked(spec, script, made.job_id, is_held=spec.hold, is_wide=chunk.count == sum(NODES))
        # more chunks than nodes share pods
        asked.shapes.append((0.0, (min(chunk.count, len(NODES)), chunk.count * chunk.cpus)))
        if spec.array is not None:
            asked.limits.append(spec.array.limit)
        if spec.hold:
            asked.held.append((time.monotonic(), FOREVER))
        self.asked[spec.name] = asked

    def submit_dependent(self) -> None:
        if self.asked:
            other = self.dice.choice(list(self.asked.values()))
            clause = Clause(kind=self.dice.choice(AFTER), jobs=(JobRef(job_id=other.job_id),))
            self.submit(dependency=Dependency(clauses=(clause,)))

    def submit_array(self) -> None:
        indices = Indices.of(self.dice.sample(range(20), self.dice.randint(1, 6)))
        self.submit(array=Array(indices=indices, limit=self.dice.choice([None, 1, 2]), text=str(indices)))

    def _some(self, *states: JobState) -> Asked | None:
        """Mostly one that has not ended, and is in one of the states."""
        last = list(self.asked.values())[-2 * AT_ONCE :]
        known = [(asked, self.record(asked).status.state) for asked in last]
        fit = [asked for asked, state in known if not state.is_final and (not states or state in states)]
        of = fit if fit and self.dice.random() < 0.9 else list(self.asked.values())
        return self.dice.choice(of) if of else None

    def hold(self) -> None:
        asked = self._some()
        if asked is None or asked.is_held or asked.is_wide:
            return
        before = self.record(asked)
        holds.hold(self.api, row_of(before))
        asked.is_held = True
        # seen before it could start: it shows this hold, not its dependency, nor a hold from which it has just been
        # released. Members may be on their way
        shown = [record.status.reason is Reason.HELD_BY_USER for record in (before, self.record(asked))]
        if shown == [False, True] and asked.spec.array is None:
            asked.held.append((time.monotonic(), FOREVER))

    def release(self) -> None:
        asked = self._some(JobState.HELD)
        if asked is not None and asked.is_held:
            self._release(asked)

    def _release(self, asked: Asked) -> None:
        now = time.monotonic()
        holds.release(self.api, row_of(self.record(asked)))
        asked.is_held = False
        asked.held = [(since, min(until, now)) for since, until in asked.held]

    def delete(self) -> None:
        asked = self._some()
        if asked is not None:
            self._delete(asked)

    def _delete(self, asked: Asked) -> None:
        asked.deleted_at = asked.deleted_at or time.monotonic()
        changes.request_delete(self.api, row_of(self.record(asked)))
        asked.is_deleted = True

    def alter(self) -> None:
        asked = self._some(JobState.QUEUED, JobState.HELD)
        if asked is None or asked.spec.array is not None or asked.is_wide:
            return
        fields: dict[str, Any] = self.dice.choice(
            [
                {"name": f"n{self.dice.randrange(1000)}", "walltime_s": 60 * self.dice.randint(1, 90)},
                {"priority": self.dice.randint(1, 9)},
                {"queue": self.dice.choice(["default", SMALL])},
                {"chunks": (Chunk(count=self.dice.choice([1, 2]), cpus=1, ranks=1),)},
            ]
        )
        row, shown, shapes = row_of(self.record(asked)), asked.shown, list(asked.shapes)
        asked.shown = None
        if "chunks" in fields:
            asked.shapes.append((time.monotonic(), None))
        try:
            alter(self.api, row, lambda record: replace(record.spec, **fields))
        except RefusedError:
            asked.shown, asked.shapes = shown, shapes
            raise
        asked.shown = None if shown is None else shown | fields
        if "chunks" in fields:
            count = fields["chunks"][0].count
            asked.shapes.append((time.monotonic(), (count, count)))

    def alter_limit(self) -> None:
        arrays = [asked for asked in self.asked.values() if asked.spec.array is not None]
        if arrays:
            asked, limit = arrays[-1], self.dice.randint(0, 2)
            asked.limits.append(limit or None)
            alter(self.api, row_of(self.record(asked)), lambda record: record.spec, array_limit=limit)

    def rerun(self) -> None:
        asked = self._some(JobState.RUNNING)
        if asked is None or asked.is_wide:
            return
        row, is_held = row_of(self.record(asked)), self.dice.random() < 0.3
        asked.is_held = asked.is_held or is_held
        asked.reruns += 1
        changes.rerun(self.api, row, hold=is_held)
        if row.state is JobState.RUNNING and asked.spec.array is None:
            asked.reruns_granted += 1

    def suspend(self) -> None:
        asked = self._some(JobState.RUNNING)
        if asked is not None:
            asked.was_suspended = True
            done = signals.suspend(self.api, row_of(self.record(asked)))
            asked.suspended = done["spec"].get("suspendedRun", 0)

    def resume(self) -> None:
        asked = self._some(JobState.SUSPENDED)
        if asked is not None and asked.suspended is not None:
            self._resume(asked)

    def _resume(self, asked: Asked) -> None:
        record = self.record(asked)
        if record.spec.array is not None or record.status.state is JobState.SUSPENDED:
            asked.suspended = None
            signals.resume(self.api, row_of(record))

    # What operators do

    def maintain(self) -> None:
        """Keep a node free for some seconds; what runs there runs on. One at a time."""
        if self.kept and time.monotonic() < self.kept[-1].until:
            return
        node, number = self.dice.choice(["node-0", "node-1"]), len(self.kept)
        start = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=8)
        spec = ReservationSpec(
            dialect="slurm",
            name=f"service{number}",
            start=start,
            end=start + timedelta(seconds=4),
            nodes=(node,),
            flags=(Flag.MAINT, Flag.IGNORE_JOBS, Flag.SPEC_NODES),
        )
        with suppress(DeniedReservationError):
            make_reservation(self.api, SYSTEM_NAMESPACE, spec, spec.name)
            left_s = (spec.end - datetime.now(UTC)).total_seconds()
            self.kept.append(Kept(node, time.monotonic(), time.monotonic() + left_s))

    # What befalls jobs

    def lose_node(self) -> None:
        name = self.stage.lose_one(self.dice.choice)
        if name is not None:
            self.asked[name.partition("[")[0]].losses += 1

    def fail_worker(self) -> None:
        name = self.stage.fail_worker(self.dice.choice)
        if name is not None:
            self.asked[name.partition("[")[0]].failures += 1

    # The last evening

    def release_all(self) -> None:
        """Let all jobs go on that wait for the user."""
        for asked in self.asked.values():
            try:
                if asked.is_held:
                    self._release(asked)
                if asked.was_suspended and not self.record(asked).status.state.is_final:
                    self._resume(asked)
            except (JobFinishedError, RefusedError):
                asked.is_held = False

    def begin_now(self) -> None:
        """Let the jobs go on that were queued again: Slurm has them wait for two minutes."""
        for obj in self.api.list(BATCHJOBS, NS).items:
            if obj.get("status", {}).get("reason") != Reason.BEGIN_TIME:
                continue
            with suppress(HpcBatchError):  # it has gone on, or has ended
                now = datetime.now(UTC).replace(microsecond=0)
                alter(self.api, row_of(record_from(obj)), partial(_beginning, now))

    def delete_hopeless(self) -> None:
        """Jobs that wait for ever: users of Slurm have to, where a dependency can never be met, and users of PBS, where
        the other job was deleted before it ran; and those that run for ever.
        """
        for asked in self.asked.values():
            if asked.is_deleted:
                continue
            record = self.record(asked)
            if record.status.state.is_final:
                continue
            is_waiting = record.spec.dependency is not None and record.status.state is JobState.HELD
            if asked.script.is_endless or (is_waiting and self._is_hopeless(record)):
                try:
                    self._delete(asked)
                except JobFinishedError:
                    continue

    def _is_hopeless(self, record: JobRecord) -> bool:
        assert record.spec.dependency is not None
        if record.status.reason is Reason.DEPENDENCY_NEVER:
            return True
        number = record.spec.dependency.clauses[0].jobs[0].job_id
        other = self.record(next(asked for asked in self.asked.values() if asked.job_id == number)).status
        return record.spec.dialect is Dialect.PBS and other.state is JobState.DELETED and other.start_time is None

    # What the user sees

    def record(self, asked: Asked) -> JobRecord:
        return record_from(self._object(asked))

    def _object(self, asked: Asked) -> Object:
        found = self.api.list(BATCHJOBS, NS, fields=f"status.jobId={asked.job_id}").items
        assert len(found) <= 1, f"job {asked.job_id} has {len(found)} records"
        if found:
            first: Object = found[0]
            return first
        moved = self.history.by_number(asked.job_id)
        assert moved is not None, f"job {asked.job_id} is lost"
        return moved

    def unfinished(self) -> list[str]:
        every = (record_from(obj) for obj in self.api.list(BATCHJOBS, NS).items if "jobId" in obj.get("status", {}))
        return [
            f"{r.job_id} {r.status.state} {r.status.reason} {r.status.message}"
            for r in every
            if not r.status.state.is_final
        ]


def _beginning(now: datetime, record: JobRecord) -> JobSpec:
    return replace(record.spec, begin_time=now)
