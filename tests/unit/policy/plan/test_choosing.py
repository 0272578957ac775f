"""Jobs that name several reservations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbatch.policy.plan.outcome import Plan, Why
from hpcbatch.policy.plan.planner import Planner, make_plan
from hpcbatch.policy.plan.snapshot import Node, Part, Reservation, RunningJob, Shape, Snapshot, WaitingJob

NODES = tuple(Node(name=f"n{index}", has={"cpu": 4}) for index in range(3))


def job(number: int, *reservations: str, walltime_s: float = 10) -> WaitingJob:
    return WaitingJob(
        job_id=str(number),
        order=(number,),
        shapes=(Shape(parts=(Part(count=1, needs={"cpu": 4}),)),),
        walltime_s=walltime_s,
        reservation=reservations[0],
        other_reservations=reservations[1:],
    )


def reserve(name: str, start_s: float, end_s: float, node: str, **more: object) -> Reservation:
    found = Reservation(name=name, start_s=start_s, end_s=end_s, nodes={node: None})
    return replace(found, **more)  # type: ignore[arg-type]


def runs(job_id: str, ends_s: float, node: str, reservation: str) -> RunningJob:
    return RunningJob(job_id=job_id, placed={node: {"cpu": 4}}, ends_s=ends_s, reservation=reservation)


FIRST, SECOND = reserve("a", 0, 100, "n0"), reserve("b", 0, 100, "n1")
LATER, NOBODYS = reserve("later", 50, 100, "n2"), reserve("nobodys", 0, 100, "n2", is_for_nobody=True)
FULL = (runs("x", 30, "n0", "a"), runs("y", 20, "n1", "b"))


def world(*waiting: WaitingJob, running: tuple[RunningJob, ...] = ()) -> Snapshot:
    return Snapshot(
        now_s=0, nodes=NODES, running=running, waiting=waiting, reservations=(FIRST, SECOND, LATER, NOBODYS)
    )


def where(found: Plan) -> dict[str, str]:
    return {release.job_id: release.reservation for release in found.releases}


@pytest.mark.parametrize(
    ("named", "running", "wanted"),
    [
        (("a", "b"), (), "a"),
        (("b", "a"), (), "b"),
        (("a", "b"), FULL[:1], "b"),
        (("b", "a"), FULL[:1], "b"),
        (("later", "b"), (), "b"),
        (("nobodys", "b"), (), "b"),
        (("gone", "b"), (), "b"),
        (("later", "gone", "a"), (), "a"),
    ],
)
def test_it_runs_in_the_first_one_in_which_it_can(
    named: tuple[str, ...], running: tuple[RunningJob, ...], wanted: str
) -> None:
    assert where(make_plan(world(job(1, *named), running=running))) == {"1": wanted}


def test_where_none_has_room_it_is_planned_in_the_one_that_has_room_first() -> None:
    found = make_plan(world(job(1, "later", "a", "b"), running=FULL))
    assert found.expected["1"].start_s == 20
    assert found.held["1"].why is Why.RESOURCES


def test_where_it_can_run_in_none_the_first_one_says_why() -> None:
    held = make_plan(world(job(1, "gone", "nobodys"))).held["1"]
    assert (held.why, held.reservation) == (Why.RESERVATION_OVER, "gone")


def test_one_that_is_moved_in_goes_by_its_place_in_the_order() -> None:
    """The job that started there in its absence is put off, or goes on to another reservation itself."""
    waiting = (job(1, "a", "b"), job(2, "b"))
    assert where(make_plan(world(*waiting, running=FULL[:1]))) == {"1": "b"}
    waiting = (job(1, "a", "b"), job(2, "b", "c"))
    found = make_plan(
        replace(world(*waiting, running=FULL[:1]), reservations=(FIRST, SECOND, reserve("c", 0, 99, "n2")))
    )
    assert where(found) == {"1": "b", "2": "c"}


def test_events_lead_to_the_plan_that_a_new_planner_makes() -> None:
    waiting = [job(1, "a", "b"), job(2, "b", "a"), job(3, "later", "b")]
    planner = Planner(world(*waiting))
    running: list[RunningJob] = []
    for step in range(12):
        now_s = 5.0 * step
        plan = planner.plan(now_s)
        anew = make_plan(replace(world(*waiting, running=tuple(running)), now_s=now_s))
        assert (where(plan), plan.expected) == (where(anew), anew.expected)
        assert {job_id: plan.held[job_id] for job_id in plan.held} == {
            job_id: anew.held[job_id] for job_id in anew.held
        }
        for release in plan.releases[:1]:
            one = runs(release.job_id, now_s + 10, release.places[0].node, release.reservation)
            waiting = [each for each in waiting if each.job_id != release.job_id]
            running.append(one)
            planner.put_running(one)
        for one in [each for each in running if each.ends_s <= now_s]:
            running.remove(one)
            planner.drop_job(one.job_id)
        if step % 3 == 0:
            waiting.append(job(10 + step, "b", "a", "later"))
            planner.put_waiting(waiting[-1])
        if step == 5:
            waiting = [replace(each, order=(-each.order[0],)) for each in waiting]
            planner.reorder(waiting)
        if step == 7:
            planner.set_reservations((FIRST, SECOND, LATER, NOBODYS))
