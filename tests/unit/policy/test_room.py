"""Whether a job could start at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.model.chunk import Chunk
from hpcbatch.model.site import QueueConfig, SiteConfig
from hpcbatch.policy.room import fits_now
from hpcbatch.policy.waiting import NodeRoom
from tests.unit.policy.test_waiting import GI, QUEUE, SITE, node

NODES = [node(), node(used=1500), node(gpus=2, cpu="haswell")]


@pytest.mark.parametrize(
    ("layout", "is_scattered", "expected"),
    [
        ([Chunk(cpus=2)], False, True),
        ([Chunk(cpus=3)], False, False),
        ([Chunk(count=2, cpus=2)], False, True),
        ([Chunk(count=3, cpus=1)], False, True),
        ([Chunk(count=5, cpus=1)], False, False),
        ([Chunk(count=2, cpus=1)], True, True),
        ([Chunk(count=3, cpus=1)], True, False),
        ([Chunk(count=2, cpus=0)], True, True),
        ([Chunk(mem_bytes=5 * GI)], False, False),
        ([Chunk(resources=(("gpu", 2),))], False, True),
        ([Chunk(resources=(("gpu", 3),))], False, False),
        ([Chunk(count=2, cpus=1), Chunk(cpus=2, properties=("haswell",))], False, True),
        ([Chunk(properties=("ib",))], False, False),
        ([Chunk(properties=("unknown",))], False, False),
        ([Chunk(lacks=("haswell",), cpus=2)], False, True),
        ([Chunk(lacks=("haswell",), cpus=2, count=2)], False, False),
        ([Chunk(alternatives=(("ib",), ("haswell",)))], False, True),
    ],
)
def test_room(layout: list[Chunk], is_scattered: bool, expected: bool) -> None:
    assert fits_now(layout, NODES, is_scattered=is_scattered, queue=QUEUE, site=SITE) is expected


def test_only_nodes_of_the_queue_count() -> None:
    queue = QueueConfig(name="q", volcano_queue="q", node_selector={"cpu": "haswell"})
    assert fits_now([Chunk(cpus=2)], NODES, is_scattered=False, queue=queue, site=SITE)
    assert not fits_now([Chunk(cpus=2, count=2)], NODES, is_scattered=False, queue=queue, site=SITE)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=4),
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=3),
    st.booleans(),
)
def test_what_fits_is_no_more_than_there_is(
    nodes: list[tuple[int, int]], chunks: list[tuple[int, int]], is_scattered: bool
) -> None:
    rooms = [
        NodeRoom(labels={}, has={"cpu": has * 1000, "memory": GI}, used={"cpu": min(has, used) * 1000})
        for has, used in nodes
    ]
    layout = [Chunk(count=count, cpus=cpus) for count, cpus in chunks]
    if fits_now(layout, rooms, is_scattered=is_scattered, queue=QUEUE, site=SiteConfig()):
        free = sum(max(0, has - used) for has, used in nodes)
        assert sum(count * cpus for count, cpus in chunks) <= free
        assert not is_scattered or sum(count for count, _ in chunks) <= len(nodes)
