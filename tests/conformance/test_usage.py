"""CPU time and memory of all pods of a job, while it runs and when it has ended."""

from __future__ import annotations

import pytest

from tests.conformance.site import Site
from tests.conformance.test_signals import record
from tests.waiting import wait_for

BUSY = """
cd "$1"
kept=$(head -c 60000000 /dev/zero | tr '\\0' x)
echo ${#kept} >"$2.kept"
used() { read -r line </proc/$$/stat; set -- ${line##*) }; used=$((${12} + ${13})); }
used
until [ $used -ge 250 ]; do i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; used; done
"""
JOB = """#!/bin/sh
for host in $(echo $SLURM_JOB_NODELIST | tr , ' '); do
  if [ $host = $(hostname) ]; then sh busy.sh "$PWD" master & else ssh $host "sh $PWD/busy.sh $PWD worker" & fi
done
wait
"""


@pytest.mark.slow
def test_usage_of_every_pod(site: Site) -> None:
    site.script("busy.sh", BUSY)
    job = site.sbatch("-N", "2", "--mem=500M", "-o", "out", stdin=JOB)
    ended = site.wait_end(job)
    assert ended["Exit_status"] == 0, site.read("out")
    status = record(site, job)["status"]
    hosts = status["usage"]
    assert [host["pod"] for host in hosts] == [f"job-{job}-mpimaster-0", f"job-{job}-mpiworker-0"]
    for host in hosts:
        assert 2 <= host["cpuSeconds"] <= 8, hosts
        assert 50_000_000 < host["maxRssBytes"] < 500_000_000, hosts
    assert status["cpuUsedSeconds"] == sum(host["cpuSeconds"] for host in hosts)
    assert status["maxRssBytes"] == sum(host["maxRssBytes"] for host in hosts)
    assert ended["resources_used"]["cput"] > "00:00:03"


@pytest.mark.slow
def test_usage_of_a_running_job(site: Site) -> None:
    """Of all its pods: what each has used so far, within some seconds."""
    site.script("busy.sh", BUSY + "sleep 120\n")
    job = site.sbatch("-N", "2", "--mem=500M", "-o", "out", stdin=JOB)

    def is_told() -> bool:
        used = site.attributes(job).get("resources_used", {})
        return used.get("cput", "") >= "00:00:04" and int(used["mem"].removesuffix("kb")) > 2 * 50_000

    wait_for("CPU time and memory of both pods", is_told, 90)
    assert len(record(site, job)["status"]["usage"]) == 2
    steps = site.run("sacct", "-n", "-P", "-j", job, "-o", "state,totalcpu,maxrss").stdout.splitlines()
    assert [line.split("|")[0] for line in steps] == ["RUNNING"] * 3
    assert steps[0].split("|")[1] >= "00:00:04" and all(line.split("|")[2] for line in steps[1:]), steps
    site.run("scancel", job)
    assert site.wait_end(job)["resources_used"]["cput"] >= "00:00:04"
