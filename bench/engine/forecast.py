"""The computing part of a forecast, by the stand-in for WRF, as a job and beside the same ranks started by hand."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from bench.engine.ranks import RANKS, TURNS, compare_ranks, find_mpi

_EXAMPLE = Path(__file__).parents[2] / "examples" / "wrf"
_STEP = re.compile(r"^Timing for main: time \S+ on domain +1: +([\d.]+) elapsed seconds$", re.MULTILINE)


def main() -> None:
    mpi = find_mpi("forecast")

    def make_input(work: Path) -> None:
        """What wrf.exe reads, by the programs that come before it."""
        subprocess.run(["make", "-s", "-C", _EXAMPLE / "standin", f"OUT={work}", f"MPICC={mpi.mpicc}"], check=True)
        for name in ("namelist.input", "namelist.wps"):
            shutil.copy(_EXAMPLE / name, work)
        subprocess.run(["./mkmet"], cwd=work, check=True, stdout=subprocess.DEVNULL)
        mpi.by_hand(["./real.exe"], work, ranks=1)

    print(f"a forecast of a day by the stand-in for WRF, {RANKS} ranks, median of {TURNS} turns, seconds:")
    compare_ranks(mpi, ["./wrf.exe"], make_input, _steps_s)


def _steps_s(_text: str, work: Path) -> float:
    """Without the files that it reads and writes, which WRF tells apart."""
    steps = _STEP.findall((work / "rsl.error.0000").read_text())
    if not steps:
        raise SystemExit("forecast: rsl.error.0000 has no step")
    return sum(map(float, steps))
