"""Lists of 10,000 jobs of twenty users behind a real kube-apiserver: what `qstat` and `squeue` take beside kubectl."""

from __future__ import annotations

import os
import subprocess
import tempfile
from functools import partial
from pathlib import Path

from bench.controller.etcd import Etcd, fill, installed, like
from bench.controller.rig import HPCBATCH
from bench.timing import compare
from hpcbatch.api import kubeconfig
from hpcbatch.api.client import HttpApi
from hpcbatch.api.resources import BATCHJOBS
from tests.cluster.binaries import KUBERNETES
from tests.kube_api import ADMIN, kube_api, program
from tests.waiting import wait_for

JOBS, ROUNDS = 10_000, 7
_OURS = ("qstat", "squeue", "squeue -l", "bjobs -u all")
_KUBECTL = "kubectl get batchjobs -A"


def main(jobs: int = JOBS) -> None:
    ended = like()
    with tempfile.TemporaryDirectory(prefix="hpcbatch-bench-") as directory, kube_api(Path(directory), ()) as api:
        record = installed(api, ended, jobs)
        record["status"] |= {"state": "Queued"}
        fill(Etcd(api.etcd_url), record, 0, jobs)
        env = {**os.environ, "KUBECONFIG": str(api.kubeconfig(ADMIN)), "HOME": directory}
        client = HttpApi(kubeconfig.load(env))
        wait_for(f"{jobs} jobs", lambda: client.count(BATCHJOBS) == jobs, 300)
        programs = {_KUBECTL: [str(program(KUBERNETES, "kubectl")), "get", "batchjobs", "-A"]}
        programs |= {name: [str(Path(HPCBATCH).with_name(name.split()[0])), *name.split()[1:]] for name in _OURS}
        run = partial(subprocess.run, env=env, check=True, stdout=subprocess.DEVNULL)
        times = compare({name: partial(run, argv) for name, argv in programs.items()}, ROUNDS)
    print(f"lists of {jobs} jobs, median of {ROUNDS}, whole process:")
    for name, spent in times.items():
        print(f"  {name:24} {spent * 1000:6.0f} ms   {spent / times[_KUBECTL]:.2f} x kubectl get")
