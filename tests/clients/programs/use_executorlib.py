"""executorlib: functions in jobs, which pysqa submits and watches."""

import json

from executorlib import SlurmClusterExecutor


def double(number):
    return 2 * number


def fail():
    raise ValueError("on purpose")


resources = {"partition": "default", "cores": 1, "run_time_max": 120}
with SlurmClusterExecutor(resource_dict=resources, cache_directory="cache", block_allocation=False) as executor:
    futures = [executor.submit(double, number) for number in range(3)]
    error = executor.submit(fail)
    found = {"results": [future.result(timeout=120) for future in futures]}
    found["error"] = str(error.exception(timeout=120))
print(json.dumps(found))
