"""Ended jobs that have left the API: found by every command, waited for by others, forgotten when asked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial

import pytest

from tests.conformance.site import Site, moving_at_once
from tests.waiting import wait_for

pytestmark = pytest.mark.alone

SYSTEM = ("-n", "hpcbatch-system")
HISTORY = "batchjobs.history.hpcbatch.io"
EMPTY = "apiVersion: hpcbatch.io/v1alpha1\nkind: SiteConfiguration\n"


@pytest.fixture(autouse=True)
def at_once(site: Site) -> Iterator[None]:
    """Jobs move as soon as they have ended."""
    if site.kubectl("get", "--raw", "/apis/history.hpcbatch.io/v1alpha1", check=False).returncode:
        pytest.skip("this cluster has no history: it was made before there was one, and has to be made anew")
    found = site.kubectl(*SYSTEM, "get", "configmap", "hpcbatch-site", "-o", "json", check=False)
    before = None if found.returncode else json.loads(found.stdout)["data"]["site.yaml"]
    configure(site, moving_at_once(before or EMPTY))
    yield
    configure(site, before or EMPTY)


def configure(site: Site, text: str) -> None:
    site.kubectl(*SYSTEM, "create", "configmap", "hpcbatch-site", check=False)
    patch = json.dumps({"data": {"site.yaml": text}})
    site.kubectl(*SYSTEM, "patch", "configmap", "hpcbatch-site", "--type=merge", "-p", patch)


def moved(site: Site, job: str) -> str:
    """The number, once the job has left the API."""
    site.wait_end(job)

    def has_left() -> bool:
        selected = ("--field-selector", f"status.jobId={job}")
        return not site.kubectl("get", "batchjobs", *selected, "-o", "name").stdout

    wait_for(f"job {job} to move", has_left, 90)
    return job


def test_every_command_finds_it(site: Site) -> None:
    job = moved(site, site.qsub("-N", "gone", "-j", "oe", stdin="exit 3\n"))
    assert site.attributes(job)["Exit_status"] == 3
    assert re.search(rf"^{job}\.\S+ +gone .* F ", site.run("qstat", "-x", job).stdout, re.MULTILINE)
    assert re.search(rf"^{job}\.\S+ ", site.run("qstat", "-H", job).stdout, re.MULTILINE)
    assert f"\n{job}." in site.run("qstat", "-x").stdout
    told = site.run("qstat", job, check=False)
    assert (told.returncode, told.stdout) == (35, "")
    assert "has finished, use -x or -H" in told.stderr
    assert f"{job}." not in site.run("qstat").stdout
    assert site.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%i %T").stdout == f"{job} FAILED\n"
    assert job in site.run("squeue", "-h", "-t", "all", "-o", "%i").stdout.split()
    assert "JobState=FAILED Reason=NonZeroExitCode" in site.run("scontrol", "show", "job", job).stdout


def test_it_cannot_be_changed_any_more(site: Site) -> None:
    job = moved(site, site.qsub("-j", "oe", stdin="true\n"))
    told = site.run("qdel", job, check=False)
    assert told.returncode == 35
    assert "Job has finished" in told.stderr
    told = site.run("qhold", job, check=False)
    assert told.returncode == 35


def test_nobody_removes_what_he_has_used(site: Site) -> None:
    """Neither of jobs that have moved nor of others; who owns the cluster, as an engine's user does, may."""
    gone = moved(site, site.qsub("-j", "oe", stdin="true\n"))
    here = site.qsub("-h", stdin="true\n")
    is_admin = site.run("kubectl", "auth", "can-i", "delete", HISTORY, check=False).stdout.strip() == "yes"
    for job in (gone, here):
        name = f"{job}.{site.server}"
        told = site.run("qdel", "-x", job, check=False)
        if is_admin:
            assert (told.returncode, told.stderr) == (0, "")
        else:
            why = f"{name} has ended, and its record stays: accounting is told from it, and only the site removes it"
            assert (told.returncode, told.stderr) == (159, f"qdel: Unauthorized Request  {name}\nqdel: {why}\n")
            site.run("kubectl", "delete", HISTORY, "--field-selector", f"status.jobId={job}", check=False)
            site.run("kubectl", "delete", "batchjobs", "--field-selector", f"status.jobId={job}", check=False)
            assert site.state(job) == "F"
            assert job in site.run("sacct", "-X", "-n", "-P", "-o", "jobid", "-j", job).stdout.split()
        wait_for(f"job {job} to be removed", partial(removed, site, job), 60)
        assert "Unknown Job Id" in site.run("qstat", "-x", job, check=False).stderr


def removed(site: Site, job: str) -> bool:
    """Removed by the admin, wherever it is: the controller may move it between the two deletions."""
    for resource in (HISTORY, "batchjobs"):
        site.kubectl("delete", resource, "--wait=false", "--field-selector", f"status.jobId={job}")
    return site.run("qstat", "-x", job, check=False).returncode == 153


def test_others_wait_for_it(site: Site) -> None:
    good = moved(site, site.qsub("-j", "oe", stdin="true\n"))
    bad = moved(site, site.sbatch("-o", "/dev/null", "--wrap", "exit 3"))
    after = site.qsub("-j", "oe", "-W", f"depend=afterok:{good}", stdin="true\n")
    assert site.wait_end(after)["Exit_status"] == 0
    after = site.sbatch("-o", "/dev/null", "-d", f"afternotok:{bad}", "--wrap", "true")
    assert site.wait_end(after)["Exit_status"] == 0


def test_an_array_and_its_members(site: Site) -> None:
    array = site.run("qsub", "-J", "1-3", "-j", "oe", "-N", "many", stdin="exit $((PBS_ARRAY_INDEX - 1))\n").stdout
    number = array.partition("[")[0]

    def has_left() -> bool:
        records = json.loads(site.kubectl("get", "batchjobs", "-o", "json").stdout)["items"]
        return not any(job["spec"]["name"] == "many" for job in records)

    wait_for("the array and its members to move", has_left, 120)
    shown = site.run("qstat", "-xt", f"{number}[]").stdout
    assert [line.split(".")[0] for line in shown.splitlines()[2:]] == [f"{number}[{index}]" for index in ("", 1, 2, 3)]
    member = json.loads(site.run("qstat", "-x", "-f", "-F", "json", f"{number}[3]").stdout)
    assert next(iter(member["Jobs"].values()))["Exit_status"] == 2
