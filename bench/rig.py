"""An engine for one benchmark, and fair timing: the things compared take turns, so that a slow moment hits both."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

BIN = Path(sys.executable).parent


@contextmanager
def engine(nodes: int = 3, cpus: int = 2) -> Iterator[tuple[dict[str, str], Path]]:
    """A fresh engine and an empty directory; yields the environment that leads to it."""
    with tempfile.TemporaryDirectory(prefix="hpcbatch-bench-") as scratch:
        state, work = Path(scratch) / "state", Path(scratch) / "work"
        work.mkdir()
        env = {
            **os.environ,
            "HPCBATCH_STATE_DIR": str(state),
            "KUBECONFIG": str(state / "kubeconfig"),
            "PATH": f"{BIN}:{os.environ['PATH']}:/usr/sbin",
        }
        subprocess.run(["hpcbatch", "up", "--nodes", str(nodes), "--cpus", str(cpus)], env=env, check=True)
        try:
            yield env, work
        finally:
            subprocess.run(["hpcbatch", "down"], env=env, check=True)


def seconds(argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> float:
    began = time.perf_counter()
    subprocess.run(argv, env=env, cwd=cwd, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def compare(commands: Mapping[str, Sequence[str]], env: Mapping[str, str], cwd: Path, rounds: int) -> dict[str, float]:
    """Median seconds of each command, whole process; the first round warms up and is not counted."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, argv in commands.items():
            spent = seconds(argv, env, cwd)
            if turn:
                times[name].append(spent)
    return {name: statistics.median(spent) for name, spent in times.items()}


def engine_memory_mib(env: Mapping[str, str]) -> float:
    """Proportional set size of the engine's processes, in MiB."""
    pid = int((Path(env["HPCBATCH_STATE_DIR"]) / "pid").read_text())
    pids, total = [pid], 0
    while pids:
        pid = pids.pop()
        children = Path(f"/proc/{pid}/task").glob("*/children")
        pids += [int(word) for path in children for word in path.read_text().split()]
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        total += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return total / 1024
