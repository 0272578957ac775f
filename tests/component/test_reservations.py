"""Reservations, also under a controller that is killed between its writes: nothing is reserved twice."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from hpcbatch.api.names import SYSTEM_NAMESPACE
from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS, NAMESPACES, RESERVATIONS, Resource
from hpcbatch.api.resources import NODES as NODE_KIND
from hpcbatch.client.reservations import (
    DeniedReservationError,
    begin_reservation,
    change_reservation,
    list_reservations,
    make_reservation,
    remove_reservation,
)
from hpcbatch.client.submit import submit
from hpcbatch.controller.controller import Controller
from hpcbatch.dataclass import replace
from hpcbatch.errors import ConflictError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.reservation import Denial, Flag, Phase, ReservationSpec
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.spec import JobSpec, Submission
from hpcbatch.record.reservation import ReservationRecord, reservation_from
from hpcbatch.site.identity import GID, HOME, UID, USER
from tests.component.life.mortal import Fate, Mortal, Succession
from tests.component.volcano_cluster import NS, Cluster
from tests.waiting import wait_for

HOUR = timedelta(hours=1)
NODES, CPUS = 4, 4


def spec(count: int = 1, cpus: int = CPUS, *, begins: timedelta = HOUR, lasts: timedelta = HOUR) -> ReservationSpec:
    start = datetime.now(UTC) + begins
    return ReservationSpec(dialect="pbs", start=start, end=start + lasts, chunks=(Chunk(count=count, cpus=cpus),))


@contextmanager
def cluster() -> Iterator[Cluster]:
    found = Cluster(*[CPUS] * NODES)
    notes = {USER: "ann", UID: "1000", GID: "1000", HOME: "/home/ann"}
    found.registry.patch(NAMESPACES, NS, {"metadata": {"annotations": notes}})
    found.start()
    try:
        yield found
    finally:
        found.stop()


@pytest.fixture
def world() -> Iterator[Cluster]:
    with cluster() as found:
        controller = Controller(found.registry, SiteConfig())
        controller.start()
        try:
            yield found
        finally:
            controller.stop()


def all_records(world: Cluster) -> list[ReservationRecord]:
    return [reservation_from(obj) for obj in world.registry.list(RESERVATIONS).items]


def check_room(records: list[ReservationRecord]) -> None:
    """No node is reserved beyond what it has, at any time."""
    held = [one for record in records if (one := record.reserved) is not None]
    for moment in {one.start for one in held}:
        at_once = [one for one in held if one.start <= moment < one.end]
        for name in {node.name for one in at_once for node in one.nodes}:
            kept = [node.amounts for one in at_once for node in one.nodes if node.name == name]
            total = sum(1000 * CPUS if amounts is None else amounts["cpu"] for amounts in kept)
            assert total <= 1000 * CPUS, f"{name} at {moment}: {total}"


def test_a_user_gets_what_is_free(world: Cluster) -> None:
    first = make_reservation(world.registry, NS, spec(3), "a")
    assert (first.status.id[0], first.status.owner, len(first.status.nodes)) == ("R", "ann", 3)
    assert first.status.granted is not None
    assert first.status.granted.users == ("ann",)
    with pytest.raises(DeniedReservationError) as caught:
        make_reservation(world.registry, NS, spec(2), "b")
    assert caught.value.denied.code is Denial.NODES_BUSY
    assert caught.value.name.startswith("R")
    make_reservation(world.registry, NS, spec(2, begins=3 * HOUR), "c")
    assert [one.object_name for one in list_reservations(world.registry)] == ["a", "c"], "nothing is left of the other"


@pytest.mark.parametrize(
    "changes", [{"flags": (Flag.MAINT,)}, {"nodes": ("node-0",)}, {"dialect": "slurm"}, {"chunks": ()}]
)
def test_what_only_operators_may(world: Cluster, changes: dict[str, object]) -> None:
    asked = ReservationSpec(
        **{**{name: getattr(spec(), name) for name in ("dialect", "start", "end", "chunks")}, **changes}
    )
    with pytest.raises(DeniedReservationError) as caught:
        make_reservation(world.registry, NS, asked, "a")
    assert caught.value.denied.code is Denial.NOT_ALLOWED


def test_a_change_that_is_denied_leaves_it_as_it_was(world: Cluster) -> None:
    first = make_reservation(world.registry, NS, spec(3), "a")
    make_reservation(world.registry, NS, spec(3, begins=2 * HOUR + timedelta(minutes=1)), "b")
    granted = first.status.granted
    assert granted is not None
    longer = ReservationSpec(
        dialect="pbs", start=granted.start, end=granted.end + HOUR, chunks=granted.chunks, users=granted.users
    )
    with pytest.raises(DeniedReservationError):
        change_reservation(world.registry, first, longer)
    found = next(one for one in list_reservations(world.registry) if one.object_name == "a")
    assert found.status.granted == granted
    assert found.status.nodes == first.status.nodes
    wait_for("its spec is looked at again", lambda: is_settled(world, "a"))


def test_a_status_that_is_written_meanwhile_is_in_nobodys_way(world: Cluster) -> None:
    """The controller's, of a mail that it has sent; another spec is."""
    made = make_reservation(world.registry, NS, spec(1), "a")
    granted = made.status.granted
    assert granted is not None

    class Meddling:
        """Somebody writes right before the first replacement."""

        def __init__(self, patch: dict[str, object], subresource: str) -> None:
            self._patch: dict[str, object] | None = patch
            self._subresource = subresource

        def __getattr__(self, name: str) -> object:
            return getattr(world.registry, name)

        def replace(self, resource: Resource, obj: Object, namespace: str) -> Object:
            if self._patch is not None:
                world.registry.patch(resource, "a", self._patch, namespace, subresource=self._subresource)
                self._patch = None
            return world.registry.replace(resource, obj, namespace)

    mailed: dict[str, object] = {"status": {"mailed": ["confirm.1"]}}
    change_reservation(Meddling(mailed, "status"), made, replace(granted, name="other"))  # type: ignore[arg-type]
    (record,) = all_records(world)
    assert (record.spec.name, record.status.mailed) == ("other", ("confirm.1",))
    named: dict[str, object] = {"spec": {"name": "mine"}}
    with pytest.raises(ConflictError):
        change_reservation(Meddling(named, ""), made, replace(granted, name="another"))  # type: ignore[arg-type]


def is_settled(world: Cluster, name: str) -> bool:
    record = reservation_from(world.registry.get(RESERVATIONS, name, NS))
    return record.generation == record.status.generation and record.status.denial is None


@pytest.mark.parametrize("begins", [HOUR, timedelta(0)], ids=["before it begins", "while it is on"])
def test_a_node_that_is_lost_is_replaced(world: Cluster, begins: timedelta) -> None:
    """As soon as another one is free."""
    first = make_reservation(world.registry, NS, spec(3, begins=begins), "a")
    names = {node.name for node in first.status.nodes}
    (spare,) = {f"node-{index}" for index in range(NODES)} - names

    def nodes_of() -> set[str]:
        return {node.name for record in all_records(world) for node in record.status.nodes}

    def close(name: str, *, closed: bool) -> None:
        world.registry.patch(NODE_KIND, name, {"spec": {"unschedulable": closed}})

    close(min(names), closed=True)
    wait_for("another node", lambda: nodes_of() == (names - {min(names)}) | {spare})
    close(max(names), closed=True)
    close(min(names), closed=False)
    wait_for("the first again", lambda: nodes_of() == (names - {max(names)}) | {spare})
    (record,) = all_records(world)
    assert (record.status.id, record.status.start) == (first.status.id, first.status.start)


@pytest.mark.slow
def test_one_that_is_over_is_removed(world: Cluster) -> None:
    begins, lasts = timedelta(seconds=1), timedelta(seconds=6)
    make_reservation(world.registry, NS, spec(begins=begins, lasts=lasts), "a")
    wait_for("it is gone", lambda: not all_records(world))


def test_a_repeated_one_moves_on(world: Cluster) -> None:
    start = datetime.now(UTC).replace(microsecond=0) - timedelta(seconds=58)
    daily = ReservationSpec(
        dialect="slurm",
        name="d",
        start=start,
        end=start + timedelta(minutes=1),
        nodes=("ALL",),
        users=("ann",),
        flags=(Flag.DAILY,),
    )
    make_reservation(world.registry, SYSTEM_NAMESPACE, daily, "d")

    def second() -> bool:
        status = all_records(world)[0].status
        return status.index == 2 and status.start == start + timedelta(days=1)

    wait_for("its second time", second)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.slow
def test_kills(seed: int) -> None:
    """Many are asked for, and some taken back, while the controller dies at random writes."""
    dice = random.Random(seed)
    with cluster() as world:

        def make(fate: Fate) -> Controller:
            return Controller(Mortal(world.registry, fate), SiteConfig())

        succession = Succession(dice, make, kills=8, lives=12)
        succession.start()
        try:
            for number in range(24):
                asked = spec(dice.randint(1, 3), dice.randint(1, CPUS), begins=HOUR + dice.randint(0, 3) * HOUR / 2)
                begin_reservation(world.registry, NS, asked, f"r{number}")
                if dice.random() < 0.3:
                    remove_reservation(world.registry, dice.choice(all_records(world)), "ann@login")
            wait_for("all deaths", lambda: succession.is_immortal, limit_s=120)
            wait_for("all decisions", lambda: all(is_settled_or_denied(one) for one in all_records(world)), limit_s=60)
        finally:
            succession.stop()
        records = all_records(world)
        assert any(one.status.phase is Phase.CONFIRMED for one in records)
        check_room(records)
        names = [one.status.id for one in records if one.status.id]
        assert len(names) == len(set(names)), "no name is given twice"


def is_settled_or_denied(record: ReservationRecord) -> bool:
    return record.generation == record.status.generation


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("seed", range(2))
def test_a_running_job_moves_into_its_reservation_whoever_dies(seed: int) -> None:
    with cluster() as world:

        def make(fate: Fate) -> Controller:
            return Controller(Mortal(world.registry, fate), SiteConfig())

        def queue_of(name: str) -> str:
            return str(world.registry.get(BATCHJOBS, name, NS)["status"].get("queue"))

        succession = Succession(random.Random(seed), make, kills=12, lives=4)
        job = JobSpec(dialect="pbs", name="x", chunks=(Chunk(count=2, cpus=3),), walltime_s=600)
        succession.start()
        try:
            made = submit(world.registry, NS, Submission(spec=job, script=b"sleep 600", environment={}), timeout_s=60)
            name = made.object_name
            world.wait("it runs", lambda: world.registry.get(BATCHJOBS, name, NS)["status"].get("state") == "Running")
            begin_reservation(world.registry, NS, replace(spec(), job=made.job_id), "a")
            wait_for("a decision", lambda: all(is_settled_or_denied(one) for one in all_records(world)), limit_s=60)
            assert [one.status.denial for one in all_records(world)] == [None]
            wait_for("it is in its reservation", lambda: queue_of(name).startswith("R"), limit_s=60)
        finally:
            succession.stop()
        record = next(one for one in all_records(world) if one.object_name == "a")
        granted = record.status.granted
        assert granted is not None
        assert (record.status.id, granted.duration) == (queue_of(name), timedelta(minutes=10))
        assert granted.chunks == job.chunks
        assert [node.amounts and node.amounts["cpu"] for node in record.status.nodes] == [3000, 3000]
        check_room(all_records(world))
