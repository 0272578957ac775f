"""PSI/J: jobs that end well, fail, and are cancelled."""

import json
import sys
from datetime import timedelta
from pathlib import Path

from psij import Job, JobAttributes, JobExecutor, JobSpec, JobState, JobStatus, ResourceSpecV1


def job(*argv):
    spec = JobSpec(
        executable=argv[0],
        arguments=list(argv[1:]),
        stdout_path=Path.cwd() / "out",
        directory=Path.cwd(),
        attributes=JobAttributes(duration=timedelta(minutes=2), queue_name="default"),
        resources=ResourceSpecV1(node_count=1, processes_per_node=1, cpu_cores_per_process=1),
        launcher="single",
    )
    return Job(spec)


executor = JobExecutor.get_instance(sys.argv[1])
good, bad, long = job("/bin/echo", "hello"), job("/bin/sh", "-c", "exit 3"), job("/bin/sleep", "300")
for each in (good, bad, long):
    executor.submit(each)
long.wait(timedelta(seconds=100), target_states=[JobState.ACTIVE])
for each in (good, bad):
    each.wait(timedelta(seconds=100))
long.cancel()
states = {}
for name, each in (("good", good), ("bad", bad), ("long", long)):
    status: JobStatus = each.wait(timedelta(seconds=100))
    states[name] = [str(status.state).rpartition(".")[2], status.exit_code] if status else None
print(json.dumps({**states, "ids": [each.native_id is not None for each in (good, bad, long)]}))
