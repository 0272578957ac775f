"""Memory of the engine: idle, and after 200 jobs, when nothing of them may be left but their records."""

from __future__ import annotations

import subprocess
import time

from bench.engine.rig import engine, engine_memory_mib

JOBS = 200


def main() -> None:
    with engine() as (env, work):
        (work / "true.sh").write_text("#!/bin/sh\n#SBATCH -o /dev/null\ntrue\n")
        before = engine_memory_mib(env)
        for _ in range(JOBS):
            subprocess.run(["sbatch", "true.sh"], env=env, cwd=work, check=True, stdout=subprocess.DEVNULL)
        while subprocess.run(["squeue", "-h"], env=env, check=True, capture_output=True).stdout:
            time.sleep(0.1)
        after = engine_memory_mib(env)
    print(f"memory of the engine (PSS of its processes): idle {before:.0f} MiB, after {JOBS} jobs {after:.0f} MiB")
