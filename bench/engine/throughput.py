"""Jobs per second of 1-core `true` jobs: 100 of them, from the first submission to the last end."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from bench.engine.rig import bare_job, engine

JOBS = 100
# The same 100 jobs on the same kind of machine (2 cores), whole: submitted one by one, until the last had ended.
REAL_S = {"Slurm 22.05.8": 40.6, "OpenPBS 23.06.06": 18.8, "Volcano v1.14.1 on Kubernetes v1.34.1": 77.0}


def main() -> None:
    with engine() as (env, work):
        (work / "true.sh").write_text("#!/bin/sh\n#SBATCH -o /dev/null\ntrue\n")
        starts = started(["sbatch", "--hold", "true.sh"], env, work)
        ours = run(["sbatch", "true.sh"], env, work)
        manifest = work / "job.json"
        manifest.write_text(json.dumps(bare_job()))
        raw = run_volcano(manifest, env, work)
    print(f"{JOBS} `true` jobs of one core over 6 cores:")
    print(f"  sbatch                                  {ours:6.1f} s  {JOBS / ours:5.1f} jobs/s")
    print(f"  {JOBS} starts of sbatch --hold            {starts:6.1f} s; the jobs take {ours / starts:.2f} x that")
    print(f"  kubectl create of a bare Volcano Job    {raw:6.1f} s  {JOBS / raw:5.1f} jobs/s  (same engine)")
    for name, spent in REAL_S.items():
        print(f"  {name:38}  {spent:6.1f} s  recorded; ours takes {ours / spent:.2f} of it")


def started(argv: list[str], env: Mapping[str, str], work: Path) -> float:
    """Seconds that the commands themselves take, one after the other."""
    began = time.perf_counter()
    for _ in range(JOBS):
        subprocess.run(argv, env=env, cwd=work, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def run(argv: list[str], env: Mapping[str, str], work: Path) -> float:
    began = time.perf_counter()
    started(argv, env, work)
    while count(["squeue", "-h", "-t", "CD", "-o", "%i"], env) < JOBS:
        time.sleep(0.1)
    return time.perf_counter() - began


def run_volcano(manifest: Path, env: Mapping[str, str], work: Path) -> float:
    began = time.perf_counter()
    for _ in range(JOBS):
        subprocess.run(
            ["kubectl", "create", "-f", str(manifest)], env=env, cwd=work, check=True, stdout=subprocess.DEVNULL
        )
    done = "jsonpath={range .items[?(@.status.state.phase=='Completed')]}{.metadata.name}{'\\n'}{end}"
    while count(["kubectl", "get", "vcjob", "-o", done], env) < JOBS:
        time.sleep(0.1)
    return time.perf_counter() - began


def count(argv: list[str], env: Mapping[str, str]) -> int:
    return len(subprocess.run(argv, env=env, check=True, capture_output=True, text=True).stdout.split())
