"""Jobs and their reservations: who may, and when they are ended or deleted."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hpcbatch.errors import RefusedError
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.reservation import Flag, KeptNode, ReservationSpec, Reserved
from hpcbatch.model.site import QueueConfig, SiteConfig
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState
from hpcbatch.policy.reserved import check_reservation, ends_at, is_deleted, made_of, spec_of_job
from hpcbatch.site.identity import Identity
from hpcbatch.site.reservations import with_reservations

START = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)
END = START + timedelta(hours=1)
DURING, AFTER = START + timedelta(minutes=5), END + timedelta(minutes=5)
ANN = Identity(user="ann", uid=1, gid=1, home="/", groups=((5, "wheel"),))


def reserved(name: str, dialect: str = "slurm", **more: Any) -> Reserved:
    spec = ReservationSpec(dialect=dialect, name=name, start=START, end=END, **more)
    return Reserved(id=name, spec=spec, owner="root", nodes=(KeptNode(name="n1"),), start=START, end=END)


def site(*found: Reserved, now: datetime = DURING) -> SiteConfig:
    return with_reservations(SiteConfig(), {one.id: one for one in found}, now)


def job(*, queue: str = "default", reservation: str = "", started: bool = True) -> JobRecord:
    spec = JobSpec(dialect="slurm", name="x", attributes={"reservation": reservation})
    status = JobStatus(start_time=START if started else None)
    return JobRecord(job_id=1, namespace="ns", object_name="o", spec=spec, status=status, queue=queue)


def test_the_queues_of_pbs() -> None:
    found = site(reserved("R1", "pbs"), reserved("course"))
    assert [queue.name for queue in found.operator_queues] == ["R1"]
    queue = found.queue("R1")
    assert queue is not None
    assert (queue.volcano_queue, queue.reservation, queue.is_on, queue.is_hidden) == ("default", "R1", True, True)
    assert site(reserved("R1", "pbs"), now=AFTER).operator_queues[0].is_on is False
    own = replace(SiteConfig(), queues=(QueueConfig(name="default", volcano_queue="v", max_nodes=2),))
    made = with_reservations(own, {"R1": reserved("R1", "pbs")}, DURING).queues[-1]
    assert (made.volcano_queue, made.max_nodes) == ("v", None)


@pytest.mark.parametrize(
    ("names", "may"),
    [
        ({}, True),
        ({"users": ("ann",)}, True),
        ({"users": ("bob",)}, False),
        ({"users": ("-ann",)}, False),
        ({"users": ("-bob",)}, True),
        ({"groups": ("wheel",)}, True),
        ({"groups": ("staff",)}, False),
        ({"accounts": ("phys",)}, True),
        ({"accounts": ("root",)}, True),
        ({"accounts": ("chem",)}, False),
        ({"users": ("ann",), "accounts": ("chem",)}, False),
    ],
)
def test_who_may(names: dict[str, Any], may: bool) -> None:
    world, queue = site(reserved("r", **names)), QueueConfig(name="default", volcano_queue="default")
    spec = JobSpec(dialect="slurm", name="x", attributes={"reservation": "r"})
    if may:
        check_reservation(spec, queue, world, ANN, ("phys", "root"))
        return
    with pytest.raises(RefusedError) as caught:
        check_reservation(spec, queue, world, ANN, ("phys", "root"))
    assert caught.value.code == RefusalCode.RESERVATION_ACCESS


@pytest.mark.parametrize(
    ("found", "now", "wanted"),
    [
        pytest.param(reserved("r"), DURING, END, id="during"),
        pytest.param(reserved("r"), AFTER, AFTER, id="over"),
        pytest.param(reserved("r"), START - timedelta(minutes=1), START - timedelta(minutes=1), id="moved-on"),
        pytest.param(reserved("r", flags=(Flag.FLEX,)), AFTER, None, id="flex"),
        pytest.param(reserved("other"), AFTER, None, id="another"),
    ],
)
def test_when_a_job_is_ended(found: Reserved, now: datetime, wanted: datetime | None) -> None:
    assert ends_at(job(reservation="r"), site(found, now=now), now) == wanted


@pytest.mark.parametrize(
    ("record", "found", "now", "wanted"),
    [
        pytest.param(job(queue="R1"), reserved("R1", "pbs"), DURING, False, id="during"),
        pytest.param(job(queue="R1"), reserved("R1", "pbs"), AFTER, True, id="one-of-its-times-is-over"),
        pytest.param(job(queue="R1", started=False), reserved("R1", "pbs"), AFTER, False, id="waits-for-the-next"),
        pytest.param(job(queue="R1", started=False), reserved("R2", "pbs"), DURING, True, id="it-is-gone"),
        pytest.param(job(queue="default"), reserved("R2", "pbs"), DURING, False, id="in-none"),
        pytest.param(job(reservation="r"), reserved("r"), AFTER, False, id="slurm"),
    ],
)
def test_when_a_job_is_deleted(record: JobRecord, found: Reserved, now: datetime, wanted: bool) -> None:
    assert is_deleted(record, site(found, now=now), now) is wanted


def test_a_reservation_of_a_running_job_is_for_all_of_its_time() -> None:
    asked = reserved("R1", "pbs", job=1).spec
    running = replace(job(), status=JobStatus(start_time=DURING, state=JobState.RUNNING, walltime_s=60))
    made = spec_of_job(asked, running, site())
    assert made is not None
    assert (made.start, made.end, made.chunks) == (DURING, DURING + timedelta(minutes=1), running.spec.chunks)
    endless = spec_of_job(asked, replace(running, status=replace(running.status, walltime_s=None)), site())
    assert endless is not None
    assert endless.duration == timedelta(days=1825)
    waiting = replace(running, status=replace(running.status, state=JobState.QUEUED))
    inside = replace(running, queue="R2")
    world = site(reserved("R1", "pbs", job=1), reserved("R2", "pbs"))
    assert [spec_of_job(asked, one, world) for one in (waiting, inside)] == [None, None]
    assert [made_of(one, world) for one in (running, waiting, inside, replace(running, job_id=2))] == ["R1", "", "", ""]
