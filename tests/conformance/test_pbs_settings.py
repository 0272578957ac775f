"""The settings of PBS's server that qmgr makes: who goes first, how many starts are planned, soft limits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.operator import as_operator
from tests.conformance.site import Site
from tests.waiting import wait_for

pytestmark = pytest.mark.alone

QUIET = ("-o", "/dev/null", "-j", "oe")
NAMES = ("job_sort_formula", "backfill_depth", "eligible_time_enable", "max_run_soft", "max_run_res_soft.ncpus")


def qmgr(site: Site, request: str) -> str:
    return as_operator(site, "qmgr", "-c", request).stdout


@pytest.fixture
def server(site: Site) -> Iterator[Site]:
    """The site, whose server has none of these settings when the case is over."""
    yield site
    for name in NAMES:
        qmgr(site, f"unset server {name}")
    wait_for("the site's own settings", lambda: "job_sort_formula" not in qmgr(site, "list server"))


def sleeper(site: Site, select: str, *options: str, walltime: str = "20:00") -> str:
    asked = ("-l", f"select={select}", "-l", "place=scatter", "-l", f"walltime={walltime}")
    return site.qsub(*asked, *QUIET, *options, stdin="sleep 600\n")


def noting(site: Site, name: str, select: str, *options: str) -> str:
    asked = ("-l", f"select={select}", "-l", "place=scatter", "-l", "walltime=2:00")
    return site.qsub(*asked, *QUIET, *options, stdin=f"echo {name} >>{site.work}/order\nsleep 1\n")


def end_all(site: Site, *jobs: str) -> None:
    site.run("qdel", *jobs, check=False)
    for job in jobs:
        site.wait_end(job)


@pytest.mark.parametrize("limit", ["max_run_res_soft.ncpus = [p:over=1]", "max_run_soft = [p:over=0]"])
@pytest.mark.slow
def test_who_is_over_a_soft_limit_comes_after_all_others(server: Site, limit: str) -> None:
    qmgr(server, f"set server {limit}")
    assert f"set server {limit}\n" in qmgr(server, "print server")
    first, rest = sleeper(server, "1:ncpus=2", "-P", "over"), sleeper(server, "2:ncpus=2")
    for job in (first, rest):
        server.wait_state(job, "R")
    over, plain = noting(server, "over", "2:ncpus=2", "-P", "over"), noting(server, "plain", "2:ncpus=2")
    wait_for("it has been planned", lambda: "estimated" in server.attributes(over))
    end_all(server, rest)
    for job in (plain, over):
        assert server.wait_end(job)["Exit_status"] == 0
    assert server.read("order").split() == ["plain", "over"]
    end_all(server, first)


@pytest.mark.slow
def test_a_formula_puts_jobs_in_order(server: Site) -> None:
    for formula in ("ncpus*", "nosuch + 1"):
        done = as_operator(server, "qmgr", "-c", f'set server job_sort_formula = "{formula}"', check=False)
        assert done.returncode == 15123 & 0xFF
        assert "Invalid Formula Format" in done.stderr
    qmgr(server, 'set server job_sort_formula = "max(ncpus, 2) + 0*eligible_time"')
    listed = wait_for("it is in force", lambda: "max(ncpus, 2)" in (text := qmgr(server, "list server")) and text)
    assert "    eligible_time_enable = True\n" in listed
    printed = qmgr(server, "print server").splitlines(keepends=True)
    again = "".join(line for line in printed if not line.startswith("create "))
    assert as_operator(server, "qmgr", stdin=again).stderr == ""
    rest = sleeper(server, "3:ncpus=2")
    server.wait_state(rest, "R")
    narrow, wide = noting(server, "narrow", "3:ncpus=1"), noting(server, "wide", "3:ncpus=2")
    wait_for("both are planned", lambda: all("estimated" in server.attributes(job) for job in (narrow, wide)))
    waited = server.attributes(narrow)["eligible_time"].split(":")
    assert len(waited) == 3
    end_all(server, rest)
    for job in (wide, narrow):
        assert server.wait_end(job)["Exit_status"] == 0
    assert server.read("order").split() == ["wide", "narrow"]
    qmgr(server, "set server eligible_time_enable = False")
    wait_for("it is off", lambda: "eligible_time_enable = False" in qmgr(server, "list server"))
    job = server.qsub("-h", stdin="true\n")
    assert "eligible_time" not in server.attributes(job)
    end_all(server, job)


def test_without_backfill_depth_a_wide_job_is_passed_over(server: Site) -> None:
    rest = sleeper(server, "2:ncpus=2")
    server.wait_state(rest, "R")
    wide = sleeper(server, "3:ncpus=2")
    wait_for("it is planned", lambda: "estimated" in server.attributes(wide))
    narrow = sleeper(server, "1:ncpus=1", walltime="2:00:00")
    expected = "Not Running: Job would conflict with reservation or top job"
    wait_for("it is held back", lambda: server.attributes(narrow).get("comment") == expected)
    qmgr(server, "set server backfill_depth = 0")
    server.wait_state(narrow, "R")
    assert qmgr(server, "list server backfill_depth").endswith("    backfill_depth = 0\n\n")
    end_all(server, wide, narrow, rest)
    bad = as_operator(server, "qmgr", "-c", "set server backfill_depth = -1", check=False)
    assert (bad.returncode, "Illegal attribute or resource value" in bad.stderr) == (15014 & 0xFF, True)


@pytest.mark.slow
def test_a_queue_has_its_own_backfill_depth(server: Site) -> None:
    """The server plans no start, the queue that of its first job; so what would delay that waits."""
    rest = sleeper(server, "2:ncpus=2")
    server.wait_state(rest, "R")
    queue = str(server.attributes(rest)["queue"])
    qmgr(server, "set server backfill_depth = 0")
    qmgr(server, f"set queue {queue} backfill_depth = 1")
    try:
        assert f"set queue {queue} backfill_depth = 1\n" in qmgr(server, f"print queue {queue}")
        wide = sleeper(server, "3:ncpus=2")
        wait_for("it is planned", lambda: "estimated" in server.attributes(wide))
        narrow = sleeper(server, "1:ncpus=1", walltime="2:00:00")
        expected = "Not Running: Job would conflict with reservation or top job"
        wait_for("it is held back", lambda: server.attributes(narrow).get("comment") == expected)
        bad = as_operator(server, "qmgr", "-c", f"set queue {queue} backfill_depth = x", check=False)
        assert (bad.returncode, "Illegal attribute or resource value" in bad.stderr) == (15014 & 0xFF, True)
    finally:
        qmgr(server, f"unset queue {queue} backfill_depth")
    assert "backfill_depth" not in qmgr(server, f"list queue {queue}")
    server.wait_state(narrow, "R")
    end_all(server, wide, narrow, rest)


def test_users_set_none(site: Site) -> None:
    if not site.admin_env:
        pytest.skip("the engine's one user may do everything")
    for request in ("set server backfill_depth = 3", "set server max_run_soft = [u:PBS_GENERIC=3]"):
        done = site.run("qmgr", "-c", request, check=False)
        assert done.returncode == 159
        assert "Unauthorized Request" in done.stderr
