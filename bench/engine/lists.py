"""What long lists take, whole records among them, beside `kubectl get` of as many BatchJobs on the same engine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bench.engine.rig import BIN, engine
from bench.engine.waiting import queue_up, settle
from bench.timing import compare_commands

JOBS = 10_000
ROUNDS = 5
_BASE = "kubectl get batchjobs"
_COMMANDS = (
    _BASE,
    "qstat",
    "qstat -a",
    "squeue",
    "squeue -l",
    "sacct",
    "qstat -f",
    "kubectl get batchjobs -o json",
    "kubectl get batchjobs -o yaml",
)


def main(most: int = JOBS) -> None:
    with engine() as (env, work):
        waiting = queue_up(env, work)
        waiting.add(most)
        settle(env)
        commands: dict[str, tuple[list[str | Path], Mapping[str, str]]] = {
            name: ([BIN / name.split()[0], *name.split()[1:]], env) for name in _COMMANDS
        }
        spent = compare_commands(commands, ROUNDS, work)
    base = spent[_BASE]
    print(f"lists of {most} queued jobs, median of {ROUNDS}, whole process; x: of {_BASE}")
    for name, (wall_s, cpu_s) in spent.items():
        wall, cpu = wall_s / base.wall_s, cpu_s / base.cpu_s
        print(f"  {name:30} {wall_s * 1000:7.0f} ms {wall:6.2f} x   CPU {cpu_s * 1000:7.0f} ms {cpu:6.2f} x")
