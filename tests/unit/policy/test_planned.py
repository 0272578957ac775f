"""Jobs, nodes and pods as the plan has them, and what the plan means for a job."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.model.accounts import first_accounts
from hpcbatch.model.array import Membership
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import JobRecord, JobStatus, Suspension
from hpcbatch.model.reservation import Flag, KeptNode, ReservationSpec, Reserved
from hpcbatch.model.site import Launcher, QueueConfig, SiteConfig, Translation, Word
from hpcbatch.model.spec import JobSpec, Sharing
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy import planned
from hpcbatch.policy.observed import Waiting
from hpcbatch.policy.owners import Owners
from hpcbatch.policy.plan.outcome import Expected, Held, Why
from hpcbatch.policy.plan.snapshot import JOBS, LabelTest, Limit, Owner, Place, Scope
from hpcbatch.policy.waiting import NodeRoom

NOW = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)


def reserved(name: str, *flags: Flag, **more: Any) -> Reserved:
    end = NOW + timedelta(hours=1)
    spec = ReservationSpec(dialect="slurm", name=name, start=NOW, end=end, flags=flags, **more)
    return Reserved(id=name, spec=spec, owner="root", nodes=(KeptNode(name="n1"),), start=NOW, end=end)


SITE = SiteConfig(
    node_properties={"ib": {"net": "ib"}},
    kill_delay_s=30,
    reservations={"r": reserved("r"), "maint": reserved("maint", Flag.MAINT)},
    translations=(Translation(word=Word.RESERVATION, pattern="word", renamed="word"),),
)
QUEUE = QueueConfig(name="q", volcano_queue="q", node_selector={"kind": "batch"})
GI = 1 << 30


def job(number: int = 7, *chunks: Chunk, **changes: Any) -> JobRecord:
    status = {name: changes.pop(name) for name in tuple(changes) if name in JobStatus.__dataclass_fields__}
    layout = chunks or (Chunk(cpus=2),)
    spec = JobSpec(dialect=Dialect.PBS, name="j", chunks=layout, server="s", **changes)
    return JobRecord(
        job_id=number,
        namespace="ns",
        object_name=f"pbs-{number}",
        spec=spec,
        status=JobStatus(owner="ann", layout=layout, **status),
        queue="q",
    )


def test_chunks_become_parts() -> None:
    chunk = Chunk(count=3, cpus=2, mem_bytes=GI, resources=(("gpu", 1),), hosts=("a", "b"), properties=("ib",))
    shape = planned.shape_of((chunk,), QUEUE, SITE, job())
    (part,) = shape.parts
    assert (part.count, part.needs) == (3, {"cpu": 2000, "memory": GI, "nvidia.com/gpu": 1, "pods": 1})
    assert part.labels == {"kind": "batch", "net": "ib"}
    assert part.terms == ((LabelTest(key="kubernetes.io/hostname", values=frozenset({"a", "b"})),),)
    assert not shape.is_scattered and not shape.is_exclusive


def test_what_of_the_launcher() -> None:
    site = replace(SITE, launcher=Launcher.DEDICATED, launcher_cpu_milli=100)
    launcher = planned.shape_of((Chunk(),), QUEUE, site, job()).parts[-1]
    assert (launcher.count, launcher.needs) == (1, {"cpu": 100, "pods": 1})
    exclusive = planned.shape_of((Chunk(),), QUEUE, SITE, job(sharing=Sharing.EXCLUSIVE))
    assert exclusive.is_exclusive


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (job(9, priority=5), job(3)),
        (job(3), job(4, nice=1)),
        (job(3), job(20)),
        (job(99, member_of=Membership(array_id=5, array_name="a", index=0)), job(6)),
        (
            job(70, member_of=Membership(array_id=5, array_name="a", index=1)),
            job(60, member_of=Membership(array_id=5, array_name="a", index=2)),
        ),
    ],
    ids=["priority", "nice", "number", "a member in its array's place", "members by index"],
)
def test_order(first: JobRecord, second: JobRecord) -> None:
    orders = [planned.waiting_job(record, QUEUE, SITE, Owner()).order for record in (first, second)]
    assert orders[0] < orders[1]
    assert planned.waiting_job(first, QUEUE, SITE, Owner(), is_last=True).order > orders[1]


LOW = replace(QUEUE, name="low", priority_tier=1)
HIGH = replace(QUEUE, name="high", priority_tier=2)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((job(9), HIGH, 1.0), (job(3), LOW, 100.0)),
        ((job(9), QUEUE, 5.5), (job(3, priority=9), QUEUE, 5.0)),
        ((job(9, priority=5), QUEUE, 5.0), (job(3), QUEUE, 5.0)),
        ((job(3), QUEUE, 5.0), (job(20), QUEUE, 5.0)),
    ],
    ids=["the tier", "the rank", "the weight", "the number"],
)
def test_order_by_rank(
    first: tuple[JobRecord, QueueConfig, float], second: tuple[JobRecord, QueueConfig, float]
) -> None:
    orders = [planned.order_of(record, queue, rank=rank, is_last=False) for record, queue, rank in (first, second)]
    assert orders[0] < orders[1]
    last = planned.order_of(first[0], first[1], rank=first[2], is_last=True)
    assert last > orders[1]


def test_how_long_a_job_holds_its_nodes() -> None:
    assert planned.holds_nodes_s(job(walltime_s=600), SITE) == 10 + 600 + 30 + 5
    assert planned.holds_nodes_s(job(), SITE) == planned.ENDLESS_S


def test_a_job_with_a_range_may_be_released_for_less() -> None:
    waits = job(walltime_s=600, min_walltime_s=60)
    wanted = planned.waiting_job(waits, QUEUE, SITE, Owner())
    assert (wanted.walltime_s, wanted.min_walltime_s) == (645, 105)
    starts = planned.as_released(waits, SITE, 345.5)
    assert (starts.walltime_s, starts.status.full_walltime_s) == (300, 600)
    assert planned.waiting_job(starts, QUEUE, SITE, Owner()) == wanted, "it is planned as before if it does not start"
    assert planned.as_released(waits, SITE, 645) == waits
    assert planned.waiting_job(job(walltime_s=600), QUEUE, SITE, Owner()).min_walltime_s is None


def test_when_a_released_job_ends() -> None:
    now_s, released_s = NOW.timestamp(), NOW.timestamp() - 100
    started = NOW - timedelta(seconds=60)

    def end(record: JobRecord) -> float:
        return planned.ends_s(record, SITE, released_s=released_s, now_s=now_s) - now_s

    assert end(job(walltime_s=600)) == -100 + 10 + 635, "not started yet"
    assert end(job(walltime_s=600, start_time=started, state=JobState.RUNNING)) == -60 + 635
    suspension = Suspension(start_time=NOW - timedelta(seconds=40), end_time=NOW - timedelta(seconds=10))
    went_on = job(walltime_s=600, start_time=started, state=JobState.RUNNING, suspensions=(suspension,))
    assert end(went_on) == -60 + 635 + 30
    assert end(job(walltime_s=600, start_time=started, state=JobState.SUSPENDED)) == planned.ENDLESS_S


NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,20}[a-z0-9])?", fullmatch=True)


@given(st.lists(st.builds(Place, part=st.integers(0, 99), node=NAMES, count=st.integers(1, 999))).map(tuple))
def test_places_are_read_as_written(places: tuple[Place, ...]) -> None:
    assert planned.places_of(planned.places_text(places)) == places


@given(st.text(max_size=40))
def test_any_text_of_places_is_read_or_ignored(text: str) -> None:
    assert isinstance(planned.places_of(text), tuple)


def test_places_take_of_their_nodes() -> None:
    shape = planned.shape_of((Chunk(cpus=2), Chunk(count=2, cpus=1)), QUEUE, SITE, job())
    places = (Place(part=0, node="a", count=1), Place(part=1, node="a", count=1), Place(part=1, node="b", count=1))
    assert planned.placed_by(shape, places) == {"a": {"cpu": 3000, "pods": 2}, "b": {"cpu": 1000, "pods": 1}}
    assert planned.placed_by(shape, (Place(part=5, node="a", count=1),)) == {}


def pod(phase: str = "Running", **spec: Any) -> dict[str, Any]:
    containers = [{"resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}, {"resources": {}}]
    return {
        "metadata": {"name": "p"},
        "spec": {"nodeName": "a", "containers": containers, **spec},
        "status": {"phase": phase},
    }


def test_bound_pods() -> None:
    assert planned.bound_pod(pod(), "7") == ("a", "7", {"cpu": 500, "memory": GI, "pods": 1}, False, 0)
    going = planned.bound_pod({**pod(), "metadata": {"name": "p", "deletionTimestamp": "2026-11-25T12:00:00Z"}}, "7")
    assert going is not None and going.is_leaving
    heavy = planned.bound_pod(pod(overhead={"cpu": "250m"}), "")
    assert heavy is not None and heavy.takes["cpu"] == 750
    kept = {"name": "p", "annotations": {"hpcbatch.io/cpus": '{"main": "1500m", "side": "500m"}'}}
    suspended = planned.bound_pod({**pod(), "metadata": kept}, "7")
    assert suspended is not None and (suspended.takes["cpu"], suspended.whole_milli) == (500, 2000)
    assert planned.bound_pod(pod("Succeeded"), "7") is None
    assert planned.bound_pod(pod(nodeName=""), "7") is None


def node(*, ready: str = "True", **spec: Any) -> dict[str, Any]:
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110", "hugepages-2Mi": "0", "nvidia.com/gpu": "2"}
    conditions = [{"type": "Ready", "status": ready}]
    return {
        "metadata": {"name": "a", "labels": {"kind": "batch"}},
        "spec": spec,
        "status": {"allocatable": allocatable, "conditions": conditions},
    }


def test_nodes_without_what_others_take() -> None:
    found = planned.node_of(node(), [{"cpu": 500, "pods": 1}, {"cpu": 4000, "memory": GI}])
    assert found.has == {"cpu": 0, "memory": 7 * GI, "pods": 109, "nvidia.com/gpu": 2}
    assert found.is_open and found.labels == {"kind": "batch"}


@pytest.mark.parametrize(
    "closed",
    [
        node(ready="False"),
        node(ready="Unknown"),
        node(unschedulable=True),
        node(taints=[{"key": "k", "effect": "NoSchedule"}]),
    ],
)
def test_closed_nodes(closed: dict[str, Any]) -> None:
    assert not planned.node_of(closed, ()).is_open


def test_forecasts() -> None:
    places = (Place(part=0, node="b", count=1), Place(part=0, node="a", count=2))
    expected = Expected(start_s=NOW.timestamp() + 99.7, shape=0, places=places)
    assert planned.forecast(expected, NOW.timestamp()) == (NOW + timedelta(seconds=100), "a,b")
    assert planned.forecast(None, NOW.timestamp()) == (None, "")
    unknown = replace(expected, start_s=NOW.timestamp() + planned.ENDLESS_S)
    assert planned.forecast(unknown, NOW.timestamp()) == (None, ""), "it depends on a job without a walltime"


@pytest.mark.parametrize(
    ("shown_s", "now_s", "is_good"),
    [
        (None, None, True),
        (None, 10, False),
        (10, None, False),
        (10, 14, True),
        (10, 16, False),
        (3600, 3700, True),
        (3600, 3900, False),
    ],
)
def test_a_record_is_not_written_with_each_plan(shown_s: int | None, now_s: int | None, is_good: bool) -> None:
    shown, now = (None if s is None else NOW + timedelta(seconds=s) for s in (shown_s, now_s))
    assert planned.is_as_good(shown, now, at_s=NOW.timestamp()) is is_good


ROOMS = [NodeRoom(labels={"kind": "batch"}, has={"cpu": 4000, "memory": GI}, used={"cpu": 2000})]


@pytest.mark.parametrize(
    ("held", "cpus", "reason", "message"),
    [
        (Held(why=Why.PRIORITY), 2, Reason.PRIORITY, ""),
        (Held(why=Why.PRIORITY), 3, Reason.PRIORITY, "Not enough free nodes available"),
        (Held(why=Why.RESERVATION, reservation="r"), 2, Reason.RESERVED, ""),
        (Held(why=Why.RESERVATION, reservation="maint"), 2, Reason.MAINTENANCE, ""),
        (Held(why=Why.RESERVATION_OVER, reservation="gone"), 2, Reason.RESERVATION_GONE, ""),
        (Held(why=Why.RESERVATION_DENIED, reservation="r"), 2, Reason.RESERVATION, ""),
        (Held(why=Why.RESOURCES), 3, Reason.RESOURCES, "ncpus (R: 3 A: 2 T: 4)"),
        (Held(why=Why.NEVER_FITS), 5, Reason.NEVER_FITS, "ncpus (R: 5 A: 2 T: 4)"),
        (Held(why=Why.BEGIN_TIME), 2, Reason.BEGIN_TIME, ""),
    ],
)
def test_what_a_held_job_shows(held: Held, cpus: int, reason: Reason, message: str) -> None:
    why = planned.why_held(held, job(7, Chunk(cpus=cpus)), ROOMS, queue=QUEUE, site=SITE)
    assert why.reason is reason
    assert why.message.endswith(message) and bool(why.message) is bool(message)


def test_the_capability_of_a_volcano_queue_is_a_limit() -> None:
    queue = {"metadata": {"name": "q"}, "spec": {"capability": {"cpu": "4", "memory": "8Gi"}}}
    cpu, memory = planned.capability_limits(queue)
    assert (cpu.what, cpu.amount, memory.what, memory.amount) == ("cpu", 4000, "memory", 8 * GI)
    owner = Owners(first_accounts(), frozenset()).owner_of(job(), SiteConfig())
    assert set(cpu.of.values()) < set(owner.qos)
    assert planned.capability_limits({"metadata": {"name": "q"}}) == ()
    why = planned.why_held(
        Held(why=Why.LIMIT, limit=cpu), job(7, Chunk(count=2, cpus=3)), ROOMS, queue=QUEUE, site=SITE
    )
    assert why == (
        Waiting(reason=Reason.RESOURCES, message="Volcano Queue q has reached its limit on resource ncpus (R: 6 T: 4)")
    )


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        (Limit(code="AssocMaxJobsLimit", what=JOBS, amount=1), "AssocMaxJobsLimit: no more than 1 job at a time"),
        (
            Limit(code="AssocGrpCPURunMinutesLimit", what="cpu", amount=60_000 * 5, is_time=True),
            "AssocGrpCPURunMinutesLimit: no more than 5 CPU minutes still to be used by what runs",
        ),
        (
            Limit(code="QOSGrpWallLimit", what=JOBS, amount=600, is_time=True, spent="x"),
            "QOSGrpWallLimit: no more than 10 minutes, used or still to be used by what runs",
        ),
        (Limit(code="AssocGrpCpuLimit", what="cpu", amount=4000), "AssocGrpCpuLimit: no more than 4 CPUs at a time"),
        (
            Limit(code="QOSGrpMemLimit", what="memory", amount=GI, of={Scope.QOS: "high"}),
            "QOSGrpMemLimit: no more than 1024 MiB of memory at a time",
        ),
        (
            Limit(code="QOSGrpGRES", what="nvidia.com/gpu", amount=2),
            "QOSGrpGRES: no more than 2 of nvidia.com/gpu at a time",
        ),
        (
            Limit(code="User has reached server running job limit.", what=JOBS, amount=1),
            "User has reached server running job limit.",
        ),
    ],
)
def test_a_limit_holds_back(limit: Limit, message: str) -> None:
    held = Held(why=Why.LIMIT, limit=limit)
    assert planned.why_held(held, job(), ROOMS, queue=QUEUE, site=SITE) == (
        Waiting(reason=Reason.LIMIT, message=message)
    )


@pytest.mark.parametrize("why", list(Why))
def test_every_why_has_a_reason(why: Why) -> None:
    planned.why_held(Held(why=why), job(), ROOMS, queue=QUEUE, site=SITE)


@pytest.mark.parametrize(
    ("shown", "rank", "expected"),
    [
        (None, None, None),
        (5, None, None),
        (None, 7.9, 7),
        (1000, 1005.0, 1000),
        (1000, 1020.0, 1020),
        (3, -4.0, 0),
        (0, 0.0, 0),
    ],
)
def test_a_shown_priority_is_about_right(shown: int | None, rank: float | None, expected: int | None) -> None:
    assert planned.shown_rank(shown, rank) == expected
