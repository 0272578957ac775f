"""How long a user waits for qstat, squeue and qsub, beside `kubectl get` on the same engine."""

from __future__ import annotations

import subprocess
from functools import partial

from bench.engine.rig import engine
from bench.timing import compare

ROUNDS = 21


def main() -> None:
    with engine() as (env, work):
        (work / "true.pbs").write_text("#!/bin/sh\ntrue\n")
        for _ in range(10):
            subprocess.run(["qsub", "-h", "true.pbs"], env=env, cwd=work, check=True, stdout=subprocess.DEVNULL)
        commands = {
            "kubectl get batchjobs": ["kubectl", "get", "batchjobs"],
            "qstat": ["qstat"],
            "squeue": ["squeue"],
            "qsub": ["qsub", "-h", "true.pbs"],
            "sbatch": ["sbatch", "--hold", "true.pbs"],
        }
        run = partial(subprocess.run, env=env, cwd=work, check=True, stdout=subprocess.DEVNULL)
        times = compare({name: partial(run, argv) for name, argv in commands.items()}, ROUNDS)
    kubectl = times["kubectl get batchjobs"]
    print(f"start-up, median of {ROUNDS}, whole process, some 10 to 60 waiting jobs:")
    for name, spent in times.items():
        print(f"  {name:24} {spent * 1000:6.0f} ms   {spent / kubectl:.2f} x kubectl get")
