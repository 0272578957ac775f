"""Limits and defaults of queues under PBS's names."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.pbs.qstat_queues import JobCounts, format_limits, format_queues, queue_attributes
from hpcbatch.model.row import QueueRow

PLAIN = QueueRow(name="q", is_default=True, is_open=True)
SHOWN = ("resources_max", "resources_default", "default_chunk")


@pytest.mark.parametrize(
    ("queue", "expected"),
    [
        (PLAIN, {}),
        (PLAIN._replace(max_walltime_s=90000), {"resources_max": {"walltime": "25:00:00"}}),
        (
            PLAIN._replace(max_nodes=4, max_cpus=16, max_mem_per_node_bytes=1 << 30),
            {"resources_max": {"mem": "4194304kb", "ncpus": "16", "nodect": "4"}},
        ),
        (PLAIN._replace(max_mem_per_node_bytes=1 << 30), {}),
        (
            PLAIN._replace(default_walltime_s=600, default_mem_per_node_bytes=1 << 20),
            {"resources_default": {"walltime": "00:10:00"}, "default_chunk": {"mem": "1024kb"}},
        ),
    ],
)
def test_attributes(queue: QueueRow, expected: dict[str, dict[str, str]]) -> None:
    found = dict(queue_attributes(queue, JobCounts()))
    assert {name: found[name] for name in SHOWN if name in found} == expected


def test_a_routing_queue() -> None:
    queue = PLAIN._replace(destinations=("a", "b"), routes_held=True, min_cpus=2, min_walltime_s=60)
    assert [(name, value) for name, value in queue_attributes(queue, JobCounts()) if name != "state_count"] == [
        ("queue_type", "Route"),
        ("total_jobs", "0"),
        ("resources_min", {"ncpus": "2", "walltime": "00:01:00"}),
        ("route_destinations", "a,b"),
        ("route_held_jobs", "True"),
        ("enabled", "True"),
        ("started", "True"),
    ]
    assert format_queues([queue], {}, header=False).endswith(" Rou*\n")


def test_limits_in_the_table() -> None:
    queue = PLAIN._replace(max_walltime_s=3600, max_nodes=12)
    row = format_limits([queue], {}, server="s").splitlines()[5]
    assert row == "q                  --      --    01:00:00   12     0     0   --   E R"


@pytest.mark.parametrize(
    ("options", "shown"), [({}, "4gb"), ({"gigabytes": True}, "4gb"), ({"megawords": True}, "512mw")]
)
def test_memory_in_the_table(options: dict[str, bool], shown: str) -> None:
    queue = PLAIN._replace(max_nodes=2, max_mem_per_node_bytes=2 << 30)
    row = format_limits([queue], {}, server="s", **options).splitlines()[5]
    assert row == f"q                {shown:>6}    --       --       2     0     0   --   E R"
