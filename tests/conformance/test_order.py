"""qorder and qrun: who starts before whom."""

from __future__ import annotations

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
    assert site.run("qselect", "-h", "u", "-p", ".lt.0").stdout.split() == [f"{one}.{site.server}"]
    assert says(site, "qorder", f"{one}.{site.server}", other) == (0, "")
    assert [site.attributes(job)["Priority"] for job in (one, other)] == [0, -1]
    low = held(site, "-p", "-7")
    assert says(site, "qorder", low, one) == (0, "")
    assert [site.attributes(job)["Priority"] for job in (low, one)] == [0, -7]


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


def test_users_start_none(site: Site) -> None:
    if not site.admin_env:
        pytest.skip("the engine's one user may do everything")
    job = site.qsub("-l", "walltime=1:00", "-o", "/dev/null", "-j", "oe", "-q", "default", stdin="true\n")
    code, text = says(site, "qrun", job)
    assert code == 2
    assert text.startswith("qrun: ")
