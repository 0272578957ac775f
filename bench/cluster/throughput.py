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

JOBS, ROUNDS = 50, 4
OURS = "qsub, until qstat would say so"
LIMIT_S = 1800
SCRIPT = "#!/bin/sh\ntrue\n"
QSUB = ("-j", "oe", "-o", "/dev/null", "-l", "select=1:ncpus=1")


def main(cluster: Cluster, jobs: int = JOBS) -> None:
    made = Made(cluster, (*QSUB, "true.pbs"), SCRIPT)
    user, site = cluster.site.namespace, cluster.site
    site.script("true.pbs", SCRIPT)
    bare = site.script("bare.json", json.dumps(plainest(made.image)))
    names = [f"same-{n}" for n in range(ROUNDS * jobs)]
    same = iter([site.script(f"{name}.json", as_list(made.objects(name))) for name in names])
    kinds: dict[str, tuple[Callable[[], object], str, Resource]] = {
        OURS: (lambda: site.run("qsub", *QSUB, "true.pbs"), user, BATCHJOBS),
        "kubectl create, plainest Volcano Job": (lambda: cluster.kubectl("create", "-f", bare), RAW, VOLCANO_JOBS),
        "kubectl create, what hpcbatch makes": (lambda: kubectl("create", "-f", next(same)), user, VOLCANO_JOBS),
    }
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
    for number in range(ROUNDS):  # there and back: a machine may compute a quarter faster in the next minute
        for name in reversed(kinds) if number % 2 else kinds:
            spent[name].append(run(cluster, jobs, *kinds[name]))
    Made.remove(cluster)  # not before: Kubernetes would still be removing them while the next run is timed
    print(f"{jobs} `true` jobs of one core, submitted one after the other, until the last has ended; {ROUNDS} rounds:")
    ours_s = [whole_s for _, whole_s in spent[OURS]]
    for name, found in spent.items():
        submitted_s, whole_s = (sum(each) / ROUNDS for each in zip(*found, strict=True))
        rounds = ", ".join(f"{our_s / one_s:.2f}" for our_s, (_, one_s) in zip(ours_s, found, strict=True))
        figures = f"{whole_s:6.1f} s  {jobs / whole_s:5.2f} jobs/s   submitted in {submitted_s:5.1f} s"
        print(f"  {name:38} {figures}   qsub takes {sum(ours_s) / ROUNDS / whole_s:.2f} x that ({rounds})")


def run(
    cluster: Cluster, jobs: int, submit: Callable[[], object], namespace: str, ends_of: Resource
) -> tuple[float, float]:
    """Seconds until the last was submitted, and until the last had ended."""
    with moments(cluster.api, namespace, ends_of) as seen:
        began = time.perf_counter()
        for _ in range(jobs):
            submit()
        submitted_s = time.perf_counter() - began
        return submitted_s, seen.wait(jobs, LIMIT_S) - began
