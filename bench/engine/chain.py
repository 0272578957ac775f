"""A chain of jobs, each waiting for the one before (`-W depend=afterok:`), beside as many that wait for nothing."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

from bench.engine.rig import Jobs, engine, engine_cpu_s
from bench.moments import moments
from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.client.listing import find
from hpcbatch.model.state import JobState
from tests.waiting import wait_for

LENGTHS = (10, 50, 200)
_LIMIT_S = 1800


def main(most: int = LENGTHS[-1]) -> None:
    print("jobs of one core, `true`, on one core, from the first start to the last end:")
    print(f"  {'jobs':>6} {'in a chain':^40} {'independent':^40}")
    for length in LENGTHS:
        if length <= most:
            chained, free = _measure(length, _submit_chain), _measure(length, _submit_free)
            print(f"  {length:6}{_shown(*chained, length)}{_shown(*free, length)}   {chained[0] / free[0]:.2f} x")


def _shown(spent_s: float, engine_s: float, length: int) -> str:
    return f"{spent_s:7.1f} s {spent_s / length * 1000:5.0f} ms a job, CPU {engine_s / length * 1000:5.1f} ms"


def _measure(length: int, submit: Callable[[Jobs, int], None]) -> tuple[float, float]:
    """Seconds from the first start to the last end, and CPU seconds of the engine from the submission on. All are
    submitted while another job has the core.
    """
    with engine(nodes=1, cpus=1) as (env, work):
        jobs = Jobs(env, work)
        blocker = jobs.submit(jobs.submission(script="exec sleep 100000"))
        wait_for("the first job's start", lambda: find(jobs.api, jobs.namespace, blocker).state is JobState.RUNNING, 60)
        with moments(jobs.api, jobs.namespace, BATCHJOBS) as seen:
            cpu_before = engine_cpu_s(env)
            submit(jobs, length)
            subprocess.run(["qdel", str(blocker)], env=env, check=True)
            last = seen.wait(length, _LIMIT_S)
            return last - seen.first_start(), engine_cpu_s(env) - cpu_before


def _submit_free(jobs: Jobs, length: int) -> None:
    jobs.submit_many(jobs.submission(), length)


def _submit_chain(jobs: Jobs, length: int) -> None:
    last = jobs.submit(jobs.submission())
    for _ in range(length - 1):
        last = jobs.submit(jobs.submission("-W", f"depend=afterok:{last}"))
