"""mpirun in a job and by hand, as the benchmarks of MPI time it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

SYSTEM_PATH = "/usr/bin:/bin"
LIMIT_S = 600
_SCRIPT = """\
#!/bin/sh
cd "$PBS_O_WORKDIR"
echo "at $(date +%s.%N)"
{command}
echo "at $(date +%s.%N)"
"""


class Timed(NamedTuple):
    whole_s: float
    """From qsub's start to the job's end."""
    before_s: float
    """From qsub's start to mpirun's."""
    mpirun_s: float
    output: str


def time_job(mpirun: Sequence[str], name: str, *options: str, env: Mapping[str, str], work: Path) -> Timed:
    """Submit a job that runs `mpirun` in `work`, and wait for its end. `name` is that of its files, `options` are
    qsub's. Ends the benchmark if the job fails.
    """
    output = work / f"{name}.out"
    (work / f"{name}.pbs").write_text(_SCRIPT.format(command=shlex.join(mpirun)))
    argv = ["qsub", "-W", "block=true", "-j", "oe", "-o", str(output), "-l", "place=scatter", *options, f"{name}.pbs"]
    began, began_s = time.perf_counter(), time.time()
    done = subprocess.run(argv, env=env, cwd=work, stdout=subprocess.DEVNULL, timeout=LIMIT_S, check=False)
    whole_s = time.perf_counter() - began
    text = output.read_text() if output.exists() else ""
    at = [float(word) for word in re.findall(r"^at ([\d.]+)$", text, re.MULTILINE)]
    if done.returncode or len(at) != 2:
        raise SystemExit(f"{name}: the job ended with {done.returncode}:\n{text}")
    return Timed(whole_s, at[0] - began_s, at[1] - at[0], text)


def by_hand(mpirun: Sequence[str], name: str, work: Path) -> tuple[str, float]:
    """What `mpirun` prints in `work`, without hpcbatch, and its seconds. Ends the benchmark if it fails."""
    env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    began = time.perf_counter()
    done = subprocess.run(mpirun, env=env, cwd=work, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    whole_s = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(f"{name}: mpirun by hand ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout, whole_s
