"""Short jobs first, with events by hand: what records keep of who is due, whenever the controller is killed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hpcbatch.api.port import WatchEvent
from hpcbatch.controller import plan_gate
from hpcbatch.model.priority import ShortJobs
from hpcbatch.model.record import JobRecord
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.statuses import queued_again
from hpcbatch.units import rfc3339
from tests.unit.controller.test_plan_gate import NS, World, full, job

SHORT = ShortJobs(walltime_s=30, delay_s=600)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_gate, "_SHARE", 1.0)
    monkeypatch.setattr(plan_gate, "_LEAST_S", 0.0)


def put(world: World, one: JobRecord, node: str) -> None:
    """It starts there."""
    assert world.gate.take(one) is None
    one = world.gate.released(one)
    world.made(one, since=rfc3339(datetime.now(UTC)))
    world.put_pod(one, node)


def end(world: World, one: JobRecord, node: str) -> None:
    """It is gone, with its pod and its Volcano Job."""
    world.put_pod(one, node, phase="Succeeded")
    world.volcano_jobs.objects.pop((NS, f"job-{one.job_id}"))
    world.gate.on_batchjob(WatchEvent("DELETED", world.batchjobs.objects.pop((NS, one.object_name))))


def overtaken(world: World) -> JobRecord:
    """A wide job that is due, and behind a short one that has started; as its record is then."""
    first, wide = full(world), job(5, cpus=2, count=2)
    world.written(wide)
    held = world.gate.take(wide)
    assert held is not None and held.reason is Reason.RESOURCES
    assert world.gate.shown(wide, wide.status).due_since is None
    for index, one in enumerate(first):
        end(world, one, f"n{index // 2}")
    world.woken.clear()
    put(world, job(6, walltime_s=30), "n0")
    world.gate.look()
    assert "pbs-5" in world.woken, "its record is to say that it is due"
    assert world.gate.take(wide) is not None
    return replace(wide, status=world.gate.shown(wide, wide.status))


def test_what_starts_at_once_is_due_before_it_has_a_volcano_job() -> None:
    world = World(short_first=SHORT)
    assert world.gate.take(job(1)) is None
    due = world.gate.released(job(1)).status.due_since
    assert due is not None
    world = World()
    assert world.gate.take(job(1)) is None
    assert world.gate.released(job(1)).status.due_since is None


def test_a_short_job_goes_before_one_that_is_due_and_so_it_does_after_a_kill() -> None:
    world = World(short_first=SHORT)
    wide = overtaken(world)
    due = wide.status.due_since
    assert due is not None
    world.written(wide)
    world.start()
    assert world.gate.shown(wide, wide.status).due_since == due
    put(world, job(7, walltime_s=30), "n1")
    assert world.gate.take(wide) is not None


def test_a_kill_before_that_is_written_makes_it_due_later_and_nothing_else() -> None:
    world = World(short_first=SHORT)
    wide = overtaken(world)
    world.start()
    assert wide.status.due_since is not None
    again = replace(wide, status=replace(wide.status, due_since=None))
    assert world.gate.take(again) is not None
    shown = world.gate.shown(again, again.status).due_since
    assert shown is not None
    assert shown >= wide.status.due_since


@pytest.mark.parametrize("is_killed", [False, True])
def test_no_short_job_goes_before_one_whose_bound_is_near(*, is_killed: bool) -> None:
    world = World(short_first=SHORT)
    wide = overtaken(world)
    since = datetime.now(UTC) - timedelta(seconds=580)
    wide = replace(wide, status=replace(wide.status, due_since=since))
    if is_killed:
        world.written(wide)
        world.start()
    held = world.gate.take(job(7, walltime_s=30))
    assert (held is not None) is is_killed
    if is_killed:
        end(world, job(6), "n0")
        assert world.gate.take(job(7, walltime_s=30)) is not None
        assert world.gate.take(wide) is None
        assert world.gate.released(wide).status.due_since == wide.status.due_since


def test_a_job_that_is_not_due_shows_when_it_may_start() -> None:
    world = World(short_first=SHORT)
    full(world)
    wide = job(5, cpus=2, count=2)
    world.written(wide)
    assert world.gate.take(wide) is not None
    world.gate.look()
    start, nodes = world.gate.forecast(wide)
    assert start is not None
    assert nodes == "n0,n1"


def test_a_job_that_is_held_or_queued_again_is_not_due() -> None:
    world = World(short_first=SHORT)
    wide = overtaken(world)
    assert world.gate.shown(wide, replace(wide.status, state=JobState.HELD)).due_since is None
    assert world.gate.shown(wide, replace(wide.status, state=JobState.RUNNING)).due_since == wide.status.due_since
    assert queued_again(wide.status, datetime.now(UTC)).due_since is None


def test_the_site_may_change_its_mind() -> None:
    world = World()
    first, long = full(world), job(5, cpus=2, count=2)
    world.written(long)
    assert world.gate.take(long) is not None
    world.sites.config = replace(world.sites.config, short_first=SHORT)
    for index, one in enumerate(first):
        end(world, one, f"n{index // 2}")
    put(world, job(6, walltime_s=30), "n0")
    assert world.gate.shown(long, long.status).due_since is not None
    world.sites.config = replace(world.sites.config, short_first=None)
    assert world.gate.take(long) is not None
    assert world.gate.shown(long, long.status).due_since is None
    assert world.gate.take(job(7, walltime_s=30)) is not None
