"""Limits, defaults and nodes of partitions as sinfo and scontrol show them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hpcbatch.dialects.slurm.scontrol import format_node, format_partition
from hpcbatch.dialects.slurm.sinfo import format_sinfo, read_options
from hpcbatch.model.row import NodeRow, QueueRow

NOW = datetime(2026, 11, 21, tzinfo=UTC)
PLAIN = QueueRow(name="all", is_default=True, is_open=True)
GPU = PLAIN._replace(name="gpu", is_default=False, node_selector=(("pool", "gpu"),))
NODES = [
    NodeRow("n1", True, True, 2, 1 << 30, 0, 0, labels=frozenset({("pool", "cpu"), ("x", "y")})),
    NodeRow("n2", True, True, 2, 1 << 30, 0, 0, labels=frozenset({("pool", "gpu"), ("x", "y")})),
]


def sinfo(*queues: QueueRow) -> str:
    return format_sinfo(NODES, queues, read_options(["-h", "-o", "%R %l %L %s %N"], {}), NOW, UTC)


@pytest.mark.parametrize(
    ("queue", "expected"),
    [
        (PLAIN, "all infinite n/a 1-infinite n[1-2]\n"),
        (PLAIN._replace(max_walltime_s=3600, default_walltime_s=600), "all 1:00:00 10:00 1-infinite n[1-2]\n"),
        (PLAIN._replace(max_nodes=1), "all infinite n/a 1 n[1-2]\n"),
        (PLAIN._replace(max_nodes=8), "all infinite n/a 1-8 n[1-2]\n"),
        (GPU, "gpu infinite n/a 1-infinite n2\n"),
        (GPU._replace(node_selector=(("pool", "none"),)), "gpu infinite n/a 1-infinite \n"),
    ],
)
def test_sinfo(queue: QueueRow, expected: str) -> None:
    assert sinfo(queue) == expected


def test_partition() -> None:
    limited = GPU._replace(
        max_walltime_s=86400,
        default_walltime_s=600,
        max_nodes=4,
        max_mem_per_node_bytes=2 << 30,
        default_mem_per_node_bytes=512 << 20,
    )
    text = format_partition(limited, NODES, one_line=True)
    for word in (
        "DefaultTime=00:10:00",
        "MaxNodes=4",
        "MaxTime=1-00:00:00",
        "Nodes=n2",
        "TotalNodes=1",
        "DefMemPerNode=512",
        "MaxMemPerNode=2048",
    ):
        assert f" {word} " in text


def test_partitions_of_a_node() -> None:
    shown = [format_node(node, [PLAIN, GPU], UTC, one_line=True) for node in NODES]
    assert "Partitions=all  " in shown[0]
    assert "Partitions=all,gpu  " in shown[1]
