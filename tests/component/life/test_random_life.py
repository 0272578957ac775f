"""Random lives of jobs, with the controller killed at random requests, against what must hold whatever happens.

HPCBATCH_KILLS=5000 runs it longer, HPCBATCH_SEED repeats a run.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from hpcbatch import jobs
from hpcbatch.api.batchjob import record_from
from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS, CONFIGMAPS, NAMESPACES, PODGROUPS, PODS, SECRETS, VOLCANO_JOBS
from hpcbatch.controller.identity import GID, HOME, UID, USER
from hpcbatch.errors import ApiError, JobFinishedError, RefusedError, UnknownJobError, UnreachableError
from hpcbatch.model.array import Array
from hpcbatch.model.dependency import Clause, Dependency, DependencyKind, JobRef
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobRecord
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.spec import Chunk, JobSpec, Submission
from hpcbatch.model.state import JobState, Reason
from tests.component.life.mortal import Succession, is_quiet, wait_for_the_last
from tests.component.life.play import Log, Run, Script, Stage
from tests.component.volcano_cluster import NS, Cluster

KILLS = int(os.environ.get("HPCBATCH_KILLS", "200"))
SEED = int(os.environ.get("HPCBATCH_SEED", "20261121"))
ROUND = 100
"""Kills of one case."""
AT_ONCE = 8
"""Jobs that have not ended, above which the user submits no more."""
AFTER = [DependencyKind.AFTER_OK, DependencyKind.AFTER_NOT_OK, DependencyKind.AFTER_ANY]


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
    losses: int = 0
    """How often a node was lost under it."""


class Life:
    """A user at random work. Everything random comes from `dice`, but not what threads do when."""

    def __init__(self, cluster: Cluster, stage: Stage, scripts: dict[str, Script], dice: random.Random) -> None:
        self.api, self.stage, self.scripts, self.dice = cluster.registry, stage, scripts, dice
        self.asked: dict[str, Asked] = {}
        self.refused = 0

    def step(self) -> None:
        acts: list[tuple[int, Callable[[], None]]] = [
            (10, self.submit), (3, self.submit_dependent), (2, self.submit_array), (3, self.hold), (4, self.release),
            (3, self.delete), (2, self.lose_node),
        ]  # fmt: skip
        if len(unfinished(self)) >= AT_ONCE:
            acts = acts[3:]
            time.sleep(0.02)  # the user has time, the machine is busy
        weights = [weight for weight, _ in acts]
        try:
            self.dice.choices([act for _, act in acts], weights)[0]()
        except (JobFinishedError, UnknownJobError, UnreachableError, ApiError):
            pass  # too late, or no controller answered in time: nothing was done then

    def submit(self, dependency: Dependency | None = None, array: Array | None = None) -> None:
        name = f"j{len(self.scripts)}"
        chunk = Chunk(count=self.dice.choice([1, 1, 2]), cpus=1, ranks=1)
        spec = JobSpec(
            dialect=self.dice.choice(list(Dialect)), name=name, chunks=(chunk,), server="here", dependency=dependency,
            array=array, hold=array is None and self.dice.random() < 0.1, rerunnable=self.dice.random() < 0.5,
        )  # fmt: skip
        script = Script(self.dice.choice([0.0, 0.02, 0.1]), self.dice.choice([0, 0, 1]))
        self.scripts[name] = script
        try:
            made = jobs.submit(self.api, NS, Submission(spec=spec, script=b"#!/bin/sh\n", environment={}), timeout_s=20)
        except RefusedError:
            # what it depends on has left already in a way that it can never be met
            assert dependency is not None
            self.refused += 1
            return
        asked = Asked(spec, script, made.job_id, is_held=spec.hold)
        if spec.hold:
            asked.held.append((time.monotonic(), float("inf")))
        self.asked[name] = asked

    def submit_dependent(self) -> None:
        if self.asked:
            other = self.dice.choice(list(self.asked.values()))
            clause = Clause(kind=self.dice.choice(AFTER), jobs=(JobRef(job_id=other.job_id),))
            self.submit(dependency=Dependency(clauses=(clause,)))

    def submit_array(self) -> None:
        indices = Indices.of(self.dice.sample(range(20), self.dice.randint(1, 6)))
        self.submit(array=Array(indices=indices, limit=self.dice.choice([None, 1, 2]), text=str(indices)))

    def _some(self) -> Asked | None:
        return self.dice.choice(list(self.asked.values())) if self.asked else None

    def hold(self) -> None:
        asked = self._some()
        if asked is None or asked.is_held:
            return
        jobs.hold(self.api, self.record(asked).row())
        asked.is_held = True
        is_held = self.record(asked).status.state is JobState.HELD
        if (
            is_held and asked.spec.array is None
        ):  # members may be on their way; of a job it was seen before it could start
            asked.held.append((time.monotonic(), float("inf")))

    def release(self) -> None:
        asked = self._some()
        if asked is None or not asked.is_held:
            return
        self._release(asked)

    def _release(self, asked: Asked) -> None:
        now = time.monotonic()
        jobs.release(self.api, self.record(asked).row())
        asked.is_held = False
        asked.held = [(since, min(until, now)) for since, until in asked.held]

    def delete(self) -> None:
        asked = self._some()
        if asked is not None:
            jobs.request_delete(self.api, self.record(asked).row())
            asked.is_deleted = True

    def lose_node(self) -> None:
        name = self.stage.lose_one(self.dice.random())
        if name is not None:
            self.asked[name.partition("[")[0]].losses += 1

    def release_all(self) -> None:
        for asked in self.asked.values():
            if asked.is_held:
                try:
                    self._release(asked)
                except JobFinishedError:
                    asked.is_held = False

    def delete_hopeless(self) -> None:
        """Jobs that wait for ever: users of Slurm have to, where a dependency can never be met, and users of PBS, where
        the other job was deleted before it ran.
        """
        for asked in self.asked.values():
            record = self.record(asked)
            is_waiting = record.spec.dependency is not None and record.status.state is JobState.HELD
            if is_waiting and not asked.is_deleted and self._is_hopeless(record):
                jobs.request_delete(self.api, record.row())
                asked.is_deleted = True

    def _is_hopeless(self, record: JobRecord) -> bool:
        assert record.spec.dependency is not None
        if record.status.reason is Reason.DEPENDENCY_NEVER:
            return True
        number = record.spec.dependency.clauses[0].jobs[0].job_id
        other = self.record(next(asked for asked in self.asked.values() if asked.job_id == number)).status
        return record.spec.dialect is Dialect.PBS and other.state is JobState.DELETED and other.start_time is None

    def record(self, asked: Asked) -> JobRecord:
        found = self.api.list(BATCHJOBS, NS, fields=f"status.jobId={asked.job_id}").items
        assert len(found) == 1, f"job {asked.job_id} has {len(found)} records"
        return record_from(found[0])


@pytest.fixture
def quiet_deaths() -> Iterator[None]:
    before = threading.excepthook
    threading.excepthook = lambda args: None if is_quiet(args.exc_type) else before(args)
    yield
    threading.excepthook = before


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("quiet_deaths")
@pytest.mark.parametrize("part", range(max(1, KILLS // ROUND)))
def test_whatever_happens(part: int) -> None:
    dice = random.Random(SEED + part)
    cluster = Cluster(4, 4)
    scripts: dict[str, Script] = {}
    stage = Stage(cluster.registry, scripts)
    cluster.kubelet = stage
    notes = {USER: "alice", UID: "1000", GID: "1000", HOME: "/home/alice"}
    cluster.registry.patch(NAMESPACES, NS, {"metadata": {"annotations": notes}})
    cluster.start()
    ends = Ends(cluster)
    controllers = Succession(cluster.registry, random.Random(SEED + part), SiteConfig(), kills=min(KILLS, ROUND))
    controllers.start()
    life = Life(cluster, stage, scripts, dice)
    try:
        while not controllers.is_immortal:
            life.step()
        life.release_all()
        wait_for_the_last(controllers, 60)
        wait_for_none("job goes on", lambda: life.delete_hopeless() or unfinished(life), 60)
        wait_for_none("object is left", lambda: left_over(cluster), 30)
        for asked in life.asked.values():
            check(asked, life.record(asked), stage.log, life)
    finally:
        controllers.stop()
        ends.stop()
        cluster.stop()
    assert ends.changed == []
    numbers = [asked.job_id for asked in life.asked.values()]
    assert len(numbers) == len(set(numbers)), "a number was given twice"


def wait_for_none(what: str, found: Callable[[], list[str]], limit_s: float) -> None:
    give_up = time.monotonic() + limit_s
    while some := found():
        assert time.monotonic() < give_up, f"after {limit_s:.0f} s a {what}: {some}"
        time.sleep(0.1)


class Ends:
    """A watch that keeps what ended, and whatever came after that."""

    def __init__(self, cluster: Cluster) -> None:
        self.changed: list[str] = []
        self._final: dict[str, Object] = {}
        self._watch = cluster.registry.watch(BATCHJOBS)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for event in self._watch:
            obj = event.object
            status = {
                k: v for k, v in obj.get("status", {}).items() if k in {"state", "exitCode", "exitSignal", "endTime"}
            }
            if not status or not JobState(status.get("state", "Queued")).is_final:
                if obj["metadata"]["uid"] in self._final and event.type != "DELETED":
                    self.changed.append(f"{obj['metadata']['name']} lives again: {status}")
                continue
            before = self._final.setdefault(obj["metadata"]["uid"], status)
            if before != status:
                self.changed.append(f"{obj['metadata']['name']}: {before} became {status}")

    def stop(self) -> None:
        self._watch.close()
        self._thread.join(10)


def unfinished(life: Life) -> list[str]:
    every = (record_from(obj) for obj in life.api.list(BATCHJOBS, NS).items if "jobId" in obj.get("status", {}))
    return [
        f"{r.job_id} {r.status.state} {r.status.reason} {r.status.message}"
        for r in every
        if not r.status.state.is_final
    ]


def left_over(cluster: Cluster) -> list[str]:
    found = [
        f"{resource.plural}/{obj['metadata']['name']}"
        for resource in (PODS, VOLCANO_JOBS, PODGROUPS)
        for obj in cluster.registry.list(resource, NS).items
    ]
    found += [
        f"secrets/{o['metadata']['name']}" for o in cluster.registry.list(SECRETS, NS).items
        if o.get("type") == "hpcbatch.io/submission" and o["metadata"].get("ownerReferences")
    ]  # fmt: skip
    configs = (o["metadata"]["name"] for o in cluster.registry.list(CONFIGMAPS, NS).items)
    return found + [f"configmaps/{name}" for name in configs if name.startswith("job-")]


def check(asked: Asked, record: JobRecord, log: Log, life: Life) -> None:
    spec, status = asked.spec, record.status
    told = f"{spec}\n{status}\n"
    if spec.array is None:
        runs = log.of(spec.name)
        check_runs(asked, runs, told)
        check_outcome(asked, status.state, status.exit_code, runs, told)
    else:
        assert status.array is not None, told
        assert status.array.is_over, told
        sets = status.array.succeeded, status.array.failed, status.array.deleted
        assert sorted(n for part in sets for n in part) == list(spec.array.indices), told
        for index in spec.array.indices:
            runs = log.of(f"{spec.name}[{index}]")
            check_runs(asked, runs, told)
            assert index not in status.array.succeeded or [run.exit_code for run in runs][-1:] == [0], told
        if spec.array.limit is not None:
            most = overlap(log.of_array(spec.name))
            assert most <= spec.array.limit, f"{most} members at once\n{told}"
    if spec.dependency is not None:
        check_dependency(asked, log, life, told)


def check_runs(asked: Asked, runs: list[Run], told: str) -> None:
    told += "\n".join(map(str, runs))
    if not asked.spec.rerunnable:
        assert len(runs) <= 1, told
    assert len(runs) <= 1 + asked.losses, told
    for since, until in asked.held:
        assert not any(since < run.begun < until for run in runs), f"ran while held {since} to {until}\n{told}"
    assert all(run.ended is not None for run in runs), told


def check_outcome(asked: Asked, state: JobState, code: int | None, runs: list[Run], told: str) -> None:
    told += "\n".join(map(str, runs))
    ended = [run.exit_code for run in runs if run.exit_code is not None]
    if state is JobState.FINISHED:
        assert ended[-1:] == [0], told
        assert code == 0, told
    elif state is JobState.DELETED:
        assert asked.is_deleted or asked.spec.dependency is not None, told
    else:
        assert state is JobState.FAILED, told
        assert asked.losses or ended[-1:] == [1], told
        assert asked.losses or code == 1, told


def check_dependency(asked: Asked, log: Log, life: Life, told: str) -> None:
    runs = log.of(asked.spec.name)
    if not runs:
        return
    assert asked.spec.dependency is not None
    clause = asked.spec.dependency.clauses[0]
    other = next(o for o in life.asked.values() if o.job_id == clause.jobs[0].job_id)
    before = log.of_array(other.spec.name) if other.spec.array else log.of(other.spec.name)
    told += "\n".join(map(str, [*before, *runs]))
    assert all(run.ended is not None and run.ended <= runs[0].begun for run in before), told
    status = life.record(other).status
    if clause.kind is DependencyKind.AFTER_OK:
        assert status.state is JobState.FINISHED, told
    elif clause.kind is DependencyKind.AFTER_NOT_OK:
        assert status.state is not JobState.FINISHED, told


def overlap(runs: list[Run]) -> int:
    """The most that ran at one instant."""
    changes = sorted([(run.begun, 1) for run in runs] + [(run.ended or 0.0, -1) for run in runs])
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most
