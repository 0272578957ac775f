from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.errors import HpcBatchError, RefusedError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.layout import NodeSize, lay_out
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.spec import Arrangement, JobSpec

GIB = 2**30


def sizes(cpus: list[int]) -> list[NodeSize]:
    return [NodeSize(cpus=count) for count in cpus]


def spec(arrangement: Arrangement, *chunks: Chunk) -> JobSpec:
    return JobSpec(dialect=Dialect.SLURM, name="x", chunks=chunks, arrangement=arrangement)


@pytest.mark.parametrize(
    ("arrangement", "chunks", "nodes", "pods"),
    [
        pytest.param(
            Arrangement.FILL,
            [Chunk(count=5)],
            [2, 2, 2],
            [Chunk(count=2, cpus=2, ranks=2), Chunk(count=1, cpus=1, ranks=1)],
            id="5 tasks on 2-CPU nodes: 2,2,1",
        ),
        pytest.param(Arrangement.FILL, [Chunk(count=4)], [2, 8], [Chunk(cpus=4, ranks=4)], id="largest node"),
        pytest.param(Arrangement.FILL, [Chunk(cpus=9)], [2], [Chunk(cpus=9)], id="too big: stays, waits"),
        pytest.param(Arrangement.FILL, [Chunk(count=2)], [], [Chunk(count=2)], id="no node yet: one pod each"),
        pytest.param(
            Arrangement.PACK,
            [Chunk(count=2, cpus=2, mem_bytes=GIB), Chunk(cpus=1, ranks=0)],
            [8],
            [Chunk(cpus=5, ranks=2, mem_bytes=2 * GIB)],
            id="pack: one pod with the sum",
        ),
        pytest.param(Arrangement.FREE, [Chunk(count=3)], [8] * 3, [Chunk(count=3)], id="free: a pod for each chunk"),
        pytest.param(
            Arrangement.FREE,
            [Chunk(count=8, ranks=2)],
            [8] * 3,
            [Chunk(count=2, cpus=3, ranks=6), Chunk(cpus=2, ranks=4)],
            id="free: more chunks than nodes",
        ),
        pytest.param(
            Arrangement.FREE,
            [Chunk(count=8, cpus=2)],
            [4, 4, 1],
            [Chunk(count=4, cpus=4, ranks=2)],
            id="free: no more in a pod than fits",
        ),
        pytest.param(Arrangement.FREE, [Chunk(count=3, cpus=9)], [8], [Chunk(count=3, cpus=9)], id="free: too big"),
        pytest.param(Arrangement.FREE, [Chunk(count=3)], [], [Chunk(count=3)], id="free: no node yet"),
        pytest.param(
            Arrangement.FILL,
            [Chunk(resources=(("gpu", 1),)), Chunk(count=3)],
            [4],
            [Chunk(cpus=4, ranks=4, resources=(("gpu", 1),))],
            id="fill: unlike tasks share a pod",
        ),
        pytest.param(
            Arrangement.FILL,
            [Chunk(count=3), Chunk(count=3, cpus=2)],
            [4],
            [Chunk(cpus=3, ranks=3), Chunk(cpus=4, ranks=2), Chunk(cpus=2)],
            id="fill: in order",
        ),
        pytest.param(Arrangement.SCATTER, [Chunk(count=3)], [8], [Chunk(count=3)], id="scatter: a pod for each chunk"),
    ],
)
def test_lay_out(arrangement: Arrangement, chunks: list[Chunk], nodes: list[int], pods: list[Chunk]) -> None:
    assert list(lay_out(spec(arrangement, *chunks), sizes(nodes))) == pods


@pytest.mark.parametrize(
    ("chunk", "node", "pods"),
    [
        (Chunk(count=8, mem_bytes=GIB), NodeSize(cpus=64, mem_bytes=4 * GIB + 1), [(2, 4)]),
        (Chunk(count=8, resources=(("gpu", 2),)), NodeSize(cpus=64, resources=(("gpu", 4),)), [(4, 2)]),
        (Chunk(count=8, resources=(("gpu", 2),)), NodeSize(cpus=64, resources=()), [(8, 1)]),
        (Chunk(count=8, properties=("a",)), NodeSize(cpus=4, properties=frozenset({"a", "b"})), [(2, 4)]),
        (Chunk(count=8, properties=("c",)), NodeSize(cpus=4, properties=frozenset({"a", "b"})), [(8, 1)]),
        (Chunk(count=8, cpus=0, ranks=1), NodeSize(cpus=1), [(1, 8)]),
    ],
    ids=["memory", "gpus", "no-gpus", "property", "no-such-node", "no-cpus"],
)
def test_what_else_bounds_a_pod(chunk: Chunk, node: NodeSize, pods: list[tuple[int, int]]) -> None:
    for arrangement in (Arrangement.FILL, Arrangement.FREE):
        found = lay_out(spec(arrangement, chunk), [node])
        assert [(pod.count, pod.ranks) for pod in found] == pods
        assert all(pod.properties == chunk.properties for pod in found)


def test_what_each_pod_gets_is_not_added_up() -> None:
    asked = replace(
        spec(Arrangement.FILL, Chunk(count=8, resources=(("x", 1),))),
        mem_per_pod_bytes=2 * GIB,
        resources_per_pod=(("gpu", 2),),
    )
    small = NodeSize(cpus=64, mem_bytes=GIB, resources=(("gpu", 9), ("x", 9)))
    without = NodeSize(cpus=32, mem_bytes=4 * GIB, resources=(("gpu", 1), ("x", 9)))
    fits = NodeSize(cpus=4, mem_bytes=2 * GIB, resources=(("gpu", 2), ("x", 9)))
    assert lay_out(asked, [small, without, fits]) == (
        Chunk(count=2, cpus=4, ranks=4, mem_bytes=2 * GIB, resources=(("gpu", 2), ("x", 4))),
    )


def test_a_job_in_very_many_parts_is_left_as_it_is() -> None:
    chunks = [Chunk(count=2, cpus=1 + cpus % 2) for cpus in range(101)]
    for arrangement in (Arrangement.FILL, Arrangement.FREE):
        assert list(lay_out(spec(arrangement, *chunks), sizes([64]))) == chunks


CHUNKS = st.lists(
    st.builds(
        Chunk,
        count=st.integers(1, 20),
        cpus=st.integers(0, 8),
        ranks=st.integers(0, 4),
        resources=st.sampled_from([(), (("gpu", 1),), (("gpu", 2), ("x", 1))]),
        component=st.integers(0, 2),
    ),
    min_size=1,
    max_size=4,
)


@given(st.sampled_from(Arrangement), CHUNKS, st.lists(st.integers(1, 16), max_size=4))
def test_nothing_that_was_asked_for_gets_lost(arrangement: Arrangement, chunks: list[Chunk], nodes: list[int]) -> None:
    pods = lay_out(spec(arrangement, *chunks), sizes(nodes))
    assert sum(p.count * p.cpus for p in pods) == sum(c.count * c.cpus for c in chunks)
    assert sum(p.count * p.ranks for p in pods) == sum(c.count * c.ranks for c in chunks)
    for name in ("gpu", "x"):
        assert sum(p.count * dict(p.resources).get(name, 0) for p in pods) == sum(
            c.count * dict(c.resources).get(name, 0) for c in chunks
        )
    assert len(pods) <= sum(c.count for c in chunks)


@given(st.sampled_from(Arrangement), CHUNKS, st.lists(st.integers(1, 16), max_size=4), st.integers(0, 8))
def test_no_pod_has_chunks_of_two_components(
    arrangement: Arrangement, chunks: list[Chunk], nodes: list[int], hosts: int
) -> None:
    most = sum(c.count for c in chunks) if arrangement is not Arrangement.PACK else len({c.component for c in chunks})
    named = tuple(f"n{number}" for number in range(min(hosts, most)))
    pods = lay_out(replace(spec(arrangement, *chunks), required_hosts=named), sizes(nodes))
    assert sum(p.count for p in pods if p.hosts) == len(named)
    for component in range(3):
        asked, granted = ([c for c in some if c.component == component] for some in (chunks, pods))
        assert sum(p.count * p.cpus for p in granted) == sum(c.count * c.cpus for c in asked)
        assert sum(p.count * p.ranks for p in granted) == sum(c.count * c.ranks for c in asked)


@pytest.mark.parametrize(
    ("sizes_of", "hosts", "pods"), [((4, 2), 3, [2, 2, 2]), ((1, 5), 3, [1, 3, 2]), ((3, 3), 5, [1, 1, 1, 2, 1])]
)
def test_components_are_spread_each_by_itself(sizes_of: tuple[int, int], hosts: int, pods: list[int]) -> None:
    chunks = [Chunk(count=count, component=at) for at, count in enumerate(sizes_of)]
    named = tuple(f"n{number}" for number in range(hosts))
    found = lay_out(replace(spec(Arrangement.FILL, *chunks), required_hosts=named), sizes([8] * 8))
    assert [pod.cpus for pod in found for _ in range(pod.count)] == pods


@given(CHUNKS, st.lists(st.integers(8, 16), min_size=1, max_size=4))
def test_filled_pods_fit_the_largest_node(chunks: list[Chunk], nodes: list[int]) -> None:
    for arrangement in (Arrangement.FILL, Arrangement.FREE):
        assert all(pod.cpus <= max(nodes) for pod in lay_out(spec(arrangement, *chunks), sizes(nodes)))


ON = {"hosts": ("n1", "n2")}
HOSTS_CASES = [
    pytest.param(Arrangement.SCATTER, [Chunk(count=2)], [Chunk(count=2, **ON)], id="as many as pods"),  # type: ignore[arg-type]
    pytest.param(
        Arrangement.SCATTER,
        [Chunk(count=4)],
        [Chunk(count=2, **ON), Chunk(count=2, excluded_hosts=("n1", "n2"))],  # type: ignore[arg-type]
        id="fewer: the first pods, and the others elsewhere",
    ),
    pytest.param(
        Arrangement.FILL,
        [Chunk(count=5)],
        [Chunk(cpus=3, ranks=3, **ON), Chunk(cpus=2, ranks=2, **ON)],  # type: ignore[arg-type]
        id="fill: spread over all of them",
    ),
]


@pytest.mark.parametrize(("arrangement", "chunks", "pods"), HOSTS_CASES)
def test_nodes_that_the_job_must_have(arrangement: Arrangement, chunks: list[Chunk], pods: list[Chunk]) -> None:
    asked = replace(spec(arrangement, *chunks), required_hosts=("n1", "n2"))
    assert list(lay_out(asked, sizes([8] * 4))) == pods


@pytest.mark.parametrize("arrangement", [Arrangement.PACK, Arrangement.SCATTER, Arrangement.FILL])
def test_more_nodes_than_pods(arrangement: Arrangement) -> None:
    asked = replace(spec(arrangement, Chunk(count=1)), required_hosts=("n1", "n2"))
    with pytest.raises(RefusedError, match=r"^nodes: 2 named, but the job has 1$") as raised:
        lay_out(asked, sizes([8]))
    assert raised.value.code == RefusalCode.NODE_LIMIT


SUITS = [
    (Chunk(), True),
    (Chunk(properties=("a",)), True),
    (Chunk(properties=("a", "c")), False),
    (Chunk(lacks=("c",)), True),
    (Chunk(lacks=("b",)), False),
    (Chunk(alternatives=(("c",), ("a", "b"))), True),
    (Chunk(alternatives=(("c",), ("a", "d"))), False),
    (Chunk(words=(("w", "x"),)), True),
    (Chunk(words=(("w", "y"),)), False),
    (Chunk(hosts=("n1", "n2")), True),
    (Chunk(hosts=("n2",)), False),
    (Chunk(excluded_hosts=("n2",)), True),
    (Chunk(excluded_hosts=("n1",)), False),
]


@pytest.mark.parametrize(("chunk", "suits"), SUITS, ids=range(len(SUITS)))
def test_what_a_node_suits(chunk: Chunk, suits: bool) -> None:
    node = NodeSize(cpus=1, properties=frozenset({"a", "b", "w=x"}), name="n1")
    assert node.suits(chunk) is suits
    assert NodeSize(cpus=1).suits(chunk), "nothing is known of it"


def packed(*chunks: Chunk) -> Chunk:
    (pod,) = lay_out(spec(Arrangement.PACK, *chunks), sizes([64]))
    return pod


def test_a_pod_has_the_wishes_of_all_its_chunks() -> None:
    one = Chunk(properties=("a",), lacks=("x",), words=(("m", "1"),), hosts=("n1", "n2"), tmp_bytes=5)
    other = Chunk(properties=("b",), alternatives=(("c",), ("d",)), words=(("k", "2"),), hosts=("n2", "n3"))
    last = Chunk(alternatives=(("e",), ("f",)), excluded_hosts=("n9",), tmp_bytes=7)
    pod = packed(one, other, last)
    assert (pod.properties, pod.lacks, pod.words) == (("a", "b"), ("x",), (("k", "2"), ("m", "1")))
    assert pod.alternatives == (("c", "e"), ("c", "f"), ("d", "e"), ("d", "f"))
    assert (pod.hosts, pod.excluded_hosts, pod.tmp_bytes) == (("n2",), ("n9",), 7)


def test_chunks_that_no_pod_can_have_together() -> None:
    with pytest.raises(HpcBatchError, match="no node can have both m=1 and m=2"):
        packed(Chunk(words=(("m", "1"),)), Chunk(words=(("m", "2"),)))
    with pytest.raises(HpcBatchError, match="one pod cannot be on several nodes: n1, n2"):
        packed(Chunk(hosts=("n1",)), Chunk(hosts=("n2",)))


@pytest.mark.parametrize("wish", [{"component": 1}, {"hosts": ("n1",)}, {"words": (("m", "1"),)}, {"lacks": ("a",)}])
def test_chunks_for_unlike_nodes_do_not_fill_one_pod(wish: dict[str, object]) -> None:
    one, other = Chunk(count=2), Chunk(count=2, **wish)  # type: ignore[arg-type]
    pods = lay_out(spec(Arrangement.FILL, one, other), sizes([8]))
    assert pods == (Chunk(cpus=2, ranks=2), replace(other, count=1, cpus=2, ranks=2))
