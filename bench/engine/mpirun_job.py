"""A job whose script runs mpirun and tells when that begins and ends, as the benchmarks of MPI time it."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

SYSTEM_PATH = "/usr/bin:/bin"
LIMIT_S = 600


class Timed(NamedTuple):
    whole_s: float
    """From qsub's start to the job's end."""
    before_s: float
    """From qsub's start to mpirun's."""
    mpirun_s: float
    output: str


def time_job(script: str, name: str, *options: str, env: Mapping[str, str], work: Path) -> Timed:
    """Submit `script`, which prints `at SECONDS` before and after mpirun, and wait for its end. `name` is that of its
    files, `options` are qsub's. Ends the benchmark if the job fails.
    """
    output = work / f"{name}.out"
    (work / f"{name}.pbs").write_text(script)
    argv = ["qsub", "-W", "block=true", "-j", "oe", "-o", str(output), "-l", "place=scatter", *options, f"{name}.pbs"]
    began, began_s = time.perf_counter(), time.time()
    done = subprocess.run(argv, env=env, cwd=work, stdout=subprocess.DEVNULL, timeout=LIMIT_S, check=False)
    whole_s = time.perf_counter() - began
    text = output.read_text() if output.exists() else ""
    at = [float(word) for word in re.findall(r"^at ([\d.]+)$", text, re.MULTILINE)]
    if done.returncode or len(at) != 2:
        raise SystemExit(f"{name}: the job ended with {done.returncode}:\n{text}")
    return Timed(whole_s, at[0] - began_s, at[1] - at[0], text)
