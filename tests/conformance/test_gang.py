"""A gang starts whole or not at all; what fits passes what does not."""

from __future__ import annotations

import pytest

from tests.conformance.site import Site
from tests.waiting import wait_for

pytestmark = pytest.mark.alone

SPAN = "for h in $(sort -u $PBS_NODEFILE); do ssh $h hostname; done; date +%s%N >>{f}; sleep 1; date +%s%N >>{f}\n"


def test_two_gangs_with_room_for_one_run_one_after_the_other(site: Site) -> None:
    jobs = [
        site.qsub("-l", "select=3:ncpus=2", "-N", name, "-j", "oe", stdin=SPAN.format(f=site.work / name))
        for name in ("one", "two")
    ]
    for job, name in zip(jobs, ("one", "two"), strict=True):
        record = site.wait_end(job)
        assert record["Exit_status"] == 0, site.read(f"{name}.o{job}")
        assert len(set(site.read(f"{name}.o{job}").split())) == 3
    spans = [[int(word) for word in site.read(name).split()] for name in ("one", "two")]
    assert spans[0][1] < spans[1][0], f"the gangs interleaved: {spans}"


def test_a_job_larger_than_the_cluster_waits_with_its_reason_and_others_pass(site: Site) -> None:
    large = site.qsub("-l", "select=5:ncpus=2", "-N", "large", stdin="true\n")
    huge = site.sbatch("-c", "99", "-o", "/dev/null", "--wrap", "true")
    small = site.qsub("-N", "small", "-j", "oe", stdin="true\n")
    assert site.wait_end(small)["Exit_status"] == 0
    assert site.state(large) == "Q"
    wait_for("the reason", lambda: "Can Never Run: Insufficient" in site.run("qstat", "-s", large).stdout)
    shown = site.run("qstat", "-s", large).stdout
    assert "Can Never Run: Insufficient amount of resource: ncpus (R: 10 A: " in shown
    assert "(PartitionConfig)" in site.run("squeue", "-h", "-j", huge, "-o", "%R").stdout
    site.run("qdel", large)
    site.run("scancel", huge)
    site.wait_end(large)
    site.wait_end(huge)


def test_waiting_for_room_shows_resources(site: Site) -> None:
    first = site.sbatch("-N", "3", "--ntasks-per-node=2", "-o", "/dev/null", "--wrap", "sleep 600")
    site.wait_state(first, "R")
    second = site.sbatch("-N", "3", "-o", "/dev/null", "--wrap", "true")
    wait_for("the reason", lambda: site.run("squeue", "-h", "-j", second, "-o", "%t %R").stdout == "PD (Resources)\n")
    assert site.kubectl("get", "pods", "-l", f"hpcbatch.io/job-id={second}", "-o", "name").stdout == ""
    site.run("scancel", first)
    site.wait_end(second)


@pytest.mark.slow
def test_priority_orders_what_waits(site: Site) -> None:
    first = site.sbatch("-N", "3", "--ntasks-per-node=2", "-o", "/dev/null", "--wrap", "sleep 600")
    site.wait_state(first, "R")
    names = {"low": ["-p", "-500"], "common": [], "high": ["-p", "900"]}
    jobs = [
        site.qsub(
            *options, "-l", "select=3:ncpus=2", "-N", name, "-j", "oe", stdin=f"echo {name} >>{site.work}/order\n"
        )
        for name, options in names.items()
    ]
    site.run("scancel", first)
    for job in jobs:
        site.wait_end(job)
    assert site.read("order").split() == ["high", "common", "low"]
