"""How long one job takes on an idle cluster: from the submit command's start to its container's, and to its end."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from functools import partial

from bench.cluster.made import Made
from bench.cluster.rig import RAW, Cluster, as_list, plainest
from bench.cluster.throughput import QSUB, SCRIPT
from bench.moments import moments
from hpcbatch.api.resources import BATCHJOBS, VOLCANO_JOBS, Resource
from tests.cluster.state import kubectl

ROUNDS = 9
LIMIT_S = 120


def main(cluster: Cluster, jobs: int = ROUNDS) -> None:
    """`jobs` of each kind, in turns; the first turn warms up and is not counted."""
    made = Made(cluster, (*QSUB, "true.pbs"), SCRIPT)
    user, site = cluster.site.namespace, cluster.site
    site.script("true.pbs", SCRIPT)
    bare = site.script("bare.json", json.dumps(plainest(made.image)))
    same = [site.script(f"one-{n}.json", as_list(made.objects(f"one-{n}"))) for n in range(jobs + 1)]
    kinds: dict[str, tuple[Callable[[int], object], str, Resource]] = {
        "qsub": (lambda _: site.run("qsub", *QSUB, "true.pbs"), user, BATCHJOBS),
        "kubectl create, plainest Volcano Job": (lambda _: cluster.kubectl("create", "-f", bare), RAW, VOLCANO_JOBS),
        "kubectl create, what hpcbatch makes": (lambda n: kubectl("create", "-f", same[n]), user, VOLCANO_JOBS),
    }
    times: dict[str, list[tuple[float, float, float]]] = {name: [] for name in kinds}
    for turn in range(jobs + 1):
        for name, (submit, namespace, ends_of) in kinds.items():
            one = _one(cluster, partial(submit, turn), namespace, ends_of)
            if turn:
                times[name].append(one)
    Made.remove(cluster)
    print(f"one `true` job on an idle cluster, median of {jobs} (least, most), seconds since the command began:")
    for name, taken in times.items():
        figures = "".join(
            f"   {what} {statistics.median(spent):5.2f} ({min(spent):.2f}, {max(spent):.2f})"
            for what, spent in zip(("command's end", "start", "end"), zip(*taken, strict=True), strict=True)
        )
        print(f"  {name:38}{figures}")


def _one(
    cluster: Cluster, submit: Callable[[], object], namespace: str, ends_of: Resource
) -> tuple[float, float, float]:
    """Seconds until the command has ended, the container has started, the job has ended."""
    with moments(cluster.api, namespace, ends_of) as seen:
        began = time.perf_counter()
        submit()
        submitted = time.perf_counter()
        ended = seen.wait(1, LIMIT_S)
        return submitted - began, seen.first_start() - began, ended - began
