"""Many small messages between the ranks of a job, beside the same ranks started by hand."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from bench.engine.ranks import RANKS, TURNS, compare_ranks, find_mpi

_STEPS, _WORK = 4000, 2
_SOURCE = Path(__file__).with_name("halo.c")


def main() -> None:
    mpi = find_mpi("halo")

    def compile_it(work: Path) -> None:
        subprocess.run([mpi.mpicc, "-O2", "-o", work / "halo", _SOURCE], check=True)

    print(f"{RANKS} ranks that swap edges {_STEPS} times, median of {TURNS} turns, seconds:")
    compare_ranks(mpi, ["./halo", str(_STEPS), str(_WORK)], compile_it, _steps_s)


def _steps_s(text: str, _work: Path) -> float:
    found = re.search(r"^steps ([\d.]+)$", text, re.MULTILINE)
    if found is None:
        raise SystemExit(f"halo: the program did not say how long its steps took:\n{text}")
    return float(found[1])
