"""simple-slurm: an array, a job that fails, one that is seen in the queue and cancelled, a step by srun."""

import json
import time

from simple_slurm import Slurm

common = {"time": "00:05:00", "mem": "100M"}
array = Slurm(
    job_name="array", array=range(1, 4), output=f"{Slurm.JOB_ARRAY_MASTER_ID}_{Slurm.JOB_ARRAY_ID}.out", **common
)
ids = [array.sbatch("echo member $SLURM_ARRAY_TASK_ID")]
ids.append(Slurm(job_name="bad", dependency={"afterany": ids[0]}, **common).sbatch("exit 3"))
long = Slurm(job_name="long", **common)
ids.append(long.sbatch("sleep 300"))
until, shown = time.monotonic() + 90, {}
while shown.get("ST") != "R" and time.monotonic() < until:
    long.squeue.update_squeue()
    shown = long.squeue.jobs.get(ids[2], {})
    time.sleep(0.5)
long.scancel.cancel_job(ids[2])
print(json.dumps({"ids": ids, "shown": shown, "srun": Slurm(**common).srun("true")}))
