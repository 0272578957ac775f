"""Fair timing: the things compared take turns, so that a slow moment hits all of them. And CPU time, from /proc."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

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


class Spent(NamedTuple):
    """What a command takes, with all that it starts."""

    wall_s: float
    cpu_s: float
    """User and system time, which other work on the machine disturbs less."""


def compare_commands(
    commands: Mapping[str, tuple[Sequence[str | Path], Mapping[str, str]]], rounds: int, cwd: Path
) -> dict[str, Spent]:
    """Medians of each command line, run in its environment; the first round warms up and is not counted."""
    found: dict[str, list[Spent]] = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, (argv, env) in commands.items():
            began = time.perf_counter()
            process = subprocess.Popen(argv, env=env, cwd=cwd, stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                raise subprocess.CalledProcessError(process.returncode, argv)
            if turn:
                found[name].append(Spent(time.perf_counter() - began, usage.ru_utime + usage.ru_stime))
    return {
        name: Spent(statistics.median(s.wall_s for s in spent), statistics.median(s.cpu_s for s in spent))
        for name, spent in found.items()
    }


def cpu_s(pid: int, *, with_children: bool = False) -> float:
    """CPU time of a process since its start, of all its threads; and of children that it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if with_children else 13])) / _TICKS_PER_S
