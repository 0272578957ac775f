"""Which nodes a reservation gets, and why it gets none."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hpcbatch.model.reservation import Denial, Flag, ReservationSpec
from hpcbatch.model.site import QueueConfig
from hpcbatch.policy.plan.snapshot import Node, Part, Reservation, RunningJob
from hpcbatch.policy.reserving import DeniedError, Estate, keep_chunks, keep_job, keep_nodes

START = datetime(2026, 11, 25, 14, 0, tzinfo=UTC)
S, E = START.timestamp(), START.timestamp() + 3600
WINDOWS = [(S, E), (S + 86400, E + 86400)]
GIB = 1 << 30
HAS = {"cpu": 4000, "memory": 8 * GIB, "pods": 100}
NODES = [Node(name=f"n{i}", has=HAS, labels={"rack": "a" if i < 3 else "b"}) for i in range(1, 5)]
FEATURES = {"a": {"rack": "a"}, "b": {"rack": "b"}, "big": {"size": "big"}}


def spec(**given: Any) -> ReservationSpec:
    end = START + timedelta(hours=1)
    return ReservationSpec(dialect="slurm", name="x", start=START, end=end, users=("u",), **given)


def job(node: str, ends_s: float, cpu: int = 1000) -> RunningJob:
    return RunningJob(job_id=node, placed={node: {"cpu": cpu, "memory": GIB, "pods": 1}}, ends_s=ends_s)


def other(node: str, kept: Mapping[str, int] | None = None, *, may_overlap: bool = False, day: int = 0) -> Reservation:
    nodes = {node: kept}
    return Reservation(
        name=f"o{node}", start_s=S + day * 86400 - 60, end_s=S + day * 86400 + 60, nodes=nodes, may_overlap=may_overlap
    )


def estate(*parts: RunningJob | Reservation) -> Estate:
    running = [part for part in parts if isinstance(part, RunningJob)]
    others = [part for part in parts if isinstance(part, Reservation)]
    return Estate(NODES, running, others, FEATURES)


def kept(found: ReservationSpec, world: Estate, queue: QueueConfig | None = None) -> list[str]:
    return [node.name for node in keep_nodes(found, WINDOWS, world, queue)]


@pytest.mark.parametrize(
    ("found", "world", "wanted"),
    [
        pytest.param(spec(nodes=("n2", "n1")), estate(), ["n2", "n1"], id="named"),
        pytest.param(spec(nodes=("ALL",)), estate(), ["n1", "n2", "n3", "n4"], id="all"),
        pytest.param(spec(nodes=("n1",)), estate(job("n1", S - 1)), ["n1"], id="its-job-ends-before"),
        pytest.param(spec(nodes=("n1",), flags=(Flag.IGNORE_JOBS,)), estate(job("n1", E)), ["n1"], id="ignored"),
        pytest.param(spec(nodes=("n1",), flags=(Flag.OVERLAP,)), estate(other("n1")), ["n1"], id="overlap"),
        pytest.param(spec(nodes=("n1",), flags=(Flag.MAINT,)), estate(other("n1")), ["n1"], id="maintenance"),
        pytest.param(spec(nodes=("n1",)), estate(other("n1", may_overlap=True)), ["n1"], id="under-maintenance"),
        pytest.param(spec(node_counts=(2,)), estate(), ["n1", "n2"], id="count"),
        pytest.param(spec(node_counts=(2,)), estate(job("n1", S - 1)), ["n2", "n3"], id="idle-first"),
        pytest.param(spec(node_counts=(4,)), estate(job("n1", S - 1)), ["n1", "n2", "n3", "n4"], id="then-others"),
        pytest.param(spec(node_counts=(2,)), estate(other("n1"), job("n2", E)), ["n3", "n4"], id="what-is-free"),
        pytest.param(spec(node_counts=(1,)), estate(other("n1", day=1)), ["n2"], id="at-all-of-its-times"),
        pytest.param(spec(node_counts=(1,), features="b"), estate(), ["n3"], id="features"),
        pytest.param(spec(node_counts=(1,), features="a&b|b"), estate(), ["n3"], id="alternatives"),
    ],
)
def test_nodes(found: ReservationSpec, world: Estate, wanted: list[str]) -> None:
    assert kept(found, world) == wanted


@pytest.mark.parametrize(
    ("found", "world", "code"),
    [
        (spec(nodes=("nosuch",)), estate(), Denial.UNKNOWN_NODE),
        (spec(nodes=("n1",)), estate(other("n1")), Denial.OVERLAP),
        (spec(nodes=("n1",)), estate(job("n1", S + 1)), Denial.NODES_BUSY),
        (spec(nodes=("n1", "n2"), core_counts=(2,)), estate(), Denial.BAD_CORES),
        (spec(nodes=("n1",), core_counts=(5,)), estate(), Denial.NODES_BUSY),
        (spec(node_counts=(5,)), estate(), Denial.NODES_BUSY),
        (spec(node_counts=(4,)), estate(other("n1")), Denial.NODES_BUSY),
        (spec(node_counts=(3,), features="b"), estate(), Denial.NEVER_FITS),
        (spec(node_counts=(1,), features="nosuch"), estate(), Denial.UNKNOWN_FEATURE),
        (spec(core_counts=(17,)), estate(), Denial.NODES_BUSY),
        (spec(node_counts=(2,), core_counts=(1, 1, 1)), estate(), Denial.BAD_CORES),
    ],
)
def test_denied(found: ReservationSpec, world: Estate, code: Denial) -> None:
    with pytest.raises(DeniedError) as caught:
        kept(found, world)
    assert caught.value.code is code


def test_the_partition_bounds_numbers_and_not_names() -> None:
    part = QueueConfig(name="p", volcano_queue="p", nodes=("n3", "n4"))
    assert kept(spec(node_counts=(1,)), estate(), part) == ["n3"]
    assert kept(spec(nodes=("n1",)), estate(), part) == ["n1"]
    assert kept(spec(nodes=("ALL",), flags=(Flag.PART_NODES,)), estate(), part) == ["n3", "n4"]


def test_cores_have_their_share_of_memory() -> None:
    world = estate(job("n1", E, 3000))
    found = keep_nodes(spec(core_counts=(4,)), WINDOWS, world, None)
    assert [(node.name, (node.amounts or {}).get("cpu")) for node in found] == [("n1", 1000), ("n2", 3000)]
    assert (found[1].amounts or {})["memory"] == 6 * GIB
    two = keep_nodes(spec(node_counts=(2,), core_counts=(4, 2)), WINDOWS, world, None)
    assert {node.name: (node.amounts or {}).get("cpu") for node in two} == {"n2": 4000, "n3": 2000}


PARTS = (Part(count=2, needs={"cpu": 2000, "pods": 1}),)


def chunks(world: Estate, parts: tuple[Part, ...] = PARTS, *, is_scattered: bool = False) -> dict[str, int | None]:
    found = keep_chunks(spec(), parts, WINDOWS, world, is_scattered=is_scattered)
    return {node.name: (node.amounts or {}).get("cpu") for node in found}


def test_chunks_go_where_a_job_would() -> None:
    assert chunks(estate()) == {"n1": 4000}
    assert len(chunks(estate(), is_scattered=True)) == 2
    assert "n1" not in chunks(estate(job("n1", E, 3000)))
    assert chunks(estate(job("n1", S - 1, 3000))) == {"n1": 4000}
    assert "n1" not in chunks(estate(other("n1", day=1))), "reserved at its second time"


def test_chunks_are_denied_where_others_have_reserved() -> None:
    wide = (Part(count=4, needs={"cpu": 4000, "pods": 1}),)
    assert len(chunks(estate(), wide)) == 4
    with pytest.raises(DeniedError):
        chunks(estate(other("n3", {"cpu": 1000})), wide)


def test_what_a_running_job_has() -> None:
    (one,) = keep_job("n1", estate(job("n1", E), job("n2", E)))
    assert (one.name, one.amounts) == ("n1", {"cpu": 1000, "memory": GIB, "pods": 25})
    alone = RunningJob(job_id="7", placed={"n3": {"cpu": 1000}}, ends_s=E, is_exclusive=True)
    assert [(node.name, node.amounts) for node in keep_job("7", estate(alone))] == [("n3", None)]
    for job_id in ("8", "9"):
        with pytest.raises(DeniedError) as caught:
            keep_job(job_id, estate(RunningJob(job_id="8", placed={}, ends_s=E)))
        assert caught.value.code is Denial.BAD_STATE
