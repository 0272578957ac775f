"""Which limit counts where several are set, and those of what is used in the course of time."""

from __future__ import annotations

import pytest

from tests.conformance.operator import as_operator
from tests.conformance.site import Site
from tests.conformance.test_accounts import admin, enforce, in_force, name, quick, sacctmgr, shown_reason
from tests.waiting import wait_for

__all__ = ["admin", "name"]
pytestmark = pytest.mark.alone


def an_account(site: Site, name: str, limits: str = "", *, of_user: str = "") -> None:
    """With the user in it; limits are enforced."""
    user = site.env["USER"]
    sacctmgr(site, f"-i add account {name} {limits}")
    sacctmgr(site, f"-i add user {user} account={name} {of_user}")
    in_force(site, f'\\"account\\": \\"{name}\\", \\"user\\": \\"{user}\\"')
    enforce(site, "limits")


def waits(site: Site, job: str, reason: str) -> None:
    wait_for(f"job {job}: {reason}", lambda: shown_reason(site, job) == f"PD {reason}")


@pytest.mark.slow
def test_a_quality_of_service_goes_before_the_account(admin: Site, name: str) -> None:
    """Its MaxJobsPerUser counts, not the user's MaxJobs; and the partition's goes before the job's."""
    sacctmgr(admin, f"-i add qos {name} MaxJobsPerUser=2")
    sacctmgr(admin, f"-i add qos {name}p MaxJobsPerUser=1")
    an_account(admin, name, of_user="MaxJobs=1")
    of_qos = ("-A", name, "-q", name)
    jobs = [quick(admin, *of_qos) for _ in range(3)]
    for job in jobs[:2]:
        admin.wait_state(job, "R")
    waits(admin, jobs[2], "QOSMaxJobsPerUserLimit")
    used = admin.run("scontrol", "-o", "show", "assoc_mgr", f"qos={name}", "flags=qos").stdout
    assert " GrpJobs=N(2) GrpJobsAccrue=N(0) GrpSubmitJobs=N(3) " in used
    assert "={MaxJobsPU=2(2) MaxJobsAccruePU=N(0) MaxSubmitJobsPU=N(3) MaxTRESPU=cpu=N(2)," in used
    plain = quick(admin, "-A", name)
    waits(admin, plain, "AssocMaxJobsLimit")
    part = f"p{name}"
    as_operator(admin, "scontrol", "create", f"PartitionName={part}", "Nodes=ALL", f"QOS={name}p")
    try:
        others = [quick(admin, *of_qos, "-p", part) for _ in range(2)]
        admin.wait_state(others[0], "R")
        waits(admin, others[1], "QOSMaxJobsPerUserLimit")
        admin.run("scancel", *jobs, *others, plain)
    finally:
        admin.close()
        deleted = ("scontrol", "delete", f"PartitionName={part}")
        wait_for("it is empty", lambda: as_operator(admin, *deleted, check=False).stderr[-10:] != "is in use\n")


def test_minutes_that_are_still_to_be_used(admin: Site, name: str) -> None:
    an_account(admin, name, "GrpTRESRunMins=cpu=60")
    first, second, short = (quick(admin, "-A", name, "-t", minutes) for minutes in ("40", "40", "15"))
    for job in (first, short):
        admin.wait_state(job, "R")
    waits(admin, second, "AssocGrpCPURunMinutesLimit")
    admin.run("scancel", first)
    admin.wait_state(second, "R")
    admin.run("scancel", second, short)


@pytest.mark.slow
def test_minutes_that_have_been_used(admin: Site, name: str) -> None:
    an_account(admin, name, "GrpTRESMins=cpu=10")
    long, fits = quick(admin, "-A", name, "-t", "11"), quick(admin, "-A", name, "-t", "8")
    admin.wait_state(fits, "R")
    waits(admin, long, "AssocGrpCPUMinutesLimit")
    assert "no more than 10 CPU minutes" in admin.run("hpcbatch", "why", long).stdout
    sacctmgr(admin, f"-i modify account {name} set GrpTRESMins=cpu=-1 GrpWall=1")
    admin.run("scancel", fits)
    waits(admin, long, "AssocGrpWallLimit")
    sacctmgr(admin, f"-i modify account {name} set GrpWall=-1")
    admin.wait_state(long, "R")
    admin.run("scancel", long)
