"""qtoolkit, by which jobflow-remote submits: jobs that end well, fail, run and are cancelled; an array of Slurm."""

import json
import sys
import time

from qtoolkit.core.data_objects import QResources
from qtoolkit.io import PBSIO, SlurmIO
from qtoolkit.manager import QueueManager

manager = QueueManager({"slurm": SlurmIO, "pbs": PBSIO}[sys.argv[1]]())


def submit(name, command, **more):
    wanted = QResources(
        queue_name="default",
        job_name=name,
        nodes=1,
        processes_per_node=1,
        threads_per_process=1,
        memory_per_thread=200,
        time_limit=300,
        output_filepath=f"{name}.out",
        error_filepath=f"{name}.err",
        **more,
    )
    done = manager.submit(command, options=wanted, script_fname=f"{name}.sh")
    assert done.job_id, done
    return done.job_id


def states(*jobs):
    found = {job.job_id: job.sub_state.value for job in manager.get_jobs_list(jobs=list(jobs))}
    return [found.get(job) for job in jobs]


jobs = [submit("good", "echo hello"), submit("bad", "exit 3"), submit("long", "sleep 300")]
# of PBS it takes no id of an array, `12[].server`, for one
array = [submit("array", "sleep 60", njobs=2)] if sys.argv[1] == "slurm" else []
until, running = time.monotonic() + 90, ()
while time.monotonic() < until:
    running = states(*jobs)
    if running[2] in {"R", "RUNNING"} and {running[0], running[1]} <= {None, "COMPLETED", "FAILED"}:
        break
    time.sleep(0.5)
job = manager.get_job(jobs[2])
users = [each.job_id for each in manager.get_jobs_list(user=sys.argv[2])]
cancelled = [manager.cancel(each).status.value for each in (jobs[2], *array)]
found = {"running": job.sub_state.value, "nodes": job.info.nodes, "limit": job.info.time_limit}
found |= {"users": len(users), "cancelled": cancelled, "said": open("good.out").read()}
print(json.dumps({**found, "ids": jobs}))
