"""Reports that a script may have written in the place of its runner."""

from __future__ import annotations

import pytest

from hpcbatch.model.state import Reason
from hpcbatch.policy.plausible import ContainerEnd, NodeSize, node_size, plausible
from hpcbatch.volcano.report import RunReport

NODE = NodeSize(cpus=4, memory_bytes=1 << 30)


@pytest.mark.parametrize(
    ("said", "code", "was_requested", "exit_code", "signal", "reason"),
    [
        pytest.param({"exit_code": 0}, 0, False, 0, None, Reason.NONE, id="the same"),
        pytest.param({"exit_code": 7, "reason": Reason.NON_ZERO_EXIT}, 7, False, 7, None, Reason.NON_ZERO_EXIT, id="7"),
        pytest.param({"signal": 9, "reason": Reason.SIGNALLED}, 137, False, None, 9, Reason.SIGNALLED, id="signal"),
        pytest.param({"exit_code": 0}, 143, True, 0, None, Reason.NONE, id="told to end: the script said 0"),
        pytest.param({"signal": 15}, 137, True, None, 15, Reason.NONE, id="told to end, and took too long"),
        pytest.param({"reason": Reason.LAUNCH_FAILED}, 1, False, None, None, Reason.LAUNCH_FAILED, id="never ran"),
        pytest.param({"exit_code": 0}, 7, False, 7, None, Reason.NON_ZERO_EXIT, id="forged: 7 as 0"),
        pytest.param({"exit_code": 0}, 137, False, None, 9, Reason.SIGNALLED, id="forged: its runner was killed"),
        pytest.param({"exit_code": 0}, 143, False, None, 15, Reason.SIGNALLED, id="forged: nobody told it to end"),
        pytest.param({"signal": 9}, 0, False, 0, None, Reason.NONE, id="forged: worse than it was"),
    ],
)
def test_the_end_is_the_container_s(
    said: dict[str, object], code: int, was_requested: bool, exit_code: int | None, signal: int | None, reason: Reason
) -> None:
    report = RunReport(cpu_s=3, **said)  # type: ignore[arg-type]
    found = plausible(report, ContainerEnd(exit_code=code, seconds=10, was_requested=was_requested), NODE)
    assert (found.exit_code, found.signal, found.reason) == (exit_code, signal, reason)
    is_believed = (said.get("exit_code"), said.get("signal")) == (exit_code, signal)
    assert found.cpu_s == (3 if is_believed else None)
    assert bool(found.message) != is_believed


def test_figures_are_what_can_be() -> None:
    much = RunReport(exit_code=0, walltime_s=10**9, cpu_s=10**9, max_rss_bytes=10**17)
    end = ContainerEnd(exit_code=0, seconds=10)
    found = plausible(much, end, NODE)
    assert (found.walltime_s, found.cpu_s, found.max_rss_bytes) == (11, 44, 1 << 30)
    found = plausible(much, end, None)
    assert (found.walltime_s, found.cpu_s, found.max_rss_bytes) == (11, 10**9, 10**17), "its node is not known any more"
    little = RunReport(exit_code=0, walltime_s=9, cpu_s=20, max_rss_bytes=5)
    assert plausible(little, end, NODE) == little


def test_size_of_a_node() -> None:
    node = {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "2", "memory": "4Gi"}}}
    assert node_size(node) == NodeSize(cpus=2, memory_bytes=4 << 30)
    node["metadata"]["annotations"] = {"hpcbatch.io/machine-cpus": "8", "hpcbatch.io/machine-memory": "1000"}  # type: ignore[index]
    assert node_size(node) == NodeSize(cpus=8, memory_bytes=1000), "an engine's share of its machine binds nobody"
