from __future__ import annotations

import pytest

from hpcbatch.engine.agent.oversubscribed import YIELDING, yielding


@pytest.mark.parametrize(
    ("node_cpus", "machine_cpus", "is_oversubscribed"),
    [([2, 2, 2], 2, True), ([2, 2, 2], 5, True), ([2, 2, 2], 6, False), ([2], 2, False), ([3], 2, True)],
)
def test_only_where_the_nodes_have_more_cpus_than_the_machine(
    node_cpus: list[int], machine_cpus: int, is_oversubscribed: bool
) -> None:
    assert yielding(node_cpus, machine_cpus) == (YIELDING if is_oversubscribed else {})
