"""Galaxy's plugins for command lines, as Pulsar has them: jobs that end well, fail, run and are deleted."""

import json
import sys
import time

from pulsar.managers.util.cli import CliInterface

kind = sys.argv[1]
shell, plugin = CliInterface().get_plugins({"plugin": "LocalShell"}, {"plugin": kind})


def submit(name, command):
    headers = plugin.job_script_kwargs(f"{name}.out", f"{name}.err", name)["headers"]
    with open(f"{name}.sh", "w") as script:
        script.write(f"#!/bin/sh\n{headers}\n{command}\n")
    done = shell.execute(plugin.submit(f"{name}.sh"))
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[-1]


def state(job):
    return plugin.parse_single_status(shell.execute(plugin.get_single_status(job)).stdout, job)


jobs = [submit("good", "echo hello"), submit("bad", "exit 3"), submit("long", "sleep 300")]
until, states = time.monotonic() + 90, []
while states != ["complete", "complete", "running"] and time.monotonic() < until:
    states = [str(state(job).value) for job in jobs]
    time.sleep(0.5)
many = plugin.parse_status(shell.execute(plugin.get_status(jobs)).stdout, jobs) if kind == "Slurm" else {jobs[2]: None}
deleted = shell.execute(plugin.delete(jobs[2])).returncode
while state(jobs[2]).value == "running" and time.monotonic() < until:
    time.sleep(0.5)
found = {"states": states, "listed": jobs[2] in many, "deleted": deleted, "end": str(state(jobs[2]).value)}
print(json.dumps({**found, "said": open("good.out").read()}))
