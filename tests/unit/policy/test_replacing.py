"""Other nodes for those that a reservation has lost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbatch.model.chunk import Chunk
from hpcbatch.model.reservation import Flag, KeptNode, ReservationSpec
from hpcbatch.policy.plan.snapshot import Part, RunningJob
from hpcbatch.policy.replacing import Losing, is_replaced, placed_anew, with_stand_ins
from hpcbatch.policy.reserving import DeniedError, Estate
from tests.unit.policy.test_reserving import HAS, NODES, WINDOWS, E, S, estate, job, other, spec

TWO = (KeptNode(name="n1"), KeptNode(name="n2"))
CORES = (KeptNode(name="n1", amounts={"cpu": 2000}), KeptNode(name="n2", amounts={"cpu": 1000}))


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (spec(node_counts=(2,)), True),
        (spec(core_counts=(2,)), True),
        (spec(chunks=(Chunk(cpus=2),)), True),
        (spec(nodes=("n1",)), False),
        (spec(node_counts=(2,), flags=(Flag.STATIC,)), False),
        (spec(node_counts=(2,), flags=(Flag.MAINT,)), False),
        (spec(node_counts=(2,), flags=(Flag.REPLACE_DOWN,)), True),
    ],
)
def test_which_get_others(found: ReservationSpec, wanted: bool) -> None:
    assert is_replaced(found) is wanted


@pytest.mark.parametrize(
    ("found", "kept", "lost", "world", "wanted"),
    [
        (spec(node_counts=(2,)), TWO, ["n1"], estate(), ["n2", "n3"]),
        (spec(node_counts=(2,)), TWO, ["n1"], estate(job("n3", E)), ["n2", "n4"]),
        (spec(node_counts=(2,)), TWO, ["n1", "n2"], estate(), ["n3", "n4"]),
        (spec(node_counts=(2,)), TWO, ["n1", "n2"], estate(other("n3")), ["n2", "n4"]),
        (spec(node_counts=(2,), features="b"), TWO, ["n1"], estate(job("n3", E)), ["n2", "n4"]),
        (spec(core_counts=(3,)), CORES, ["n1"], estate(job("n3", E, cpu=3000)), ["n2", "n4"]),
        (spec(core_counts=(3,)), CORES, ["n2"], estate(job("n3", E, cpu=3000)), ["n1", "n3"]),
    ],
)
def test_nodes_by_number(
    found: ReservationSpec, kept: tuple[KeptNode, ...], lost: list[str], world: Estate, wanted: list[str]
) -> None:
    """As many as there are others for; the rest of them stays what it is."""
    nodes = with_stand_ins(Losing(found, kept, WINDOWS), without(world, *lost), None)
    assert [node.name for node in nodes] == wanted
    assert sum((node.amounts or HAS)["cpu"] for node in nodes) == sum((node.amounts or HAS)["cpu"] for node in kept)


def without(world: Estate, *lost: str) -> Estate:
    return world._replace(nodes=[node for node in world.nodes if node.name not in lost])


def test_where_there_is_no_other_one() -> None:
    with pytest.raises(DeniedError):
        with_stand_ins(
            Losing(spec(node_counts=(2,)), TWO, WINDOWS), without(estate(job("n3", E), other("n4")), "n1"), None
        )


def runs(node: str, cpu: int) -> RunningJob:
    return RunningJob(job_id=node, placed={node: {"cpu": cpu}}, ends_s=E, reservation="R1")


@pytest.mark.parametrize(
    ("cpus", "inside", "world", "wanted"),
    [
        (4, [], estate(), ["n2", "n3"]),
        (4, [runs("n2", 4000)], estate(), ["n2", "n3"]),
        (4, [runs("n1", 4000)], estate(), ["n2", "n3"]),
        (4, [runs("n2", 4000)], estate(job("n3", E)), ["n2", "n4"]),
        (2, [runs("n2", 2000)], estate(), ["n2"]),
        (3, [runs("n2", 3000)], estate(job("n3", E, cpu=2000), job("n4", E)), ["n2", "n4"]),
    ],
)
def test_chunks(cpus: int, inside: list[RunningJob], world: Estate, wanted: list[str]) -> None:
    parts = (Part(count=2, needs={"cpu": 1000 * cpus, "pods": 1}),)
    found = spec(chunks=(Chunk(count=2, cpus=cpus),))
    nodes = placed_anew(Losing(found, TWO, WINDOWS, inside), parts, without(world, "n1"), is_scattered=False)
    assert [node.name for node in nodes] == wanted


def test_what_jobs_in_it_use_stays() -> None:
    """Its own node that is still there is full with others' work: it stays as it is, until that is over."""
    parts = (Part(count=2, needs={"cpu": 4000, "pods": 1}),)
    found = spec(chunks=(Chunk(count=2, cpus=4),))
    world = without(estate(job("n2", E)), "n1")
    nodes = placed_anew(Losing(found, TWO, WINDOWS, []), parts, world, is_scattered=False)
    assert [node.name for node in nodes] == ["n3", "n4"]
    with pytest.raises(DeniedError):
        placed_anew(Losing(found, TWO, WINDOWS, [runs("n2", 1000)]), parts, world, is_scattered=False)


def test_it_is_on() -> None:
    """Its first time has begun: what runs elsewhere is in the way."""
    now = [(S - 60, S + 60)]
    found = with_stand_ins(Losing(spec(node_counts=(2,)), TWO, now), without(estate(job("n3", S)), "n2"), None)
    assert [node.name for node in found] == ["n1", "n4"]
    closed = [replace(node, is_open=node.name != "n3") for node in NODES]
    world = without(estate()._replace(nodes=closed), "n2")
    assert [node.name for node in with_stand_ins(Losing(spec(node_counts=(2,)), TWO, now), world, None)] == ["n1", "n4"]
