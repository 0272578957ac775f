"""JupyterHub's batchspawner: what its spawners run to start, watch and stop a user's server."""

import asyncio
import json
import os
import pwd
import sys

import batchspawner
from traitlets.config import Config

KINDS = {"slurm": batchspawner.SlurmSpawner, "pbs": batchspawner.PBSSpawner}


async def main():
    me = pwd.getpwuid(os.getuid())
    spawner = KINDS[sys.argv[1]](
        config=Config(),
        exec_prefix="",
        req_partition="default",
        req_queue="default",
        req_username=me.pw_name,
        req_homedir=me.pw_dir,
        req_keepvars="",
    )
    spawner.batch_script = "#!/bin/sh\nsleep 300\n"
    spawner.get_env = lambda: dict(os.environ)
    spawner.cmd_formatted_for_batch = lambda: ""
    spawner._get_batch_script = lambda **_: asyncio.sleep(0, spawner.batch_script)
    await spawner.submit_batch_script()
    seen = set()
    for _ in range(200):
        status = await spawner.query_job_status()
        seen.add(status.name)
        if status is batchspawner.JobStatus.RUNNING:
            break
        await asyncio.sleep(0.3)
    host = spawner.state_gethost()
    await spawner.cancel_batch_job()
    for _ in range(200):
        if (await spawner.query_job_status()) not in (batchspawner.JobStatus.RUNNING, batchspawner.JobStatus.PENDING):
            break
        await asyncio.sleep(0.3)
    print(json.dumps({"id": spawner.job_id, "host": host, "seen": sorted(seen), "end": spawner.job_status}))


asyncio.run(main())
