"""Parsl: a pilot job by Slurm-, PBSPro- or LSFProvider, functions and a failing one in it, and its end."""

import json
import sys

import parsl
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.launchers import SimpleLauncher
from parsl.providers import LSFProvider, PBSProProvider, SlurmProvider

common = {"walltime": "00:05:00", "init_blocks": 1, "max_blocks": 1, "launcher": SimpleLauncher()}
init = f"export PATH={sys.prefix}/bin:$PATH"
if sys.argv[1] == "slurm":
    provider = SlurmProvider(partition="default", exclusive=False, cores_per_node=1, worker_init=init, **common)
elif sys.argv[1] == "lsf":
    provider = LSFProvider(
        queue="default", cores_per_block=1, cores_per_node=1, request_by_nodes=False, worker_init=init, **common
    )
else:
    provider = PBSProProvider(queue="default", cpus_per_node=1, worker_init=init, **common)
executor = HighThroughputExecutor(
    label="jobs",
    provider=provider,
    address=sys.argv[2],
    max_workers_per_node=1,
    worker_debug=True,
    encrypted=False,
)


@parsl.python_app
def double(number):
    return 2 * number


@parsl.python_app
def fail():
    raise ValueError("on purpose")


with parsl.load(Config(executors=[executor], strategy="none")):
    results = [future.result(timeout=150) for future in [double(number) for number in range(4)]]
    error = fail().exception(timeout=60)
    states = [status.state.name for status in executor.status().values()]
print(json.dumps({"results": results, "error": str(error), "states": states}))
