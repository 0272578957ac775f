"""Jobs per second of 1-core `true` jobs: 100 of them, from the first submission to the last end."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from bench.engine.rig import bare_job, engine

JOBS, ROUNDS = 100, 4
# The same 100 jobs on the same kind of machine (2 cores), whole: submitted one by one, until the last had ended.
REAL_S = {"Slurm 22.05.8": 40.6, "OpenPBS 23.06.06": 18.8, "Volcano v1.14.1 on Kubernetes v1.34.1": 77.0}


def main() -> None:
    starts, ours, raw = [], [], []
    with engine() as (env, work):
        (work / "true.sh").write_text("#!/bin/sh\n#SBATCH -o /dev/null\ntrue\n")
        manifest = work / "job.json"
        manifest.write_text(json.dumps(bare_job()))
        for number in range(1, ROUNDS + 1):  # in turns: a machine may compute a quarter faster in the next minute
            starts.append(started(["sbatch", "--hold", "true.sh"], env, work))
            subprocess.run(["scancel", "-t", "PD", "--me"], env=env, check=True)
            ours.append(run(["sbatch", "true.sh"], env, work, number * JOBS))
            raw.append(run_volcano(manifest, env, work, number * JOBS))
            print(f"round {number}: {ours[-1] / starts[-1]:.2f} x the starts", flush=True)
    start_s, our_s, raw_s = (sum(spent) / ROUNDS for spent in (starts, ours, raw))
    print(f"{JOBS} `true` jobs of one core over 6 cores, mean of {ROUNDS} rounds:")
    print(f"  sbatch                                  {our_s:6.1f} s  {JOBS / our_s:5.1f} jobs/s")
    print(f"  {JOBS} starts of sbatch --hold            {start_s:6.1f} s; the jobs take {our_s / start_s:.2f} x that")
    print(f"  kubectl create of a bare Volcano Job    {raw_s:6.1f} s  {JOBS / raw_s:5.1f} jobs/s  (same engine)")
    for name, spent in REAL_S.items():
        print(f"  {name:38}  {spent:6.1f} s  recorded; ours takes {our_s / spent:.2f} of it")


def started(argv: list[str], env: Mapping[str, str], work: Path) -> float:
    """Seconds that the commands themselves take, one after the other."""
    began = time.perf_counter()
    for _ in range(JOBS):
        subprocess.run(argv, env=env, cwd=work, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def run(argv: list[str], env: Mapping[str, str], work: Path, ended: int) -> float:
    """Until so many jobs have ended since the engine's start."""
    began = time.perf_counter()
    started(argv, env, work)
    while count(["squeue", "-h", "-t", "CD", "-o", "%i"], env) < ended:
        time.sleep(0.1)
    return time.perf_counter() - began


def run_volcano(manifest: Path, env: Mapping[str, str], work: Path, ended: int) -> float:
    began = time.perf_counter()
    for _ in range(JOBS):
        subprocess.run(
            ["kubectl", "create", "-f", str(manifest)], env=env, cwd=work, check=True, stdout=subprocess.DEVNULL
        )
    done = "jsonpath={range .items[?(@.status.state.phase=='Completed')]}{.metadata.name}{'\\n'}{end}"
    while count(["kubectl", "get", "vcjob", "-o", done], env) < ended:
        time.sleep(0.1)
    return time.perf_counter() - began


def count(argv: list[str], env: Mapping[str, str]) -> int:
    return len(subprocess.run(argv, env=env, check=True, capture_output=True, text=True).stdout.split())
