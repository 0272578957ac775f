"""What holds of all plans, on small generated clusters."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpcbatch.policy.plan.limits import Limits
from hpcbatch.policy.plan.outcome import Expected, Plan, Release
from hpcbatch.policy.plan.planner import Planner, make_plan
from hpcbatch.policy.plan.snapshot import Node, RunningJob, Snapshot, Vector, WaitingJob
from tests.unit.policy.plan import worlds

MANY = settings(
    max_examples=500 if os.environ.get("HPCBATCH_TESTS") == "full" else 50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@MANY
@given(worlds.snapshots())
def test_every_waiting_job_is_released_or_held_with_a_reason(snapshot: Snapshot) -> None:
    plan = make_plan(snapshot)
    released = [release.job_id for release in plan.releases]
    assert len(set(released)) == len(released)
    assert {*released, *plan.held} == {job.job_id for job in snapshot.waiting}
    assert set(released).isdisjoint(plan.held)
    assert len(plan.held) == len(list(plan.held))
    assert plan.expected.keys() <= plan.held.keys()


@MANY
@given(worlds.snapshots())
def test_all_pods_are_placed_where_they_may_be(snapshot: Snapshot) -> None:
    plan = make_plan(snapshot)
    jobs = {job.job_id: job for job in snapshot.waiting}
    nodes = {node.name: node for node in snapshot.nodes}
    starts: list[tuple[str, Release | Expected]] = [(one.job_id, one) for one in plan.releases]
    for job_id, start in [*starts, *plan.expected.items()]:
        shape = jobs[job_id].shapes[start.shape]
        for index, part in enumerate(shape.parts):
            places = [place for place in start.places if place.part == index]
            assert sum(place.count for place in places) == part.count
            for place in places:
                node = nodes[place.node]
                assert node.is_open
                assert part.labels.items() <= node.labels.items()
                assert part.hosts is None or node.name in part.hosts
                assert node.name not in part.excluded_hosts
        if shape.is_scattered:
            assert len({place.node for place in start.places}) == sum(part.count for part in shape.parts)


@MANY
@given(worlds.snapshots())
def test_no_node_is_ever_over_its_capacity_or_reservation(snapshot: Snapshot) -> None:
    assert_room(snapshot, make_plan(snapshot))


def assert_room(snapshot: Snapshot, plan: Plan) -> None:
    uses = worlds.uses(snapshot, plan)
    for node in snapshot.nodes:
        here = [use for use in uses if use.node == node.name]
        kept = [found for found in snapshot.reservations if node.name in found.nodes and found.end_s > snapshot.now_s]
        times = {use.start_s for use in here} | {found.start_s for found in kept} | {snapshot.now_s}
        for time in sorted(time for time in times if time >= snapshot.now_s):
            now_here = [use for use in here if use.start_s <= time < use.end_s]
            planned = [use for use in now_here if use.is_planned]
            if any(use.is_exclusive for use in now_here) and planned:
                assert len({use.job_id for use in now_here}) == 1
            outside = [use for use in now_here if not use.pool]
            if planned:
                assert_within(node.has, planned, *(use.vector for use in now_here))
            if any(not use.pool for use in planned):
                reserved = [
                    _kept(node, found.nodes[node.name]) for found in kept if found.start_s <= time < found.end_s
                ]
                assert_within(
                    node.has, [use for use in planned if not use.pool], *(use.vector for use in outside), *reserved
                )
            for pool in {use.pool for use in planned if use.pool}:
                (own,) = [found for found in kept if found.name == pool]
                inside = [use for use in now_here if use.pool == pool]
                assert all(own.start_s <= use.start_s and use.end_s <= own.end_s for use in inside)
                assert_within(_kept(node, own.nodes[node.name]), inside, *(use.vector for use in inside))


def _kept(node: Node, vector: Vector | None) -> Vector:
    return node.has if vector is None else {name: min(amount, node.has.get(name, 0)) for name, amount in vector.items()}


def assert_within(has: Vector, planned: list[worlds.Use], *vectors: Vector) -> None:
    """Of what is planned there; of other resources a node may have lost some since its jobs started."""
    for name in {name for use in planned for name, amount in use.vector.items() if amount}:
        assert sum(vector.get(name, 0) for vector in vectors) <= has.get(name, 0)


@MANY
@given(worlds.snapshots())
def test_those_who_may_not_use_a_reservation_do_not(snapshot: Snapshot) -> None:
    plan = make_plan(snapshot)
    jobs = {job.job_id: job for job in snapshot.waiting}
    reservations = {found.name: found for found in snapshot.reservations}
    for job_id in [*(release.job_id for release in plan.releases), *plan.expected]:
        job = jobs[job_id]
        assert not job.reservation or reservations[job.reservation].may_use(job.owner)


@MANY
@given(worlds.snapshots())
def test_no_limit_is_exceeded(snapshot: Snapshot) -> None:
    plan = make_plan(snapshot)
    after = Limits(snapshot.limits)
    for job in snapshot.running:
        after.put_running(job)
    before = dict(after.used)
    for job in _started(snapshot, plan):
        after.put_running(job)
    for key, used in after.used.items():
        assert used <= max(snapshot.limits[key[0]].amount, before.get(key, 0))


@MANY
@given(worlds.snapshots())
def test_no_job_is_planned_later_because_of_those_after_it(snapshot: Snapshot) -> None:
    plan = make_plan(snapshot)
    order = {job.job_id: (job.order, job.job_id) for job in snapshot.waiting}
    for job_id, expected in plan.expected.items():
        pool = next(job.reservation for job in snapshot.waiting if job.job_id == job_id)
        first = tuple(job for job in snapshot.waiting if job.reservation != pool or order[job.job_id] <= order[job_id])
        assert make_plan(replace(snapshot, waiting=first)).expected[job_id] == expected


@MANY
@given(worlds.snapshots(), st.integers(0, 12))
def test_a_planned_start_is_kept_when_the_plan_is_carried_out(snapshot: Snapshot, later_s: int) -> None:
    """With nothing new, jobs that end when they should, and no limits, whose counters others' ends change."""
    snapshot = replace(snapshot, depth=1, depths={}, limits=(), waiting=tuple(_outside(snapshot)))
    plan = make_plan(snapshot)
    for job_id, expected in plan.expected.items():
        then_s = min(later_s, expected.start_s)
        running = [job for job in (*snapshot.running, *_started(snapshot, plan)) if max(job.ends_s, 1) > then_s]
        started = {release.job_id for release in plan.releases}
        waiting = tuple(job for job in snapshot.waiting if job.job_id not in started and job.earliest_s <= 0)
        then = make_plan(replace(snapshot, now_s=then_s, running=tuple(running), waiting=waiting))
        if then_s < 1 and any(job.ends_s <= 0 for job in snapshot.running):
            continue
        is_started = job_id in {release.job_id for release in then.releases}
        assert is_started or then.expected[job_id].start_s <= expected.start_s


@MANY
@given(worlds.snapshots(), st.sampled_from((1, 2, 3)))
def test_a_depth_of_the_only_queue_is_as_that_of_all(snapshot: Snapshot, depth: int) -> None:
    waiting = tuple(replace(job, owner=replace(job.owner, queue="q")) for job in _outside(snapshot))
    found = make_plan(replace(snapshot, waiting=waiting, depth=0, depths={"q": depth, "p": 9}))
    other = make_plan(replace(snapshot, waiting=waiting, depth=depth, depths={}))
    assert found.releases == other.releases
    assert found.expected == other.expected
    assert {name: held.why for name, held in found.held.items()} == {
        name: held.why for name, held in other.held.items()
    }


@MANY
@given(worlds.snapshots())
def test_no_queue_has_more_planned_starts_than_its_depth(snapshot: Snapshot) -> None:
    plan, queues = make_plan(snapshot), {job.job_id: job.owner.queue for job in _without_reservation(snapshot)}
    planned = Counter(queues[job_id] for job_id in plan.expected if job_id in queues)
    for queue, depth in snapshot.depths.items():
        assert planned.pop(queue, 0) <= depth
    assert snapshot.depth is None or planned.total() <= snapshot.depth


def _without_reservation(snapshot: Snapshot) -> list[WaitingJob]:
    return [job for job in snapshot.waiting if not job.reservation]


def _outside(snapshot: Snapshot) -> list[WaitingJob]:
    return [replace(job, reservation="") for job in snapshot.waiting]


def _started(snapshot: Snapshot, plan: Plan) -> list[RunningJob]:
    jobs = {job.job_id: job for job in snapshot.waiting}
    return [
        RunningJob(
            job_id=release.job_id,
            placed=worlds.placed(jobs[release.job_id], release),
            ends_s=plan.now_s + release.walltime_s,
            owner=jobs[release.job_id].owner,
            is_exclusive=jobs[release.job_id].shapes[release.shape].is_exclusive,
            reservation=jobs[release.job_id].reservation,
        )
        for release in plan.releases
    ]


@MANY
@given(worlds.snapshots(), st.data())
def test_event_by_event_is_as_from_nothing(snapshot: Snapshot, data: st.DataObject) -> None:
    planner = Planner(snapshot)
    world = World(snapshot)
    for _ in range(data.draw(st.integers(1, 8), label="events")):
        plan = planner.plan(world.now_s)
        assert_same(plan, make_plan(world.snapshot(snapshot)))
        world.happen(planner, plan, data)
    assert_same(planner.plan(world.now_s), make_plan(world.snapshot(snapshot)))


class World:
    """What a planner should know."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.now_s: float = snapshot.now_s
        self.nodes = {node.name: node for node in snapshot.nodes}
        self.running = {job.job_id: job for job in snapshot.running}
        self.waiting = {job.job_id: job for job in snapshot.waiting}
        self.reservations = snapshot.reservations
        self.limits = snapshot.limits
        self.depths = snapshot.depths

    def snapshot(self, first: Snapshot) -> Snapshot:
        return replace(
            first,
            now_s=self.now_s,
            nodes=tuple(self.nodes.values()),
            running=tuple(self.running.values()),
            waiting=tuple(self.waiting.values()),
            reservations=self.reservations,
            limits=self.limits,
            depths=self.depths,
        )

    def happen(self, planner: Planner, plan: Plan, data: st.DataObject) -> None:
        match data.draw(st.sampled_from(EVENTS), label="event"):
            case "start":
                for job in _started(self.snapshot(Snapshot(now_s=0)), plan):
                    self.waiting.pop(job.job_id)
                    self.running[job.job_id] = job
                    planner.put_running(job)
            case "end":
                for job_id in [*self.running][:1]:
                    self.running.pop(job_id)
                    planner.drop_job(job_id)
            case "time":
                self.now_s += data.draw(st.integers(0, 5))
            case "submit":
                new = data.draw(worlds.waiting(data.draw(st.integers(0, 7))))
                self.running.pop(new.job_id, None)
                self.waiting[new.job_id] = new
                planner.put_waiting(new)
            case "delete":
                for job_id in [*self.waiting][:1]:
                    self.waiting.pop(job_id)
                    planner.drop_job(job_id)
            case "node":
                node = data.draw(worlds.nodes(data.draw(st.sampled_from(worlds.NAMES))))
                self.nodes[node.name] = node
                planner.put_node(node)
            case "lost":
                name = data.draw(st.sampled_from(worlds.NAMES))
                self.nodes.pop(name, None)
                planner.drop_node(name)
            case "reserve":
                self.reservations = data.draw(worlds.reservations())
                planner.set_reservations(self.reservations)
            case "limit":
                self.limits = worlds.LIMITS[: data.draw(st.integers(0, 4))]
                planner.set_limits(self.limits)
            case "depth":
                self.depths = data.draw(st.sampled_from(worlds.DEPTHS))
                planner.set_depths(planner.depth, self.depths)


EVENTS = ("start", "end", "time", "submit", "delete", "node", "lost", "reserve", "limit", "depth")


def assert_same(one: Plan, other: Plan) -> None:
    assert one.releases == other.releases
    assert list(one.expected.items()) == list(other.expected.items())
    assert dict(one.held) == dict(other.held)
    assert one.next_s == other.next_s
