"""PBS's routing queues: a job goes on to the first destination that takes it, waits for one, or is refused."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

from tests.conformance.operator import as_operator
from tests.conformance.site import Site
from tests.waiting import wait_for

QUIET = ("-o", "/dev/null", "-j", "oe")


@pytest.fixture
def queues(site: Site) -> Iterator[tuple[str, str, str]]:
    """A routing queue, and its destinations for short jobs and for longer ones."""
    tail = secrets.token_hex(3)
    route, short, long = names = (f"route-{tail}", f"short-{tail}", f"long-{tail}")
    lines = f"""
        create queue {short} queue_type=Execution, resources_max.walltime=00:10:00, from_route_only=True
        create queue {long} queue_type=Execution
        set queue {long} resources_min.walltime=00:10:01
        set queue {long} resources_max.walltime=01:00:00
        create queue {route} queue_type=Route
        set queue {route} route_destinations = {short}
        set queue {route} route_destinations += {long}
    """
    switches = "".join(f"set queue {name} enabled=True; set queue {name} started=True\n" for name in names)
    done = as_operator(site, "qmgr", stdin=lines + switches)
    assert done.stderr == ""
    yield names
    site.close()
    for name in names:
        wait_for(
            "an empty queue",
            lambda name=name: (
                as_operator(  # type: ignore[misc]
                    site, "qmgr", "-c", f"delete queue {name}", check=False
                ).returncode
                == 0
            ),
        )


def queue_of(site: Site, job: str) -> str:
    return str(site.attributes(job)["queue"])


def submit(site: Site, queue: str, walltime: str, *options: str) -> str:
    return site.qsub("-q", queue, "-l", f"walltime={walltime}", *QUIET, *options, stdin="true\n")


def submit_array(site: Site, queue: str, walltime: str) -> str:
    options = ("-q", queue, "-l", f"walltime={walltime}", *QUIET, "-J", "1-2")
    return site.run("qsub", *options, stdin="true\n").stdout.partition(".")[0]


@pytest.mark.alone
@pytest.mark.slow
def test_a_job_goes_to_the_first_queue_that_takes_it(site: Site, queues: tuple[str, str, str]) -> None:
    route, short, long = queues
    first, second = submit(site, route, "5:00"), submit(site, route, "15:00")
    array = submit_array(site, route, "5:00")
    assert (queue_of(site, first), queue_of(site, second), queue_of(site, array)) == (short, long, short)
    for job in (first, second, array):
        assert site.wait_end(job)["Exit_status"] == 0
    refused = site.run("qsub", "-q", short, stdin="true\n", check=False)
    assert (refused.returncode, refused.stderr) == (174, "qsub: Access to queue is denied\n")
    refused = site.run("qsub", "-q", route, "-l", "walltime=2:00:00", stdin="true\n", check=False)
    assert refused.returncode == 191
    assert refused.stderr.startswith("qsub: Job rejected by all possible destinations\n")
    assert f"at most 00:10:00 in {short}" in refused.stderr and f"at most 01:00:00 in {long}" in refused.stderr
    shown = site.run("qstat", "-Q", "-f", route).stdout
    assert "    queue_type = Route\n" in shown and f"    route_destinations = {short},{long}\n" in shown
    assert site.run("qstat", "-Q", route).stdout.splitlines()[2].split()[-1] == "Rou*"
    assert "    from_route_only = True\n" in site.run("qstat", "-Q", "-f", short).stdout
    printed = site.run("qmgr", "-c", f"print queue {route}").stdout
    assert (
        f"set queue {route} route_destinations = {short}\nset queue {route} route_destinations += {long}\n" in printed
    )
    assert route not in site.run("sinfo", "-a", "-h", "-o", "%R").stdout.split()
    held = submit(site, "default", "5:00", "-h")
    site.run("qmove", route, held)
    assert queue_of(site, held) == route, "it is held, and so not routed"
    site.run("qdel", held)


@pytest.mark.alone
@pytest.mark.slow
def test_a_job_waits_for_a_queue_that_takes_it(site: Site, queues: tuple[str, str, str]) -> None:
    route, short, long = queues
    held = submit(site, route, "5:00", "-h")
    later = submit(site, route, "5:00", "-a", "12312359")
    assert (queue_of(site, held), queue_of(site, later)) == (route, route)
    site.run("qrls", held)
    assert site.wait_end(held)["Exit_status"] == 0
    assert queue_of(site, held) == short
    site.run("qalter", "-a", "01010101", later)
    as_operator(site, "qmgr", "-c", f"set queue {route} route_held_jobs=True")
    moved = submit(site, route, "5:00", "-h")
    assert queue_of(site, moved) == short
    site.run("qdel", moved, later)
    as_operator(site, "qdisable", long)
    waits = submit(site, route, "15:00")
    array = submit_array(site, route, "15:00")
    assert {(site.state(job), queue_of(site, job)) for job in (waits, array)} == {("Q", route)}
    as_operator(site, "qenable", long)
    for job in (waits, array):
        assert site.wait_end(job, limit_s=90)["Exit_status"] == 0
        assert queue_of(site, job) == long


@pytest.mark.slow
@pytest.mark.alone
def test_a_full_queue_is_passed(site: Site, queues: tuple[str, str, str]) -> None:
    route, short, _ = queues
    as_operator(site, "qmgr", "-c", f"set queue {route} route_held_jobs=True")
    as_operator(site, "qmgr", "-c", f"set queue {short} max_queued = [u:PBS_GENERIC=1]")
    try:
        held, second = submit(site, route, "5:00", "-h"), submit(site, route, "5:00")
        assert (queue_of(site, held), queue_of(site, second)) == (short, route)
        site.run("qdel", held)
        assert site.wait_end(second, limit_s=90)["Exit_status"] == 0
        assert queue_of(site, second) == short
    finally:
        as_operator(site, "qmgr", "-c", f"unset queue {short} max_queued")
