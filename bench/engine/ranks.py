"""The same ranks as a job of three pods, which have more CPUs than the machine, and started by hand over TCP, turn by
turn. What a program takes for its steps is told apart from start and end.
"""

from __future__ import annotations

import os
import shlex
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.engine.mpirun_job import LIMIT_S, SYSTEM_PATH, time_job
from bench.engine.rig import engine

NODES, CPUS = 3, 2
RANKS = NODES * CPUS
TURNS = 5
_SCRIPT = """\
#!/bin/sh
cd "$PBS_O_WORKDIR"
echo "at $(date +%s.%N)"
{mpirun} {argv}
echo "at $(date +%s.%N)"
"""


@dataclass(frozen=True, slots=True)
class Mpi:
    """Debian's Open MPI."""

    name: str
    """Of the benchmark."""
    mpirun: str
    mpicc: str

    def by_hand(self, argv: Sequence[str], work: Path, ranks: int = RANKS) -> str:
        """Run this many ranks in `work`, by one mpirun that sees all of them, and so that they are more than the CPUs.
        What they print. Ends the benchmark if they fail.
        """
        command = [self.mpirun, "--oversubscribe", "-np", str(ranks), "--mca", "btl", "self,tcp", *argv]
        env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        done = subprocess.run(command, env=env, cwd=work, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode:
            raise SystemExit(f"{self.name}: mpirun ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout


def find_mpi(name: str) -> Mpi:
    """Ends the benchmark if it is not installed."""
    mpirun, mpicc = (shutil.which(program, path=SYSTEM_PATH) for program in ("mpirun", "mpicc"))
    if mpirun is None or mpicc is None:
        raise SystemExit(f"{name}: no mpirun and mpicc in /usr/bin: expected Debian's openmpi-bin and libopenmpi-dev")
    return Mpi(name, mpirun, mpicc)


def compare_ranks(
    mpi: Mpi, argv: Sequence[str], prepare: Callable[[Path], object], steps_s: Callable[[str, Path], float]
) -> None:
    """Print the times of both, and how many times as long the job takes. `prepare` puts the program into a directory,
    in which it then runs as `argv`. `steps_s` finds the seconds of its steps in what it printed or in that directory.
    """
    with engine(NODES, CPUS) as (env, work):
        prepare(work)
        script = _SCRIPT.format(mpirun=shlex.quote(mpi.mpirun), argv=shlex.join(argv))
        select = f"select={NODES}:ncpus={CPUS}:mpiprocs={CPUS}"
        jobs, by_hand = [], []
        for turn in range(TURNS):
            done = time_job(script, f"{mpi.name}-{turn}", "-l", select, env=env, work=work)
            jobs.append((done.whole_s, done.before_s, done.mpirun_s, steps_s(done.output, work)))
            began = time.perf_counter()
            text = mpi.by_hand(argv, work)
            by_hand.append((time.perf_counter() - began, steps_s(text, work)))
    job, hand = ([statistics.median(column) for column in zip(*turns, strict=True)] for turns in (jobs, by_hand))
    print(f"  {'':8} {'whole':>6} {'to the script':>14} {'mpirun':>7} {'its steps':>10}")
    print(f"  {'qsub':8} {job[0]:6.1f} {job[1]:14.1f} {job[2]:7.1f} {job[3]:10.2f}")
    print(f"  {'by hand':8} {hand[0]:6.1f} {'':14} {hand[0]:7.1f} {hand[1]:10.2f}")
    beside = f"start and end of the job beside its mpirun {statistics.median(each[0] - each[2] for each in jobs):.1f} s"
    print(f"  steps {job[3] / hand[1]:.2f} x, whole {job[0] / hand[0]:.2f} x, {beside}")
