"""Many jobs on many nodes that kwok plays: what a job costs when it is one of the first, and one of the last."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from bench.cluster.processes import cpu_of_all, memory_mib
from bench.cluster.rig import Cluster
from bench.cluster.throughput import QSUB
from bench.moments import moments
from hpcbatch.api.resources import BATCHJOBS
from tests.cluster import controllers
from tests.cluster.kwok import virtual_nodes

JOBS, NODES, ROUND = 5000, 1000, 500
_CPUS = 4  # more than a real node of this cluster has
_SUBMITTERS = 2
_LIMIT_S = 3600


class Round(NamedTuple):
    jobs: int
    submitted_s: float
    """Until the last of its jobs was admitted."""
    whole_s: float
    """Until the last of them had ended."""
    cpu_s: Mapping[str, float]
    """Of each process, from the first job's submission to the last one's end."""
    memory_mib: float
    """Of the controller, at the end."""


def main(cluster: Cluster, jobs: int = JOBS, nodes: int = NODES, per_round: int = ROUND) -> None:
    """Round by round: the next one begins when the one before has ended; the records of all stay."""
    controller = controllers.process(controllers.wait_for_leader())
    idle_mib = memory_mib(controller)
    with virtual_nodes(nodes):
        rounds = []
        print(f"{jobs} jobs in rounds of {per_round} on {nodes} virtual nodes; the controller had {idle_mib:.0f} MiB:")
        print("    records  submitted  jobs/s   ended  jobs/s   controller's CPU   memory", flush=True)
        for begin in range(0, jobs, per_round):
            one = _round(cluster, controller, min(per_round, jobs - begin))
            rounds.append(one)
            print(
                f"  {begin + one.jobs:9} {one.submitted_s:8.1f} s {one.jobs / one.submitted_s:7.1f}"
                f" {one.whole_s:6.1f} s {one.jobs / one.whole_s:6.1f}"
                f" {_ms_a_job(one, 'hpcbatch-controller'):9.1f} ms a job {one.memory_mib:6.0f} MiB",
                flush=True,
            )
    first, last = rounds[0], rounds[-1]
    print("CPU a job, in ms: in the first round, in the last, growth")
    for name in first.cpu_s:
        before, after = _ms_a_job(first, name), _ms_a_job(last, name)
        print(f"  {name:24} {before:7.1f} {after:7.1f}   {after / before if before else 0:.2f} x")
    records = sum(one.jobs for one in rounds)
    grown_kib = (last.memory_mib - idle_mib) * 1024
    print(f"the controller's memory has grown by {grown_kib / records:.1f} KiB for each of {records} records")


def _ms_a_job(one: Round, process: str) -> float:
    return one.cpu_s[process] / one.jobs * 1000


def _round(cluster: Cluster, controller: int, jobs: int) -> Round:
    options = (*QSUB[:-1], f"select=1:ncpus={_CPUS}", "true.pbs")
    submission = cluster.submission(*options)
    with moments(cluster.api, cluster.site.namespace, BATCHJOBS) as seen:
        before, began = cpu_of_all(controller), time.perf_counter()
        with ThreadPoolExecutor(_SUBMITTERS) as pool:
            for _ in pool.map(cluster.submit, [submission] * jobs):
                pass
        submitted_s = time.perf_counter() - began
        whole_s = seen.wait(jobs, _LIMIT_S) - began
        after = cpu_of_all(controller)
    spent = {name: after[name] - before[name] for name in after}
    return Round(jobs, submitted_s, whole_s, spent, memory_mib(controller))
