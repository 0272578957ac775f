"""submitit: a function, one that fails, an array, one that is cancelled."""

import json
import time

import submitit


def power(base, exponent=2):
    return base**exponent


def fail():
    raise RuntimeError("on purpose")


executor = submitit.AutoExecutor(folder="log", cluster="slurm")
executor.update_parameters(timeout_min=2, slurm_partition="default", cpus_per_task=1, mem_gb=0.5, name="own")
good, bad, long = executor.submit(power, 7), executor.submit(fail), executor.submit(time.sleep, 300)
members = executor.map_array(power, [1, 2, 3], [2, 2, 3])


def wait_while(condition):
    until = time.monotonic() + 100
    while condition() and time.monotonic() < until:
        time.sleep(0.5)


wait_while(lambda: long.state != "RUNNING")
long.cancel()
found = {
    "result": good.result(),
    "error": str(bad.exception()),
    "array": [job.result() for job in members],
    "ids": [job.job_id.partition("_")[2] for job in members],
}
wait_while(lambda: long.state == "RUNNING")
submitit.SlurmJob.watcher.update()
print(json.dumps({**found, "states": [good.state, bad.state, long.state.partition(" ")[0]]}))
