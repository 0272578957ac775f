"""Other nodes for those that a reservation has lost: before it begins and while it is on. Pure.

Nodes by number are replaced one by one, as many as there are others for. Chunks are placed anew, with as few other
nodes as will do: what jobs in the reservation use of it stays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from hpcbatch.dataclass import replace
from hpcbatch.model.reservation import Denial, Flag, KeptNode, ReservationSpec
from hpcbatch.model.site import QueueConfig
from hpcbatch.policy.plan.snapshot import Node, Part, RunningJob, Vector
from hpcbatch.policy.reserving import DeniedError, Estate, Window, is_free, keep_chunks, keep_nodes
from hpcbatch.typed import NamedTuple


def is_replaced(spec: ReservationSpec) -> bool:
    """Whether it gets other nodes for those that take no jobs. Source: _validate_node_choice() of Slurm 22.05."""
    return not spec.nodes and not spec.is_maintenance and Flag.STATIC not in spec.flags


class Losing(NamedTuple):
    """A reservation that has lost nodes."""

    spec: ReservationSpec
    kept: Sequence[KeptNode]
    """Its nodes, the lost ones too."""
    windows: Sequence[Window]
    inside: Sequence[RunningJob] = ()
    """The jobs that run in it."""


def with_stand_ins(losing: Losing, estate: Estate, queue: QueueConfig | None) -> tuple[KeptNode, ...]:
    """Its nodes, with others for those that `estate` lacks, or for some of these. Raises DeniedError if there is no
    other one.
    """
    spec, kept, windows, _ = losing
    there = {node.name for node in estate.nodes}
    names = {node.name for node in kept}
    beside = estate._replace(nodes=[node for node in estate.nodes if node.name not in names])
    gone = [node for node in kept if node.name not in there]
    for count in range(len(gone), 0, -1):
        try:
            found = keep_nodes(_like(spec, gone[:count]), windows, beside, queue)
        except DeniedError:
            continue
        return (*(node for node in kept if node not in gone[:count]), *found)
    raise DeniedError(Denial.NODES_BUSY)


def _like(spec: ReservationSpec, nodes: Sequence[KeptNode]) -> ReservationSpec:
    cores = tuple((node.amounts or {}).get("cpu", 0) // 1000 for node in nodes) if spec.core_counts else ()
    return replace(spec, node_counts=(len(nodes),), core_counts=cores)


def placed_anew(losing: Losing, parts: tuple[Part, ...], estate: Estate, *, is_scattered: bool) -> tuple[KeptNode, ...]:
    """The nodes of a reservation by chunks, some of whose nodes `estate` lacks. Raises DeniedError."""
    spec, kept, windows, inside = losing
    for nodes in _more_and_more(
        estate.nodes, {node.name for node in kept}, lambda node: is_free(node, windows, estate)
    ):
        try:
            found = keep_chunks(spec, parts, windows, estate._replace(nodes=nodes), is_scattered=is_scattered)
        except DeniedError:
            continue
        if _has_room_for(found, inside, {node.name for node in nodes}):
            return found
    raise DeniedError(Denial.NODES_BUSY)


def _more_and_more(nodes: Sequence[Node], own: set[str], is_idle: Callable[[Node], bool]) -> Iterator[list[Node]]:
    """The reservation's own nodes alone, with one other, with two, with four … with all: idle ones first."""
    held = [node for node in nodes if node.name in own]
    others = sorted((node for node in nodes if node.name not in own), key=lambda node: not is_idle(node))
    yield held
    count = 1
    while count // 2 < len(others):
        yield [*held, *others[:count]]
        count *= 2


def _has_room_for(kept: Sequence[KeptNode], inside: Sequence[RunningJob], there: Collection[str]) -> bool:
    """Whether the jobs keep what they use of the nodes that are still there."""
    amounts = {node.name: node.amounts for node in kept}
    used: dict[str, list[Vector]] = {}
    for job in inside:
        for name, vector in job.placed.items():
            if name in there:
                used.setdefault(name, []).append(vector)
    return all(
        name in amounts and _covers(amounts[name], sum(vector.get("cpu", 0) for vector in vectors))
        for name, vectors in used.items()
    )


def _covers(amounts: Vector | None, cpu_milli: int) -> bool:
    return amounts is None or amounts.get("cpu", 0) >= cpu_milli
