"""The same ranks as a job of three pods, which have more CPUs than the machine, and started by hand over TCP, turn by
turn. What a program takes for its steps is told apart from start and end.
"""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.engine import mpirun_job
from bench.engine.rig import engine

NODES, CPUS = 3, 2
RANKS = NODES * CPUS
TURNS = 5


@dataclass(frozen=True, slots=True)
class Mpi:
    """Debian's Open MPI, for one benchmark."""

    benchmark: str
    mpirun: str
    mpicc: str

    def by_hand(self, argv: Sequence[str], work: Path, ranks: int = RANKS) -> tuple[str, float]:
        """One mpirun that sees all ranks, and so that they are more than the CPUs: what they print, and its seconds."""
        mpirun = [self.mpirun, "--oversubscribe", "-np", str(ranks), "--mca", "btl", "self,tcp", *argv]
        return mpirun_job.by_hand(mpirun, self.benchmark, work)


def find_mpi(benchmark: str) -> Mpi:
    """Ends the benchmark if it is not installed."""
    mpirun, mpicc = (shutil.which(program, path=mpirun_job.SYSTEM_PATH) for program in ("mpirun", "mpicc"))
    if mpirun is None or mpicc is None:
        wanted = "expected Debian's openmpi-bin and libopenmpi-dev"
        raise SystemExit(f"{benchmark}: no mpirun and mpicc in /usr/bin: {wanted}")
    return Mpi(benchmark, mpirun, mpicc)


def compare_ranks(
    mpi: Mpi, argv: Sequence[str], prepare: Callable[[Path], object], steps_s: Callable[[str, Path], float]
) -> None:
    """Print the times of both, and how many times as long the job takes. `prepare` puts the program into a directory,
    in which it then runs as `argv`. `steps_s` finds the seconds of its steps in what it printed or in that directory.
    """
    with engine(NODES, CPUS) as (env, work):
        prepare(work)
        select = f"select={NODES}:ncpus={CPUS}:mpiprocs={CPUS}"
        jobs, by_hand = [], []
        for turn in range(TURNS):
            name = f"{mpi.benchmark}-{turn}"
            done = mpirun_job.time_job([mpi.mpirun, *argv], name, "-l", select, env=env, work=work)
            beside_s = done.whole_s - done.mpirun_s
            jobs.append((done.whole_s, done.before_s, done.mpirun_s, steps_s(done.output, work), beside_s))
            text, whole_s = mpi.by_hand(argv, work)
            by_hand.append((whole_s, steps_s(text, work)))
    job, hand = ([statistics.median(column) for column in zip(*turns, strict=True)] for turns in (jobs, by_hand))
    print(f"  {'':8} {'whole':>6} {'to the script':>14} {'mpirun':>7} {'its steps':>10}")
    print(f"  {'qsub':8} {job[0]:6.1f} {job[1]:14.1f} {job[2]:7.1f} {job[3]:10.2f}")
    print(f"  {'by hand':8} {hand[0]:6.1f} {'':14} {hand[0]:7.1f} {hand[1]:10.2f}")
    print(
        f"  steps {job[3] / hand[1]:.2f} x, whole {job[0] / hand[0]:.2f} x; start and end beside mpirun {job[4]:.1f} s"
    )
