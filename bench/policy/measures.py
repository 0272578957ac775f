"""What a schedule was like for its jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bench.policy.trace import Trace

TAU_S = 10
Starts = Mapping[int, float]
"""When each job started, by its place in the trace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    slowdown: float
    """Average bounded slowdown: max(1, (wait + run) / max(run, 10 s))."""
    wait_s: float
    """Mean."""
    longest_wait_s: float
    utilisation: float
    """Of the processors, from the first submission to the last end."""


def measure(trace: Trace, starts: Starts) -> Measures:
    waits = waits_s(trace, starts)
    slowdowns = [
        max(1.0, (wait + job.run_s) / max(job.run_s, TAU_S)) for wait, job in zip(waits, trace.jobs, strict=True)
    ]
    first = min(job.submit_s for job in trace.jobs)
    last = max(starts[at] + job.run_s for at, job in enumerate(trace.jobs))
    return Measures(
        slowdown=sum(slowdowns) / len(slowdowns),
        wait_s=sum(waits) / len(waits),
        longest_wait_s=max(waits),
        utilisation=sum(job.run_s * job.processors for job in trace.jobs) / (trace.processors * (last - first)),
    )


def waits_s(trace: Trace, starts: Starts) -> list[float]:
    return [starts[at] - job.submit_s for at, job in enumerate(trace.jobs)]
