"""A suspended job that is to go on, as the plan sees it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import JobRecord, JobStatus, Suspension
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState
from hpcbatch.policy.going_on import DEPTH, LINE, job_that_goes_on
from hpcbatch.policy.plan.planner import make_plan
from hpcbatch.policy.plan.snapshot import Node, Owner, Part, RunningJob, Shape, Snapshot, WaitingJob
from hpcbatch.policy.planned import beside_walltime_s
from tests.unit.policy.plan.test_properties import MANY

START = datetime(2026, 11, 26, 12, tzinfo=UTC)
SITE = SiteConfig()


def record() -> JobRecord:
    """One of an hour that ran for ten minutes, stood still for five, ran for ten, and stands still."""
    spells = [(0, 0), (10, 15), (25, None)]
    at = [(START + timedelta(minutes=a), None if b is None else START + timedelta(minutes=b)) for a, b in spells[1:]]
    status = JobStatus(
        state=JobState.SUSPENDED,
        frees_cpus=True,
        start_time=START,
        walltime_s=3600,
        suspensions=tuple(Suspension(start_time=start, end_time=end) for start, end in at),
    )
    spec = JobSpec(dialect=Dialect.SLURM, name="j", chunks=(Chunk(),))
    return JobRecord(job_id=7, namespace="n", object_name="o", spec=spec, status=status, queue="q")


def going_on(lacks_milli: dict[str, int], order: float = 0) -> WaitingJob | None:
    return job_that_goes_on(record(), (order,), lacks_milli, SITE, Owner(user="ann", queue="q"), reservation="")


def test_what_it_waits_for() -> None:
    job = going_on({"a": 2000, "b": 2000, "c": 500, "d": 0})
    assert job is not None
    (shape,) = job.shapes
    assert [(part.count, part.needs, part.hosts) for part in shape.parts] == [
        (1, {"cpu": 500}, frozenset({"c"})),
        (2, {"cpu": 2000}, frozenset({"a", "b"})),
    ]
    assert job.walltime_s == 3600 - 20 * 60 + beside_walltime_s(SITE)
    assert (job.owner.user, job.owner.queue) == ("ann", LINE)


def test_one_that_gave_up_nothing_waits_for_nothing() -> None:
    assert going_on({"a": 0}) is None
    assert going_on({}) is None


@st.composite
def worlds(draw: st.DrawFn) -> Snapshot:
    """Some nodes, jobs that fill them, and jobs that wait before and after one that is to go on."""
    names = ("a", "b", "c")
    running = tuple(
        RunningJob(job_id=f"r{name}", placed={name: {"cpu": draw(st.integers(1, 4))}}, ends_s=draw(st.integers(1, 9)))
        for name in names
        if draw(st.integers(0, 3))
    )
    waiting = [
        WaitingJob(
            job_id=f"w{number}",
            order=(float(draw(st.integers(-5, 5))),),
            shapes=(Shape(parts=(Part(count=draw(st.integers(1, 3)), needs={"cpu": draw(st.integers(1, 4))}),)),),
            walltime_s=draw(st.integers(1, 20)),
        )
        for number in range(draw(st.integers(1, 6)))
    ]
    lacks = draw(st.dictionaries(st.sampled_from(names), st.integers(1, 4), min_size=1))
    job = going_on(lacks)
    assert job is not None
    return Snapshot(
        now_s=0,
        nodes=tuple(Node(name=name, has={"cpu": 4}) for name in names),
        running=running,
        waiting=(*waiting, replace(job, walltime_s=float(draw(st.integers(1, 20))))),
        depth=draw(st.sampled_from((0, 1, 2))),
        depths={LINE: DEPTH},
    )


@MANY
@given(worlds())
def test_nothing_that_comes_after_it_delays_it(snapshot: Snapshot) -> None:
    """It starts, or is planned, as if those after it were not there."""
    job = snapshot.waiting[-1]
    before = tuple(one for one in snapshot.waiting if (one.order, one.job_id) <= (job.order, job.job_id))
    starts = []
    for waiting in (snapshot.waiting, before):
        plan = make_plan(replace(snapshot, waiting=waiting))
        is_released = job.job_id in {release.job_id for release in plan.releases}
        starts.append(0.0 if is_released else plan.expected[job.job_id].start_s)
    assert starts[0] == starts[1]
