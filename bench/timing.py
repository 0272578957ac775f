"""Fair timing: the things compared take turns, so that a slow moment hits all of them. And CPU time, from /proc."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

Action = Callable[[], object]
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def seconds(action: Action) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def compare(actions: Mapping[str, Action], rounds: int) -> dict[str, float]:
    """Median seconds of each action; the first round warms up and is not counted."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for turn in range(rounds + 1):
        for name, action in actions.items():
            spent = seconds(action)
            if turn:
                times[name].append(spent)
    return {name: statistics.median(spent) for name, spent in times.items()}


def cpu_s(pid: int, *, with_children: bool = False) -> float:
    """CPU time of a process since its start, of all its threads; and of children that it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if with_children else 13])) / _TICKS_PER_S
