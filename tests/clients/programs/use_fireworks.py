"""FireWorks: the adapter of its queue launcher, which counts the jobs of a user."""

import json
import sys

from fireworks.user_objects.queue_adapters.common_adapter import CommonAdapter

kind = sys.argv[1]
common = {"queue": "default", "walltime": "00:05:00", "job_name": "fw", "launch_dir": "."}
common |= {"nodes": 1, "ntasks": 1, "mem": "100M"} if kind == "SLURM" else {"nnodes": 1, "ppnode": 1}
ids = []
for command in ("true", "exit 3", "sleep 300"):
    adapter = CommonAdapter(kind, rocket_launch=command, timeout=60, **common)
    with open("submit.sh", "w") as script:
        script.write(adapter.get_script_str("."))
    ids.append(adapter.submit_to_queue("submit.sh"))
print(json.dumps({"ids": ids, "queued": adapter.get_njobs_in_queue()}))
