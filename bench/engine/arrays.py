"""Arrays: what submitting one costs, however many members it has, and how many members a second run."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from bench.engine.rig import Jobs, bare_job, engine, engine_cpu_s, pods_cpu_s
from bench.moments import moments
from bench.timing import compare
from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS, VOLCANO_JOBS, Resource

MEMBERS = (3, 1000, 100_000)
RUNNING = (30, 300)
ROUNDS = 21
_TOO_MUCH = 10_000
"""CPUs: such a Volcano Job waits for ever."""
_LIMIT_S = 1800


def main(most: int = MEMBERS[-1]) -> None:
    with engine() as (env, work):
        (work / "true.sh").write_text("#!/bin/sh\ntrue\n")
        _submit(env, work, [members for members in MEMBERS if members <= most] or [MEMBERS[0]])
    print("`true` jobs of one core, an array and in other ways, over 6 cores, from the submission to the last end:")
    for members in RUNNING:
        if members <= most:
            with engine() as (env, work):
                _run(env, work, members)


def _submit(env: Mapping[str, str], work: Path, sizes: list[int]) -> None:
    waiting = work / "waiting.json"
    waiting.write_text(json.dumps(bare_job(cpus=_TOO_MUCH)))
    commands = {"kubectl create, one Volcano Job": ["kubectl", "create", "-f", str(waiting)]}
    for members in sizes:
        commands[f"qsub -J, {members} members"] = ["qsub", "-h", "-J", f"0-{members - 1}", "true.sh"]
    for members in sizes:
        commands[f"sbatch --array, {members} members"] = ["sbatch", "--hold", f"--array=0-{members - 1}", "true.sh"]
    run = partial(subprocess.run, env=env, cwd=work, check=True, stdout=subprocess.DEVNULL)
    times = compare({name: partial(run, argv) for name, argv in commands.items()}, ROUNDS)
    kubectl = times["kubectl create, one Volcano Job"]
    print(f"submitting a held array, median of {ROUNDS}, whole process:")
    for name, spent in times.items():
        print(f"  {name:38} {spent * 1000:6.0f} ms   {spent / kubectl:.2f} x kubectl create")
    for command in ("qsub -J", "sbatch --array"):
        growth = times[f"{command}, {sizes[-1]} members"] / times[f"{command}, {sizes[0]} members"]
        print(f"  {command}: {sizes[-1]} members cost {growth:.2f} x what {sizes[0]} do")
    api = Jobs(env, work).api
    records = [obj for obj in api.list(BATCHJOBS).items if obj["spec"].get("array")]
    bytes_of = sorted(len(json.dumps(obj)) for obj in records)
    print(f"  a record has {bytes_of[0]} to {bytes_of[-1]} bytes")


def _run(env: Mapping[str, str], work: Path, members: int) -> None:
    """Each kind has ended before the next begins."""
    (work / "job.pbs").write_text("#!/bin/sh\n#PBS -j oe -o /dev/null\ntrue\n")
    listed: Object = {"apiVersion": "v1", "kind": "List", "items": [bare_job()] * members}
    (work / "job.sh").write_text("#!/bin/sh\n#SBATCH -o /dev/null\ntrue\n")
    (work / "bare.json").write_text(json.dumps(listed))
    jobs = Jobs(env, work)
    run = partial(subprocess.run, env=env, cwd=work, check=True, stdout=subprocess.DEVNULL)
    spent = {
        # the array's own record ends last; Slurm's jobs run no login shell, whose profile is the user's
        "sbatch --array": _timed(
            jobs, members + 1, BATCHJOBS, partial(run, ["sbatch", f"--array=0-{members - 1}", "job.sh"])
        ),
        "qsub -J": _timed(jobs, members + 1, BATCHJOBS, partial(run, ["qsub", "-J", f"0-{members - 1}", "job.pbs"])),
        "single, by a program": _timed(jobs, members, BATCHJOBS, partial(jobs.submit_many, jobs.submission(), members)),
        "bare Volcano Jobs": _timed(
            jobs, members, VOLCANO_JOBS, partial(run, ["kubectl", "create", "-f", "bare.json"])
        ),
    }
    for name, (whole_s, engine_s, pods_s) in spent.items():
        print(
            f"  {members:6} {name:22} {whole_s:7.1f} s  {members / whole_s:5.1f} a second"
            f"   CPU each: engine {engine_s / members * 1000:5.1f} ms, pods {pods_s / members * 1000:5.1f} ms"
        )


def _timed(jobs: Jobs, ends: int, kind: Resource, submit: Callable[[], object]) -> tuple[float, float, float]:
    """Seconds until so many objects of that kind have ended, and CPU seconds of the engine and of the pods."""
    with moments(jobs.api, jobs.namespace, kind) as seen:
        engine_before, pods_before, began = engine_cpu_s(jobs.env), pods_cpu_s(jobs.env), time.perf_counter()
        submit()
        whole_s = seen.wait(ends, _LIMIT_S) - began
        return whole_s, engine_cpu_s(jobs.env) - engine_before, pods_cpu_s(jobs.env) - pods_before
