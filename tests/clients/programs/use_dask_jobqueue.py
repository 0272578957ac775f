"""Dask-jobqueue: a cluster of workers in jobs of SLURM, PBS or LSF, work on it, and its end."""

import json
import subprocess
import sys

from dask.distributed import Client
from dask_jobqueue import LSFCluster, PBSCluster, SLURMCluster

kind = {"slurm": SLURMCluster, "pbs": PBSCluster, "lsf": LSFCluster}[sys.argv[1]]
queue = {"slurm": ["squeue", "-h"], "pbs": ["qstat"], "lsf": ["bjobs", "-noheader"]}[sys.argv[1]]
limit = "00:05" if sys.argv[1] == "lsf" else "00:05:00"
with kind(queue="default", cores=1, processes=1, memory="500MB", walltime=limit, log_directory="log") as cluster:
    cluster.scale(jobs=2)
    with Client(cluster) as client:
        client.wait_for_workers(2, timeout=90)
        total = client.gather(client.submit(sum, client.map(lambda x: x * x, range(10))))
        listed = len(subprocess.run(queue, capture_output=True, text=True, check=True).stdout.strip().splitlines())
        cluster.scale(jobs=0)
print(json.dumps({"total": total, "listed": listed}))
