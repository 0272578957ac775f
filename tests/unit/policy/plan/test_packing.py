"""Pods of unlike parts find places whenever there are any."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from hpcbatch.policy.plan.outcome import Why
from hpcbatch.policy.plan.planner import make_plan
from hpcbatch.policy.plan.snapshot import Node, Part, Shape, Snapshot, WaitingJob

GPU = Part(count=1, needs={"gpu": 1})


def planned(nodes: tuple[Node, ...], *parts: Part, is_scattered: bool) -> dict[str, int]:
    """How many pods each node gets; empty: the job is not released."""
    shape = Shape(parts=parts, is_scattered=is_scattered)
    job = WaitingJob(job_id="1", order=(1,), shapes=(shape,), walltime_s=10)
    plan = make_plan(Snapshot(now_s=0, nodes=nodes, waiting=(job,)))
    if not plan.releases:
        assert plan.held["1"].why in {Why.NEVER_FITS, Why.RESOURCES} and not plan.expected
        return {}
    found: dict[str, int] = {}
    for place in plan.releases[0].places:
        found[place.node] = found.get(place.node, 0) + place.count
    return found


def test_two_parts_that_want_the_same_node() -> None:
    nodes = (
        Node(name="n1", has={"cpu": 1}),
        Node(name="n2", has={"cpu": 1, "gpu": 1}),
        Node(name="n3", has={"gpu": 1}),
    )
    assert planned(nodes, GPU, Part(count=2, needs={"cpu": 1}), is_scattered=True) == {"n1": 1, "n2": 1, "n3": 1}


def test_many_nodes_divided_between_two_parts() -> None:
    """Greed gives the fullest nodes, all with a GPU, to the first part."""
    fat = tuple(Node(name=f"a{number:03}", has={"cpu": 2, "gpu": 1}) for number in range(60))
    thin = tuple(Node(name=f"b{number:03}", has={"cpu": 4, "gpu": 0}) for number in range(60))
    rest = tuple(Node(name=f"c{number:03}", has={"cpu": 0, "gpu": 1}) for number in range(60))
    parts = Part(count=80, needs={"gpu": 1}), Part(count=100, needs={"cpu": 1})
    assert len(planned((*fat, *thin, *rest), *parts, is_scattered=True)) == 180


def test_parts_that_no_division_of_the_nodes_serves() -> None:
    """Each part alone would fit: told as what will never fit, not as what waits for room."""
    both = tuple(Node(name=f"n{number}", has={"cpu": 1, "gpu": 1}) for number in range(2))
    parts = GPU, Part(count=2, needs={"cpu": 1})
    assert planned(both, *parts, is_scattered=True) == {}
    job = WaitingJob(job_id="1", order=(1,), shapes=(Shape(parts=parts, is_scattered=True),), walltime_s=10)
    assert make_plan(Snapshot(now_s=0, nodes=both, waiting=(job,))).held["1"].why is Why.NEVER_FITS


def fits_somehow(nodes: tuple[Node, ...], parts: tuple[Part, ...], *, is_scattered: bool) -> bool:
    """By trying every node for every pod."""
    pods = [part for part in parts for _ in range(part.count)]
    for chosen in product(nodes, repeat=len(pods)):
        if is_scattered and len({node.name for node in chosen}) < len(pods):
            continue
        on = {node.name: [pod for pod, at in zip(pods, chosen, strict=True) if at is node] for node in nodes}
        if all(
            sum(pod.needs.get(name, 0) for pod in on[node.name]) <= node.has.get(name, 0)
            for node in nodes
            for name in ("cpu", "gpu")
        ) and all(at.name in (pod.hosts or {at.name}) for pod, at in zip(pods, chosen, strict=True)):
            return True
    return False


NAMES = ("n0", "n1", "n2", "n3")
NODES = st.tuples(
    *(
        st.builds(
            Node,
            name=st.just(name),
            has=st.fixed_dictionaries({"cpu": st.integers(0, 4), "gpu": st.integers(0, 2)}),
        )
        for name in NAMES
    )
)
PARTS = st.lists(
    st.builds(
        Part,
        count=st.integers(1, 2),
        needs=st.fixed_dictionaries({"cpu": st.integers(0, 3), "gpu": st.integers(0, 1)}),
        hosts=st.sampled_from((None, None, frozenset({"n0", "n1"}), frozenset({"n1", "n2"}))),
    ),
    min_size=2,
    max_size=3,
).map(tuple)


@settings(deadline=None)
@given(NODES, PARTS, st.booleans())
def test_a_job_is_placed_if_any_division_of_the_nodes_does(
    nodes: tuple[Node, ...], parts: tuple[Part, ...], is_scattered: bool
) -> None:
    assert bool(planned(nodes, *parts, is_scattered=is_scattered)) == fits_somehow(
        nodes, parts, is_scattered=is_scattered
    )
