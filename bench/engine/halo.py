"""Many small messages between the ranks of three pods, which have more CPUs than the machine, beside the same ranks
started by hand over TCP. What the program takes for its steps is told apart from start and end.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import statistics
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from bench.engine.mpirun_job import LIMIT_S, SYSTEM_PATH, time_job
from bench.engine.rig import engine

NODES, CPUS = 3, 2
_RANKS = NODES * CPUS
_TURNS = 5
_ARGUMENTS = ("4000", "2")
_SOURCE = Path(__file__).with_name("halo.c")
_SCRIPT = """\
#!/bin/sh
cd "$PBS_O_WORKDIR"
echo "at $(date +%s.%N)"
{mpirun} ./halo {arguments}
echo "at $(date +%s.%N)"
"""


def main() -> None:
    mpirun, mpicc = (shutil.which(name, path=SYSTEM_PATH) for name in ("mpirun", "mpicc"))
    if mpirun is None or mpicc is None:
        raise SystemExit("halo: no mpirun and mpicc in /usr/bin: expected Debian's openmpi-bin and libopenmpi-dev")
    print(f"{_RANKS} ranks that swap edges {_ARGUMENTS[0]} times, median of {_TURNS} turns, seconds:")
    with engine(NODES, CPUS) as (env, work):
        subprocess.run([mpicc, "-O2", "-o", work / "halo", _SOURCE], check=True)
        jobs, by_hand = [], []
        for turn in range(_TURNS):
            jobs.append(_job(turn, mpirun, env, work))
            by_hand.append(_by_hand(mpirun, work))
    job, hand = ([statistics.median(column) for column in zip(*turns, strict=True)] for turns in (jobs, by_hand))
    print(f"  {'':8} {'whole':>6} {'to the script':>14} {'mpirun':>7} {'its steps':>10}")
    print(f"  {'qsub':8} {job[0]:6.1f} {job[1]:14.1f} {job[2]:7.1f} {job[3]:10.2f}")
    print(f"  {'by hand':8} {hand[0]:6.1f} {'':14} {hand[0]:7.1f} {hand[1]:10.2f}")
    print(f"  steps {job[3] / hand[1]:.2f} x, whole {job[0] / hand[0]:.2f} x")


def _job(turn: int, mpirun: str, env: Mapping[str, str], work: Path) -> tuple[float, float, float, float]:
    """Seconds from qsub's start to the job's end, to its script's start, of its mpirun, and of the steps."""
    script = _SCRIPT.format(mpirun=shlex.quote(mpirun), arguments=" ".join(_ARGUMENTS))
    select = f"select={NODES}:ncpus={CPUS}:mpiprocs={CPUS}"
    done = time_job(script, f"halo-{turn}", "-l", select, env=env, work=work)
    return done.whole_s, done.before_s, done.mpirun_s, _steps_s(done.output)


def _by_hand(mpirun: str, work: Path) -> tuple[float, float]:
    """Seconds of the whole, and of the steps. This mpirun sees all ranks, and so that they are more than the CPUs."""
    argv = [mpirun, "--oversubscribe", "-np", str(_RANKS), "--mca", "btl", "self,tcp", "./halo", *_ARGUMENTS]
    env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    began = time.perf_counter()
    done = subprocess.run(argv, env=env, cwd=work, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    whole_s = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(f"halo: mpirun ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return whole_s, _steps_s(done.stdout)


def _steps_s(text: str) -> float:
    found = re.search(r"^steps ([\d.]+)$", text, re.MULTILINE)
    if found is None:
        raise SystemExit(f"halo: the program did not say how long its steps took:\n{text}")
    return float(found[1])
