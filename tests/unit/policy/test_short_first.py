"""Short jobs go first, and nobody starts later than the delay after the shadow has started it."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import replace

import pytest

from hpcbatch.policy.plan.outcome import Why
from hpcbatch.policy.plan.snapshot import (
    JOBS,
    Limit,
    Node,
    Owner,
    Part,
    Reservation,
    RunningJob,
    Scope,
    Shape,
    Snapshot,
    WaitingJob,
)
from hpcbatch.policy.short_first import ShortFirst
from tests.thoroughness import IS_FULL

SHORT_S, DELAY_S = 30.0, 600.0
CPUS = 16


def job(number: int, cpus: int, walltime_s: float, *, last: float = 0.0, user: str = "") -> WaitingJob:
    shape = Shape(parts=(Part(count=cpus, needs={"cpu": 1000}),))
    owner = Owner(user=user, queue="q")
    return WaitingJob(job_id=str(number), order=(last, number), shapes=(shape,), walltime_s=walltime_s, owner=owner)


def run(number: int, cpus: int, ends_s: float) -> RunningJob:
    return RunningJob(job_id=str(number), placed={"n": {"cpu": 1000 * cpus}}, ends_s=ends_s)


def planner(*, limits: tuple[Limit, ...] = (), short_s: float = SHORT_S) -> ShortFirst:
    node = Node(name="n", has={"cpu": 1000 * CPUS})
    return ShortFirst(Snapshot(now_s=0, nodes=(node,), limits=limits), short_s=short_s, delay_s=DELAY_S)


class World:
    """Jobs come and run in virtual time; a job runs for its part of what it asks for."""

    def __init__(self, seed: int, *, parts: tuple[float, ...], restarts: bool = False) -> None:
        self.random, self.chance = random.Random(seed), random.Random(seed)
        self.parts, self.restarts, self.short_s = parts, restarts, SHORT_S
        self.planner = self.new_planner()
        self.jobs: dict[str, WaitingJob] = {}
        self.due: dict[str, float] = {}
        """As records keep it, of jobs that have not ended."""
        self.first_due: dict[str, float] = {}
        self.starts: dict[str, float] = {}
        self.ends: dict[str, float] = {}
        self.placed: dict[str, RunningJob] = {}

    def new_planner(self) -> ShortFirst:
        return planner(short_s=self.short_s)

    def go(self, count: int) -> None:
        came_s, arrivals = 0.0, []
        for number in range(1, count + 1):
            came_s += self.random.choice((0.0, 1.0, 20.0, 100.0, 400.0))
            walltime_s = self.random.choice((10.0, 20.0, 30.0, 100.0, 1000.0, 5000.0))
            arrivals.append((came_s, job(number, self.random.choice((1, 1, 2, 4, 8, 16)), walltime_s)))
        next_s = math.inf
        while arrivals or self.ends or self.jobs:
            now_s = min([next_s, *(came for came, _ in arrivals[:1]), *self.ends.values()])
            for job_id in [job_id for job_id, end_s in self.ends.items() if end_s <= now_s]:
                del self.ends[job_id], self.placed[job_id]
                self.due.pop(job_id, None)
                self.planner.drop_job(job_id)
            while arrivals and arrivals[0][0] <= now_s:
                one = arrivals.pop(0)[1]
                self.jobs[one.job_id] = one
                self.planner.put_waiting(one)
            next_s = self.step(now_s)
            if self.restarts and self.chance.random() < 0.2:
                self.restart()
                next_s = min(next_s, self.step(now_s))

    def step(self, now_s: float) -> float:
        plan = self.planner.plan(now_s)
        for job_id in self.planner.take_due():
            since_s = self.planner.due_since(job_id)
            assert since_s is not None
            assert since_s <= now_s
            self.due[job_id] = since_s
            self.first_due.setdefault(job_id, since_s)
        for release in plan.releases:
            one = self.jobs.pop(release.job_id)
            assert one.walltime_s <= self.short_s or one.job_id in self.due
            self.starts[one.job_id] = now_s
            self.ends[one.job_id] = now_s + self.random.choice(self.parts) * one.walltime_s
            cpus = one.shapes[0].parts[0].count
            self.placed[one.job_id] = run(int(one.job_id), cpus, now_s + one.walltime_s)
            self.planner.put_running(self.placed[one.job_id])
        assert {*plan.held} == {*self.jobs}
        return math.inf if plan.next_s is None else plan.next_s

    def restart(self) -> None:
        """A planner that knows nothing but what records say."""
        all_jobs = {one.job_id: one for one in self.jobs.values()}
        self.planner = self.new_planner()
        for job_id, since_s in self.due.items():
            length_s = all_jobs[job_id].walltime_s if job_id in all_jobs else self.length_s(job_id)
            self.planner.note_due(job_id, since_s, since_s + length_s)
        for running in self.placed.values():
            self.planner.put_running(running)
        for one in self.jobs.values():
            self.planner.put_waiting(one)

    def length_s(self, job_id: str) -> float:
        return self.placed[job_id].ends_s - self.starts[job_id]


SEEDS = range(60 if IS_FULL else 12)


@pytest.mark.parametrize("restarts", [False, True], ids=["", "restarts"])
@pytest.mark.parametrize("parts", [(1.0,), (1.0, 0.5, 0.01)], ids=["as-asked", "sooner"])
@pytest.mark.parametrize("seed", SEEDS)
def test_no_job_starts_later_than_its_bound(seed: int, parts: tuple[float, ...], *, restarts: bool) -> None:
    world = World(seed, parts=parts, restarts=restarts)
    world.go(60)
    assert len(world.starts) == 60
    late_s: Mapping[str, float] = {
        job_id: world.starts[job_id] - since_s for job_id, since_s in world.first_due.items()
    }
    assert max(late_s.values()) <= DELAY_S


@pytest.mark.parametrize("seed", SEEDS)
def test_without_short_jobs_it_is_the_order_as_it_was(seed: int) -> None:
    """All start when the shadow starts them; so they do beside restarts."""
    starts = []
    for restarts in (False, True):
        world = World(seed, parts=(1.0,), restarts=restarts)
        world.short_s = 0.0
        world.planner = world.new_planner()
        world.go(40)
        assert world.starts == world.first_due
        starts.append(world.starts)
    assert starts[0] == starts[1]


def full() -> ShortFirst:
    """16 CPUs, all taken until 1000; a wide job is the first that waits, and not due."""
    found = planner()
    found.put_waiting(job(1, 16, 1000.0))
    assert [release.job_id for release in found.plan(0.0).releases] == ["1"]
    found.put_running(run(1, 16, 1000.0))
    found.put_waiting(job(2, 16, 1000.0))
    assert not found.plan(1.0).releases
    return found


def test_a_long_job_shows_what_it_waits_for_until_it_is_due() -> None:
    found = full()
    found.put_waiting(job(3, 1, 100.0))
    plan = found.plan(2.0)
    assert plan.held["2"].why is Why.RESOURCES
    assert plan.held["3"].why is Why.PRIORITY
    assert found.due_since("2") is None
    assert plan.next_s == 1000.0


def test_a_short_job_shows_what_it_waits_for_too() -> None:
    found = planner()
    found.set_reservations([Reservation(name="r", nodes={"n": None}, start_s=20.0, end_s=900.0)])
    found.put_waiting(job(1, 1, 30.0))
    plan = found.plan(1.0)
    assert plan.held["1"].why is Why.RESERVATION
    assert plan.held["1"].reservation == "r"


def test_what_ends_early_ends_in_the_shadow_too() -> None:
    found = full()
    found.drop_job("1")
    assert [release.job_id for release in found.plan(5.0).releases] == ["2"]
    assert found.due_since("2") == 5.0


def test_a_stream_of_short_jobs_goes_first_until_the_bound() -> None:
    found = full()
    found.drop_job("1")
    found.put_waiting(job(3, 1, 30.0))
    assert [release.job_id for release in found.plan(5.0).releases] == ["3"]
    found.put_running(run(3, 1, 35.0))
    number, now_s, started = 3, 5.0, 0.0
    while not started:
        assert now_s <= 5.0 + DELAY_S
        now_s += 30.0
        found.drop_job(str(number))
        number += 1
        found.put_waiting(job(number, 1, 30.0))
        names = [release.job_id for release in found.plan(now_s).releases]
        if "2" in names:
            started = now_s
        else:
            assert names == [str(number)]
            found.put_running(run(number, 1, now_s + 30.0))
    assert started > 5.0 + DELAY_S - 60.0


def test_a_restart_keeps_what_is_due_and_its_run_in_the_shadow() -> None:
    found = planner()
    found.note_due("2", 5.0, 1005.0)
    found.put_running(run(3, 1, 35.0))  # a short one, which was not due
    found.put_waiting(job(2, 16, 1000.0))
    found.put_waiting(job(4, 16, 1000.0))
    plan = found.plan(10.0)
    assert not plan.releases
    assert plan.expected["2"].start_s == 35.0
    assert found.due_since("2") == 5.0
    assert plan.next_s == 35.0
    found.drop_job("3")
    assert [release.job_id for release in found.plan(20.0).releases] == ["2"]
    found.put_running(run(2, 16, 1020.0))
    assert found.plan(1004.0).next_s == 1005.0
    found.plan(1006.0)
    assert found.due_since("4") == 1005.0


def test_limits_hold_in_both() -> None:
    limit = Limit(code="MaxJobsPU", what=JOBS, amount=1, per=(Scope.USER,))
    found = planner(limits=(limit,))
    for number in (1, 2):
        found.put_waiting(job(number, 1, 1000.0, user="ann"))
    found.put_waiting(job(3, 1, 10.0, user="ann"))
    plan = found.plan(0.0)
    assert [release.job_id for release in plan.releases] == ["3"]
    assert found.due_since("1") == 0.0
    assert plan.held["2"].limit == limit
    assert plan.held["1"].limit == limit


def test_a_job_behind_all_others_lets_them_go() -> None:
    found = full()
    found.drop_job("1")
    found.put_waiting(job(2, 16, 1000.0))
    found.plan(5.0)
    found.put_waiting(job(2, 16, 1000.0, last=1.0))
    found.put_waiting(job(3, 1, 30.0))
    assert [release.job_id for release in found.plan(5.0 + 2 * DELAY_S).releases] == ["3"]


def test_jobs_outside_of_it_go_before_it() -> None:
    found = planner()
    found.set_reservations([Reservation(name="r", nodes={"n": None}, start_s=0.0, end_s=5000.0)])
    found.put_waiting(replace(job(1, 4, 1000.0), reservation="r"))
    assert [release.job_id for release in found.plan(1.0).releases] == ["1"]
    assert found.due_since("1") is None
    found = full()
    found.drop_job("1")
    found.put_waiting(job(4, 16, 1000.0, last=-1.0))
    found.put_waiting(job(3, 16, 10.0))
    assert [release.job_id for release in found.plan(2.0).releases] == ["4"]


def test_a_job_that_comes_again_is_not_due_any_more() -> None:
    found = full()
    found.drop_job("1")
    found.put_waiting(job(0, 16, 100.0))
    found.plan(3.0)
    assert found.due_since("0") == 3.0
    found.drop_job("0")
    found.plan(4.0)
    assert found.due_since("2") == 4.0
    found.put_waiting(job(0, 16, 100.0))
    found.plan(5.0)
    assert found.due_since("0") is None


def test_other_places_in_line_count_in_the_shadow() -> None:
    found = full()
    found.put_waiting(job(3, 16, 500.0))
    found.plan(2.0)
    found.reorder([replace(job(2, 16, 1000.0), order=(0.0, 9.0)), replace(job(3, 16, 500.0), order=(0.0, 1.0))])
    found.drop_job("1")
    assert [release.job_id for release in found.plan(3.0).releases] == ["3"]
