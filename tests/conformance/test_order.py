"""qorder and qrun: who starts before whom."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.conformance.operator import as_operator
from tests.conformance.site import Site
from tests.waiting import wait_for


def says(site: Site, *argv: str) -> tuple[int, str]:
    done = site.run(*argv, check=False)
    return done.returncode, done.stdout + done.stderr


def held(site: Site, *options: str) -> str:
    return site.qsub("-h", "-o", "/dev/null", "-j", "oe", *options, stdin="true\n")


def test_two_jobs_change_places(site: Site) -> None:
    one, other = held(site), held(site)
    assert says(site, "qorder", one, other) == (0, "")
    assert places(site, one, other) == [int(other), int(one)]
    assert says(site, "qorder", f"{one}.{site.server}", other) == (0, "")
    assert places(site, one, other) == [int(one), int(other)]
    assert [site.attributes(job)["Priority"] for job in (one, other)] == [0, 0]
    low = held(site, "-p", "-7")
    assert says(site, "qorder", low, one) == (0, "")
    assert [site.attributes(job)["Priority"] for job in (low, one)] == [0, -7]


def places(site: Site, *jobs: str) -> list[int]:
    """Whose places they have."""
    found = site.kubectl("get", "batchjobs", "-o", "json").stdout
    status = [item.get("status", {}) for item in json.loads(found)["items"]]
    numbers = {each.get("jobId"): each.get("order", {}).get("number") for each in status}
    return [numbers[job] for job in jobs]


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("formula", ["", "ncpus", "eligible_time + 1000*ncpus"])
def test_the_other_starts_first(site: Site, formula: str) -> None:
    """And neither overtakes, nor is overtaken by, the one between them."""
    if formula:
        as_operator(site, "qmgr", "-c", f'set server job_sort_formula = "{formula}"')
        wait_for("it is in force", lambda: formula in site.run("qmgr", "-c", "list server").stdout)
    try:
        full = ("-l", "select=3:ncpus=2", "-l", "place=scatter", "-l", "walltime=20:00", "-o", "/dev/null", "-j", "oe")
        running = site.qsub(*full, stdin="sleep 600\n")
        site.wait_state(running, "R")
        jobs = []
        for name, cpus in (("wide", 2), ("between", 2), ("narrow", 1)):
            script = f"echo {name} >>{site.work}/order\nsleep 1\n"
            jobs.append(site.qsub(*(word.replace("ncpus=2", f"ncpus={cpus}") for word in full), stdin=script))
        wait_for("all are planned", lambda: all("estimated" in site.attributes(job) for job in jobs))
        assert says(site, "qorder", jobs[0], jobs[2]) == (0, "")
        site.run("qdel", running)
        for job in jobs:
            assert site.wait_end(job)["Exit_status"] == 0
        assert site.read("order").split() == ["narrow", "between", "wide"]
    finally:
        as_operator(site, "qmgr", "-c", "unset server job_sort_formula")


@pytest.mark.alone
@pytest.mark.slow
def test_an_array_takes_its_members_along(site: Site) -> None:
    full = ("-l", "select=3:ncpus=2", "-l", "place=scatter", "-l", "walltime=20:00", "-o", "/dev/null", "-j", "oe")
    running = site.qsub(*full, stdin="sleep 600\n")
    site.wait_state(running, "R")
    plain = site.qsub(*full, stdin=f"echo plain >>{site.work}/order\nsleep 1\n")
    script = f"echo $PBS_ARRAY_INDEX >>{site.work}/order\nsleep 1\n"
    array = site.run("qsub", "-J", "1-2", *full, stdin=script).stdout.strip()
    assert says(site, "qorder", plain, array) == (0, "")
    site.run("qdel", running)
    assert site.wait_end(plain)["Exit_status"] == 0
    assert site.read("order").split() == ["1", "2", "plain"]


def test_qorder_refuses(site: Site) -> None:
    job = held(site)
    both = f"{job}.{site.server} or 999999.{site.server}"
    assert says(site, "qorder", job, "999999") == (153, f"qorder: Unknown Job Id {both}\n")
    assert says(site, "qorder", job, "x") == (1, "qorder: illegally formed job identifier: x\n")
    assert says(site, "qorder", job)[0] == 2
    running = site.qsub("-o", "/dev/null", "-j", "oe", stdin="sleep 600\n")
    site.wait_state(running, "R")
    both = f"{running}.{site.server} or {job}.{site.server}"
    assert says(site, "qorder", running, job) == (168, f"qorder: Request invalid for state of job {both}\n")


@pytest.mark.slow
@pytest.mark.alone
def test_an_operator_starts_a_job_before_others(site: Site) -> None:
    full = ("-l", "select=3:ncpus=2", "-o", "/dev/null", "-j", "oe")
    running = site.qsub(*full, stdin="sleep 600\n")
    site.wait_state(running, "R")
    first = site.qsub(*full, stdin="sleep 600\n")
    second = site.qsub("-l", "select=3:ncpus=1", "-o", "/dev/null", "-j", "oe", stdin="sleep 600\n")
    refused = as_operator(site, "qrun", second, check=False)
    assert (refused.returncode, refused.stdout) == (2, ""), refused.stderr
    assert refused.stderr.startswith("qrun: Not Running")
    assert site.attributes(second)["Priority"] == 0
    with ThreadPoolExecutor(1) as pool:
        started = pool.submit(as_operator, site, "qrun", second)
        wait_for("its priority", lambda: site.attributes(second)["Priority"] == 1023)
        site.run("qdel", running)
        assert started.result().stderr == ""
    assert {site.state(second), site.state(first)} == {"R", "Q"}
    again = as_operator(site, "qrun", second, check=False)
    assert again.stderr == f"qrun: Request invalid for state of job {second}.{site.server}\n"


@pytest.mark.alone
def test_an_operator_says_where_a_job_runs(site: Site) -> None:
    nodes = site.run("sinfo", "-h", "-N", "-o", "%n").stdout.split()
    quiet = ("-l", "walltime=20:00", "-o", "/dev/null", "-j", "oe")
    running = site.qsub("-l", "select=3:ncpus=2", *quiet, stdin="sleep 600\n")
    site.wait_state(running, "R")
    job = site.qsub("-l", "select=2:ncpus=1", *quiet, stdin="sleep 600\n")
    unknown = as_operator(site, "qrun", "-H", "nosuch", job, check=False)
    assert (unknown.returncode, unknown.stderr) == (2, "qrun: Unknown node  nosuch\n")
    with ThreadPoolExecutor(1) as pool:
        started = pool.submit(as_operator, site, "qrun", "-H", f"{nodes[2]}+{nodes[0]}", job)
        wait_for("its priority", lambda: site.attributes(job)["Priority"] == 1023)
        site.run("qdel", running)
        assert started.result().stderr == ""
    hosts = [part.partition("/")[0] for part in site.attributes(job)["exec_host"].split("+")]
    assert hosts == [nodes[2], nodes[0]]
    site.run("qdel", job)
    site.wait_end(job)


def test_users_start_none(site: Site) -> None:
    if not site.admin_env:
        pytest.skip("the engine's one user may do everything")
    job = site.qsub("-l", "walltime=1:00", "-o", "/dev/null", "-j", "oe", "-q", "default", stdin="true\n")
    code, text = says(site, "qrun", job)
    assert code == 2
    assert text.startswith("qrun: ")
