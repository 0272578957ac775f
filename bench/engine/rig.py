"""An engine for one benchmark, and the memory that it takes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
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
