"""Ended jobs in PostgreSQL, through Kubernetes' own API: who sees them, and what happens while the database is away."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator

import pytest

from tests.cluster import controllers, daemons, database
from tests.cluster.state import kubectl, wait_until
from tests.conformance.site import Site, moving_at_once

pytestmark = pytest.mark.cluster
LIST = "batchjobs.history.hpcbatch.io"


@pytest.fixture(autouse=True)
def installed() -> None:
    if not database.is_installed():
        pytest.skip("this cluster was made without a history: `make cluster-down`, then `make cluster`")


@pytest.fixture
def site(alice: Site) -> Site:
    return alice


@pytest.fixture
def at_once() -> Iterator[None]:
    """Ended jobs move without a minute's wait."""
    before = site_text()
    set_site(moving_at_once(before))
    yield
    set_site(before)


def site_text() -> str:
    found = json.loads(kubectl("-n", controllers.NAMESPACE, "get", "configmap", "hpcbatch-site", "-o", "json"))
    return str(found["data"]["site.yaml"])


def set_site(text: str) -> None:
    patch = json.dumps({"data": {"site.yaml": text}})
    kubectl("-n", controllers.NAMESPACE, "patch", "configmap", "hpcbatch-site", "--type=merge", "-p", patch)


def has_moved(site: Site, job: str) -> bool:
    present = site.kubectl("get", "batchjobs", "--field-selector", f"status.jobId={job}", "-o", "name").stdout
    return not present


def test_an_ended_job_moves_and_is_found(site: Site, at_once: None) -> None:
    job = site.qsub(stdin="exit 3\n")
    assert site.wait_end(job)["Exit_status"] == 3
    wait_until("the job to move", lambda: has_moved(site, job), 60)
    assert site.attributes(job)["Exit_status"] == 3
    assert f"JobId={job} " in site.run("scontrol", "show", "job", job).stdout
    assert job in site.run("squeue", "-h", "-t", "all", "-o", "%i").stdout.split()
    assert job not in site.run("qstat").stdout
    assert site.kubectl("get", LIST, "--field-selector", f"status.jobId={job}", "-o", "name").stdout
    told = site.run("qdel", "-x", job, check=False)
    assert (told.returncode, told.stderr.splitlines()[0]) == (159, f"qdel: Unauthorized Request  {job}.{site.server}")
    assert site.run("qstat", "-x", job).returncode == 0


def test_while_the_database_is_away(site: Site, at_once: None) -> None:
    first = site.qsub(stdin="exit 0\n")
    site.wait_end(first)
    wait_until("the job to move", lambda: has_moved(site, first), 60)
    daemons.kill("postgres", signal.SIGKILL)
    try:
        job = site.qsub(stdin="exit 0\n")
        assert site.wait_end(job)["Exit_status"] == 0
        told = site.run("qstat", "-x", first, check=False)
        assert told.returncode != 0
        assert "history database" in told.stderr
        assert database.is_available()  # else no namespace could be deleted
    finally:
        for left in ("data/postmaster.pid", ".s.PGSQL.5432.lock"):  # its process may be a zombie, which counts as alive
            (database.DATA / left).unlink(missing_ok=True)
        daemons.restart("postgres")
    wait_until("the job to move", lambda: has_moved(site, job), 90)
    for number in (first, job):
        assert site.state(number) == "F"
