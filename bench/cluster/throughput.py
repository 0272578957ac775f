"""Jobs per second: one-core `true` jobs through `qsub`, and the same as Volcano Jobs of which nobody keeps a record."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from bench.cluster.made import Made
from bench.cluster.rig import RAW, Cluster, as_list, plainest
from bench.moments import moments
from hpcbatch.api.resources import BATCHJOBS, VOLCANO_JOBS, Resource
from tests.cluster.state import kubectl

JOBS = 100
LIMIT_S = 1800
SCRIPT = "#!/bin/sh\ntrue\n"
QSUB = ("-j", "oe", "-o", "/dev/null", "-l", "select=1:ncpus=1")


def main(cluster: Cluster, jobs: int = JOBS) -> None:
    made = Made(cluster, (*QSUB, "true.pbs"), SCRIPT)
    user, site = cluster.site.namespace, cluster.site
    site.script("true.pbs", SCRIPT)
    bare = site.script("bare.json", json.dumps(plainest(made.image)))
    same = [site.script(f"same-{n}.json", as_list(made.objects(f"same-{n}"))) for n in range(jobs)]
    ours = run(cluster, jobs, lambda _: site.run("qsub", *QSUB, "true.pbs"), user, BATCHJOBS)
    plain = run(cluster, jobs, lambda _: cluster.kubectl("create", "-f", bare), RAW, VOLCANO_JOBS)
    equal = run(cluster, jobs, lambda n: kubectl("create", "-f", same[n]), user, VOLCANO_JOBS)
    Made.remove(cluster)
    print(f"{jobs} `true` jobs of one core, submitted one after the other, until the last has ended:")
    for name, (submitted_s, whole_s) in {
        "qsub, until qstat would say so": ours,
        "kubectl create, plainest Volcano Job": plain,
        "kubectl create, what hpcbatch makes": equal,
    }.items():
        figures = f"{whole_s:6.1f} s  {jobs / whole_s:5.2f} jobs/s   submitted in {submitted_s:5.1f} s"
        print(f"  {name:38} {figures}   qsub takes {ours[1] / whole_s:.2f} x that")


def run(
    cluster: Cluster, jobs: int, submit: Callable[[int], object], namespace: str, ends_of: Resource
) -> tuple[float, float]:
    """Seconds until the last was submitted, and until the last had ended."""
    with moments(cluster.api, namespace, ends_of) as seen:
        began = time.perf_counter()
        for number in range(jobs):
            submit(number)
        submitted_s = time.perf_counter() - began
        return submitted_s, seen.wait(jobs, LIMIT_S) - began
