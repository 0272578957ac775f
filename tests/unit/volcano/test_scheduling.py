from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcbatch.volcano.placement import Needs, NodeView, Seat
from hpcbatch.volcano.scheduling import GroupEntry, Outcome, PodEntry, PodState, QueueEntry, Session, run_session
from tests.thoroughness import examples

DEFAULT = QueueEntry(name="default", parent="root")
ROOT = QueueEntry(name="root")


def node(name: str, cpu: int, pods: int = 110) -> NodeView:
    return NodeView(
        name=name, allocatable={"cpu": cpu, "memory": 2**33, "pods": pods}, labels={"kubernetes.io/hostname": name}
    )


def pod(name: str, cpu: int, state: PodState = PodState.PENDING, place: str = "", task: str = "t") -> PodEntry:
    needs = Needs(requests=(("cpu", cpu), ("pods", 1)))
    return PodEntry(seat=Seat(namespace="d", name=name, uid=name, needs=needs), state=state, node=place, task=task)


def gang(
    name: str, age: int, *pods: PodEntry, phase: str = "Inqueue", least: int | None = None, **more: object
) -> GroupEntry:
    fields = {"queue": "default", "min_member": len(pods) if least is None else least, **more}
    return GroupEntry(key=("d", name), order=(0, age), phase=phase, pods=pods, **fields)  # type: ignore[arg-type]


def admitted(name: str, age: int, cpu: int, **more: object) -> GroupEntry:
    """A group without pods that asks to be admitted."""
    more.setdefault("phase", "Pending")
    return gang(name, age, least=1, min_resources={"cpu": cpu, "pods": 1}, **more)  # type: ignore[arg-type]


def run(nodes: list[NodeView], *groups: GroupEntry, queues: tuple[QueueEntry, ...] = (ROOT, DEFAULT)) -> Session:
    return run_session(nodes, groups, queues)


def bound(session: Session) -> dict[str, str]:
    return {seat.name: place for seat, place in session.bindings}


def outcome(session: Session, name: str) -> Outcome:
    return session.outcomes["d", name]


def test_all_or_nothing() -> None:
    session = run([node("n", 2000)], gang("a", 1, pod("a0", 1500), pod("a1", 1500)))
    assert bound(session) == {}
    assert outcome(session, "a").message == (
        "1/2 tasks in gang unschedulable: pod group is not ready, 2 Pending, 2 minAvailable; "
        "Pending: 1 Schedulable, 1 Unschedulable. Origin reason is a1: 0/1 nodes are unavailable: 1 Insufficient cpu."
    )
    assert outcome(session, "a").event_message.startswith("2/2 tasks")
    assert outcome(session, "a").pods["a0"] == (
        "Schedulable",
        "Pod d/a0 can possibly be assigned to n, once minAvailable is satisfied",
    )


def test_extra_pods_are_placed_one_by_one() -> None:
    session = run([node("n", 2000)], gang("a", 1, *(pod(f"a{i}", 1000) for i in range(3)), least=1))
    assert len(bound(session)) == 2
    assert outcome(session, "a").phase == "Running"


@pytest.mark.parametrize(
    ("minimum", "expected"), [({"m": 1, "w": 1}, {"m0", "w0"}), ({"m": 1, "w": 2}, set())], ids=["met", "not met"]
)
def test_each_task_has_its_own_minimum(minimum: dict[str, int], expected: set[str]) -> None:
    pods = [pod("w0", 1000, task="w"), pod("w1", 1000, task="w"), pod("m0", 1000, task="m")]
    session = run([node("n", 2000)], gang("a", 1, *pods, least=sum(minimum.values()), min_task_member=minimum))
    assert set(bound(session)) == expected


def test_smaller_later_ones_pass() -> None:
    session = run([node("n", 2000)], gang("big", 1, pod("b", 3000)), gang("small", 2, pod("s", 1000)))
    assert set(bound(session)) == {"s"}


def test_order_within_a_queue() -> None:
    groups = [gang(name, age, pod(name, 1000)) for name, age in (("c", 3), ("a", 1), ("b", 2))]
    assert set(bound(run([node("n", 2000)], *groups))) == {"a", "b"}


def test_room_is_held_for_those_just_admitted() -> None:
    first = admitted("first", 1, 1500)
    session = run([node("n", 2000)], first, gang("later", 2, pod("l", 1000)))
    assert outcome(session, "first").phase == "Inqueue"
    assert bound(session) == {}
    assert "is held for a group before it" in outcome(session, "later").message
    again = run(
        [node("n", 2000)], admitted("first", 1, 1500, phase="Inqueue", holds_place=True), admitted("x", 2, 1000)
    )
    assert outcome(again, "x").phase == "Pending"
    assert outcome(again, "x").message == "queue resource quota insufficient: insufficient cpu"


def test_nothing_is_said_of_a_gang_while_its_pods_are_made() -> None:
    nodes = [node("n", 2000)]
    half = gang("x", 1, pod("x0", 500), least=2, min_resources={"cpu": 1000}, holds_place=True)
    session = run(nodes, half)
    assert bound(session) == {}
    said = outcome(session, "x")
    assert (said.phase, said.message, said.pods) == ("Inqueue", "", {})
    overdue = outcome(run(nodes, replace(half, holds_place=False)), "x")
    assert overdue.message.startswith("1/1 tasks in gang unschedulable: pod group is not ready, 1 Pending")


def test_nothing_is_held_for_what_cannot_be_placed() -> None:
    """A gang that the nodes' sizes split waits without blocking others."""
    nodes = [node("n0", 1500), node("n1", 1500)]
    session = run(nodes, gang("split", 1, pod("s0", 1000), pod("s1", 1000), pod("s2", 1000)), admitted("x", 2, 3000))
    assert outcome(session, "x").phase == "Inqueue"


@pytest.mark.parametrize(
    ("group", "message"),
    [
        (admitted("x", 1, 9000), "resource in cluster is overused: overused cpu"),
        (admitted("x", 1, 1000, queue="nosuch"), 'queue.scheduling.volcano.sh "nosuch" not found'),
        (admitted("x", 1, 1000, queue="shut"), "queue shut is not open"),
        (admitted("x", 1, 1000, queue="tiny"), "queue resource quota insufficient: insufficient cpu"),
        (admitted("x", 1, 1000, queue="child"), "queue resource quota insufficient: insufficient cpu"),
    ],
    ids=["too large", "no queue", "closed", "capability", "parent's capability"],
)
def test_refused_at_the_first_gate(group: GroupEntry, message: str) -> None:
    queues = (
        ROOT,
        DEFAULT,
        QueueEntry(name="shut", is_open=False),
        QueueEntry(name="tiny", capability={"cpu": 500}),
        QueueEntry(name="child", parent="tiny"),
    )
    found = outcome(run([node("n", 4000)], group, queues=queues), "x")
    assert (found.phase, found.message, found.pods_exist) == ("Pending", message, False)
    assert found.event_message == "0/0 tasks in gang unschedulable: pod group is not ready, 1 minAvailable"


def test_queues_share() -> None:
    """Of two queues the one that holds less comes first, whatever the age of its jobs."""
    running = gang("old", 1, pod("o", 1000, PodState.RUNNING, "n"), phase="Running")
    waiting = gang("next", 2, pod("next", 1000))
    other = gang("other", 3, pod("other", 1000), queue="q2")
    session = run([node("n", 2000)], running, waiting, other, queues=(ROOT, DEFAULT, QueueEntry(name="q2")))
    assert set(bound(session)) == {"other"}


def test_a_broken_gang_comes_first() -> None:
    half = gang("half", 9, pod("h0", 1000, PodState.RUNNING, "n"), pod("h1", 1000), phase="Unknown")
    session = run([node("n", 2000)], gang("old", 1, pod("o", 1000)), half)
    assert set(bound(session)) == {"h1"}


@pytest.mark.parametrize(
    ("states", "before", "phase"),
    [
        ("R F", "Running", "Unknown"),
        ("R R", "Inqueue", "Running"),
        ("S F", "Running", "Completed"),
        ("S S", "Running", "Completed"),
        ("X X", "Running", "Pending"),
        ("B B", "Inqueue", "Running"),
        ("R X", "Running", "Unknown"),
    ],
)
def test_phase_of_the_group(states: str, before: str, phase: str) -> None:
    names = {
        "R": PodState.RUNNING,
        "F": PodState.FAILED,
        "S": PodState.SUCCEEDED,
        "X": PodState.RELEASING,
        "B": PodState.BOUND,
    }
    pods = [pod(f"p{i}", 10, names[letter], "n") for i, letter in enumerate(states.split())]
    group = gang("g", 1, *pods, phase=before)
    assert outcome(run([node("n", 2000)], group), "g").phase == phase


def test_a_failed_member_does_not_keep_others_from_their_place() -> None:
    group = gang("g", 1, pod("a", 10, PodState.FAILED, "n"), pod("b", 1000), phase="Inqueue")
    session = run([node("n", 2000)], group)
    assert set(bound(session)) == {"b"}
    assert outcome(session, "g").message == (
        "1/2 tasks in gang unschedulable: pod group is not ready, 1 Bound, 1 Failed, 2 minAvailable"
    )


def test_a_group_without_members_is_complete() -> None:
    assert outcome(run([node("n", 1)], gang("g", 1, phase="", least=0)), "g").phase == "Completed"


def test_mixed_sizes_are_packed_if_spreading_fails() -> None:
    nodes = [node("n0", 2000), node("n1", 2000)]
    session = run(nodes, gang("g", 1, pod("a", 1000), pod("b", 1000), pod("c", 2000)))
    assert len(bound(session)) == 3


def test_a_gang_is_spread_and_single_pods_are_packed() -> None:
    nodes = [node("n0", 2000), node("n1", 2000)]
    assert set(bound(run(nodes, gang("g", 1, pod("a", 1000), pod("b", 1000)))).values()) == {"n0", "n1"}
    alone = [gang(name, age, pod(name, 1000)) for age, name in enumerate("ab")]
    assert set(bound(run(nodes, *alone)).values()) == {"n0"}


_nodes = st.lists(st.integers(0, 8), min_size=1, max_size=4).map(
    lambda sizes: [node(f"n{i}", 1000 * size, pods=5) for i, size in enumerate(sizes)]
)


@st.composite
def _groups(draw: st.DrawFn, nodes: list[NodeView]) -> list[GroupEntry]:
    groups = []
    for index in range(draw(st.integers(0, 8))):
        entries = []
        for number in range(draw(st.integers(0, 4))):
            name, cpu = f"g{index}-{number}", 1000 * draw(st.integers(0, 4))
            state = draw(st.sampled_from(list(PodState)))
            place = "" if state is PodState.PENDING else draw(st.sampled_from(nodes)).name
            entries.append(pod(name, cpu, state, place, task=draw(st.sampled_from("ab"))))
        entries = [] if draw(st.integers(0, 3)) == 0 else entries
        groups.append(
            gang(
                f"g{index}",
                draw(st.integers(0, 3)),
                *entries,
                least=draw(st.integers(0, 4)),
                phase=draw(st.sampled_from(["", "Pending", "Inqueue", "Running", "Unknown"])),
                min_resources={"cpu": 1000 * draw(st.integers(0, 8))},
                holds_place=draw(st.booleans()),
                queue=draw(st.sampled_from(["default", "q2", "nosuch"])),
                min_task_member=draw(st.sampled_from([{}, {"a": 1}, {"a": 1, "b": 1}])),
            )
        )
    return groups


@st.composite
def _scenes(draw: st.DrawFn) -> tuple[list[NodeView], list[GroupEntry]]:
    nodes = draw(_nodes)
    return nodes, draw(_groups(nodes))


_PLACED = {PodState.BOUND, PodState.RUNNING, PodState.SUCCEEDED, PodState.FAILED}
QUEUES = (ROOT, DEFAULT, QueueEntry(name="q2", capability={"cpu": 3000}))


@settings(max_examples=examples(300), deadline=None)
@given(_scenes())
def test_no_node_is_over_committed_and_no_gang_is_split(scene: tuple[list[NodeView], list[GroupEntry]]) -> None:
    nodes, groups = scene
    session = run(nodes, *groups, queues=QUEUES)
    places = bound(session)
    holding = {PodState.BOUND, PodState.RUNNING, PodState.RELEASING}
    used: dict[str, int] = defaultdict(int)
    count: dict[str, int] = defaultdict(int)
    added: dict[str, int] = defaultdict(int)
    for group in groups:
        mine = [entry for entry in group.pods if entry.seat.name in places]
        for entry in group.pods:
            place = entry.node if entry.state in holding else places.get(entry.seat.name, "")
            if place:
                used[place] += dict(entry.seat.needs.requests)["cpu"]
                count[place] += 1
        for entry in mine:
            assert entry.state is PodState.PENDING
            added[places[entry.seat.name]] += dict(entry.seat.needs.requests)["cpu"]
        if mine:
            assert group.queue != "nosuch"
            ready = [e for e in group.pods if e.state in _PLACED or e in mine]
            assert len(ready) >= group.min_member, "a gang is all or nothing"
    for view in nodes:
        # What ran before may be too much already (a node that shrank); nothing is added then.
        assert used[view.name] <= view.allocatable["cpu"] or not added[view.name]
        if any(place == view.name for place in places.values()):
            assert count[view.name] <= view.allocatable["pods"]
    mine_of_q2 = sum(
        dict(seat.needs.requests)["cpu"] for seat, _ in session.bindings if _queue_of(groups, seat.name) == "q2"
    )
    assert not mine_of_q2 or session.allocated["q2"]["cpu"] <= 3000
    assert session.outcomes.keys() == {group.key for group in groups}


def _queue_of(groups: list[GroupEntry], name: str) -> str:
    return next(group.queue for group in groups if any(entry.seat.name == name for entry in group.pods))


@settings(max_examples=examples(200), deadline=None)
@given(
    _nodes,
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), max_size=8),
)
def test_nothing_that_fits_is_left_waiting_and_earlier_ones_come_first(
    nodes: list[NodeView], sizes: list[tuple[int, int]]
) -> None:
    """Gangs of equal pods: what still fits after the session would have been placed by it."""
    groups = [
        gang(f"g{age}", age, *(pod(f"g{age}-{i}", 1000 * cpu) for i in range(number)))
        for age, (number, cpu) in enumerate(sizes)
    ]
    session = run(nodes, *groups)
    places = bound(session)
    left = {view.name: view.allocatable["cpu"] for view in nodes}
    room = {view.name: 5 for view in nodes}
    for group in groups:
        cpu = dict(group.pods[0].seat.needs.requests)["cpu"]
        if group.pods[0].seat.name in places:
            for entry in group.pods:
                left[places[entry.seat.name]] -= cpu
                room[places[entry.seat.name]] -= 1
        else:
            # As it was when its turn came: only earlier ones had been placed.
            assert sum(min(left[n] // cpu, room[n]) for n in left) < len(group.pods)
