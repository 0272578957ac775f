from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.model.dialect import Dialect
from hpcbatch.model.layout import lay_out
from hpcbatch.model.spec import Arrangement, Chunk, JobSpec

GIB = 2**30


def spec(arrangement: Arrangement, *chunks: Chunk) -> JobSpec:
    return JobSpec(dialect=Dialect.SLURM, name="x", chunks=chunks, arrangement=arrangement)


@pytest.mark.parametrize(
    ("arrangement", "chunks", "nodes", "pods"),
    [
        pytest.param(
            Arrangement.FILL, [Chunk(count=5)], [2, 2, 2],
            [Chunk(count=2, cpus=2, ranks=2), Chunk(count=1, cpus=1, ranks=1)], id="5 tasks on 2-CPU nodes: 2,2,1",
        ),
        pytest.param(Arrangement.FILL, [Chunk(count=4)], [2, 8], [Chunk(cpus=4, ranks=4)], id="largest node"),
        pytest.param(Arrangement.FILL, [Chunk(cpus=9)], [2], [Chunk(cpus=9)], id="too big: stays, waits"),
        pytest.param(Arrangement.FILL, [Chunk(count=2)], [], [Chunk(count=2)], id="no node yet: one pod each"),
        pytest.param(
            Arrangement.PACK, [Chunk(count=2, cpus=2, mem_bytes=GIB), Chunk(cpus=1, ranks=0)], [8],
            [Chunk(cpus=5, ranks=2, mem_bytes=2 * GIB)], id="pack: one pod with the sum",
        ),
        pytest.param(Arrangement.FREE, [Chunk(count=3)], [8], [Chunk(count=3)], id="free: a pod for each chunk"),
        pytest.param(Arrangement.SCATTER, [Chunk(count=3)], [8], [Chunk(count=3)], id="scatter: a pod for each chunk"),
    ],
)  # fmt: skip
def test_lay_out(arrangement: Arrangement, chunks: list[Chunk], nodes: list[int], pods: list[Chunk]) -> None:
    assert list(lay_out(spec(arrangement, *chunks), nodes)) == pods


CHUNKS = st.lists(
    st.builds(Chunk, count=st.integers(1, 20), cpus=st.integers(0, 8), ranks=st.integers(0, 4)), min_size=1, max_size=4
)


@given(st.sampled_from(Arrangement), CHUNKS, st.lists(st.integers(1, 16), max_size=4))
def test_nothing_that_was_asked_for_gets_lost(arrangement: Arrangement, chunks: list[Chunk], nodes: list[int]) -> None:
    pods = lay_out(spec(arrangement, *chunks), nodes)
    assert sum(p.count * p.cpus for p in pods) == sum(c.count * c.cpus for c in chunks)
    assert sum(p.count * p.ranks for p in pods) == sum(c.count * c.ranks for c in chunks)


@given(CHUNKS, st.lists(st.integers(8, 16), min_size=1, max_size=4))
def test_filled_pods_fit_the_largest_node(chunks: list[Chunk], nodes: list[int]) -> None:
    assert all(pod.cpus <= max(nodes) for pod in lay_out(spec(Arrangement.FILL, *chunks), nodes))
