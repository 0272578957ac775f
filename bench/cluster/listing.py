"""How long a list of many jobs takes: `qstat` and `squeue` of held jobs, `kubectl get vj` of Volcano Jobs that wait.
`qstat -f` is whole records, as `kubectl get -o yaml` is.
"""

from __future__ import annotations

from functools import partial

from bench.cluster.made import Made
from bench.cluster.rig import RAW, Cluster, as_list, plainest
from bench.cluster.throughput import QSUB
from bench.timing import compare
from hpcbatch.api.resources import BATCHJOBS, VOLCANO_JOBS
from tests.waiting import wait_for

JOBS = 1000
ROUNDS = 11
_TOO_MUCH = "10000"
"""CPUs: Volcano keeps such a job Pending and makes no pods for it."""


def main(cluster: Cluster, jobs: int = JOBS) -> None:
    image = Made(cluster, (*QSUB, "true.pbs"), "").image
    held = cluster.submission(*QSUB, "-h", "true.pbs")
    for _ in range(jobs):
        cluster.submit(held)
    cluster.kubectl("create", "-f", "-", stdin=as_list([plainest(image, _TOO_MUCH)] * jobs))
    wait_for("the Volcano Jobs' first status", lambda: _has_status(cluster, jobs), 600)
    site, namespace = cluster.site, cluster.site.namespace
    times = compare(
        {
            "kubectl get vj": partial(cluster.kubectl, "get", "vj"),
            "kubectl get batchjobs": partial(cluster.kubectl, "--namespace", namespace, "get", "batchjobs"),
            "the same -o yaml": partial(cluster.kubectl, "--namespace", namespace, "get", "batchjobs", "-o", "yaml"),
            "qstat": partial(site.run, "qstat"),
            "squeue": partial(site.run, "squeue"),
            "squeue -l": partial(site.run, "squeue", "-l"),
            "qstat -f": partial(site.run, "qstat", "-f"),
        },
        ROUNDS,
    )
    listed = len(cluster.api.list(BATCHJOBS, namespace).items)
    print(f"lists of {listed} BatchJobs and {jobs} Volcano Jobs, median of {ROUNDS}, whole process:")
    for name, spent in times.items():
        print(f"  {name:24} {spent * 1000:6.0f} ms   {spent / times['kubectl get vj']:.2f} x kubectl get vj")


def _has_status(cluster: Cluster, jobs: int) -> bool:
    found = cluster.api.list(VOLCANO_JOBS, RAW).items
    return len(found) == jobs and all("status" in job for job in found)
