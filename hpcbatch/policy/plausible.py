"""Checks a runner's report. The script runs as the same user and may have forged it: its end must match the kubelet's
status of the container, and the usage must be possible.
"""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.dataclass import dataclass, replace
from hpcbatch.model.labels import MACHINE_CPUS, MACHINE_MEMORY
from hpcbatch.model.record import HostUsage
from hpcbatch.model.state import Reason
from hpcbatch.typed import Any
from hpcbatch.units import memory_bytes, parse_quantity
from hpcbatch.volcano.report import RunReport

_ROUNDING_S = 1
_STOPPED = frozenset({143, 137})
"""Exit codes of a container that got TERM: its runner's, and that of one that took too long."""
SIGNALLED = 128
"""A container ends with this and the number of the signal that killed its program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSize:
    cpus: int
    memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerEnd:
    """The end of a container, as the kubelet reports it."""

    exit_code: int
    seconds: int | None
    """Its running time, if known."""
    was_requested: bool = False
    """Its end was requested, or its node was taken away."""


def node_size(node: Mapping[str, Any]) -> NodeSize:
    """What all pods of a node can use together. For the embedded engine: its whole machine."""
    capacity, notes = node["status"].get("capacity") or {}, node["metadata"].get("annotations") or {}
    return NodeSize(
        cpus=round(parse_quantity(notes.get(MACHINE_CPUS) or capacity.get("cpu", "0"))),
        memory_bytes=memory_bytes(notes.get(MACHINE_MEMORY) or capacity.get("memory", "0")),
    )


def plausible(report: RunReport, end: ContainerEnd, size: NodeSize | None) -> RunReport:
    """`report`, or the container's end if they disagree; figures are limited to what is possible."""
    if not _agrees(report, end):
        code = end.exit_code
        signal = code - SIGNALLED if code > SIGNALLED else None
        reason = Reason.NONE if code == 0 else Reason.NON_ZERO_EXIT if signal is None else Reason.SIGNALLED
        return RunReport(
            exit_code=None if signal else code,
            signal=signal,
            reason=reason,
            session_id=report.session_id,
            message=f"its report of another end was not believed: the container ended with exit code {code}",
        )
    seconds = None if end.seconds is None else end.seconds + _ROUNDING_S
    return replace(
        report,
        walltime_s=_at_most(report.walltime_s, seconds),
        cpu_s=_at_most(report.cpu_s, None if size is None or seconds is None else size.cpus * seconds),
        max_rss_bytes=_at_most(report.max_rss_bytes, None if size is None else size.memory_bytes),
    )


def plausible_usage(usage: HostUsage, seconds: float, size: NodeSize | None) -> HostUsage:
    """Limits the usage of a pod that has run for `seconds`."""
    return replace(
        usage,
        cpu_s=_at_most(usage.cpu_s, None if size is None else size.cpus * (max(0, round(seconds)) + _ROUNDING_S)),
        max_rss_bytes=_at_most(usage.max_rss_bytes, None if size is None else size.memory_bytes),
    )


def _agrees(report: RunReport, end: ContainerEnd) -> bool:
    """A runner ends with its script's code, or 128 and the signal; with 143 after TERM."""
    if report.exit_code is None and report.signal is None:
        return True  # no end of the script is reported, which is no success
    reported_code = report.exit_code if report.exit_code is not None else SIGNALLED + (report.signal or 0)
    return reported_code == end.exit_code or (end.was_requested and end.exit_code in _STOPPED)


def _at_most(figure: int | None, bound: int | None) -> int | None:
    """A bound of 0 means unknown."""
    return figure if figure is None or not bound else min(figure, bound)
