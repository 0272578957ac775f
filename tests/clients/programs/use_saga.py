"""RADICAL-SAGA: jobs that end well, fail, and are cancelled."""

import json
import os
import sys
import time

import radical.saga as rs

service = rs.job.Service(f"{sys.argv[1]}://localhost")


def job(*argv):
    wanted = rs.job.Description()
    wanted.executable, wanted.arguments = argv[0], list(argv[1:])
    wanted.queue, wanted.wall_time_limit, wanted.total_cpu_count = "default", 2, 1
    wanted.working_directory, wanted.output = os.getcwd(), f"{argv[0][5:]}.out"
    return service.create_job(wanted)


jobs = [job("/bin/echo", "hello"), job("/bin/false"), job("/bin/sleep", "300")]
for each in jobs:
    each.run()
for each in jobs[:2]:
    each.wait(100)
until = time.monotonic() + 60
while jobs[2].state == rs.job.PENDING and time.monotonic() < until:
    time.sleep(0.5)
jobs[2].cancel()
print(json.dumps({"states": [each.state for each in jobs], "said": open("echo.out").read().strip()}), flush=True)
os._exit(0)  # its threads do not end
