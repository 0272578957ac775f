"""Partitions that operators make, change and remove, in both dialects."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator

import pytest

from tests.conformance.operator import as_operator
from tests.conformance.site import Site
from tests.waiting import wait_for

pytestmark = pytest.mark.alone


@pytest.fixture
def node(site: Site) -> str:
    return site.run("sinfo", "-h", "-N", "-o", "%n").stdout.split()[-1]


@pytest.fixture
def part(site: Site, node: str) -> Iterator[str]:
    """A partition of one node, where a job may take 30 minutes."""
    name = f"p{secrets.token_hex(3)}"
    as_operator(site, "scontrol", "create", f"PartitionName={name}", f"Nodes={node}", "MaxTime=30")
    yield name
    site.run("scancel", "-p", name, check=False)
    deleted = ("scontrol", "delete", f"PartitionName={name}")
    wait_for("it is empty", lambda: as_operator(site, *deleted, check=False).stderr[-10:] != "is in use\n")


def shown(site: Site, part: str) -> str:
    return site.run("scontrol", "-o", "show", "partition", part).stdout


def state(site: Site, job: str) -> str:
    return site.run("sacct", "-X", "-n", "-P", "-j", job, "-o", "State").stdout.strip()


def refused(site: Site, *argv: str) -> str:
    done = site.run("sbatch", "-o", "/dev/null", *argv, "--wrap", "true", check=False)
    assert done.returncode == 1
    return done.stderr.splitlines()[-1].removeprefix("sbatch: error: Batch job submission failed: ")


def test_jobs_run_on_its_nodes(site: Site, part: str, node: str) -> None:
    assert f" Nodes={node} " in shown(site, part)
    assert site.run("sinfo", "-h", "-p", part, "-o", "%R %l %D %N").stdout == f"{part} 30:00 1 {node}\n"
    assert "resources_max.walltime = 00:30:00\n" in site.run("qstat", "-Qf", part).stdout
    job = site.sbatch("-p", part, "-o", "/dev/null", "--wrap", "true")
    wait_for("it ends", lambda: state(site, job) == "COMPLETED")
    assert site.run("sacct", "-X", "-n", "-P", "-j", job, "-o", "NodeList,Partition").stdout == f"{node}|{part}\n"
    if other := [one for one in site.run("sinfo", "-h", "-N", "-o", "%n").stdout.split() if one != node]:
        done = site.run("sbatch", "-p", part, "-w", other[0], "--wrap", "true", check=False)
        job = done.stdout.split()[-1]
        wait_for("its reason", lambda: "(PartitionConfig)" in site.run("squeue", "-h", "-j", job, "-o", "%R").stdout)
        site.run("scancel", job)
    number = site.qsub("-q", part, "-l", "select=1", "-o", "/dev/null", "-j", "oe", stdin="true\n")
    assert site.wait_end(number)["exec_host"].startswith(f"{node}/")


def test_limits_and_rights_are_enforced(site: Site, part: str) -> None:
    too_long = "Requested time limit is invalid (missing or exceeds some limit)"
    assert refused(site, "-p", part, "-t", "31") == too_long
    as_operator(site, "scontrol", "update", f"PartitionName={part}", "MaxTime=10", "MinNodes=1", "AllowAccounts=a,b")
    assert refused(site, "-p", part, "-t", "11", "-A", "b") == too_long
    wrong = "Invalid account or account/partition combination specified"
    assert refused(site, "-p", part, "-A", "c") == refused(site, "-p", part) == wrong
    site.run("scancel", site.sbatch("-p", part, "-A", "b", "-o", "/dev/null", "--wrap", "true"))
    as_operator(site, "scontrol", "update", f"PartitionName={part}", "AllowAccounts=ALL", "AllowGroups=no-such-group")
    assert " AllowGroups=no-such-group AllowAccounts=ALL " in shown(site, part)
    if site.admin_env:  # the engine's one user may be root, who belongs to all groups
        assert refused(site, "-p", part) == "User's group not permitted to use this partition"


def test_qualities_of_service_of_a_partition(site: Site, part: str) -> None:
    update = ("scontrol", "update", f"PartitionName={part}")
    as_operator(site, *update, "AllowQos=low", "QOS=low", "DisableRootJobs=YES")
    assert " AllowQos=low " in shown(site, part)
    assert " QoS=low DefaultTime=NONE DisableRootJobs=YES " in shown(site, part)
    as_operator(site, *update, "DisableRootJobs=NO", "QOS=N/A")
    assert " QoS=N/A " in shown(site, part)
    assert refused(site, "-p", part) == refused(site, "-p", part, "--qos=high") == "Invalid qos specification"
    site.run("scancel", site.sbatch("-p", part, "--qos=low", "-o", "/dev/null", "--wrap", "true"))
    as_operator(site, *update, "AllowQos=ALL", "DenyQos=low")
    assert " DenyQos=low " in shown(site, part)
    assert refused(site, "-p", part, "--qos=low") == "Invalid qos specification"
    site.run("scancel", site.sbatch("-p", part, "-o", "/dev/null", "--wrap", "true"))


def test_states_and_order(site: Site, part: str) -> None:
    update = ("scontrol", "update", f"PartitionName={part}")
    as_operator(site, *update, "State=DOWN", "Priority=3")
    assert " State=DOWN " in shown(site, part)
    assert " PriorityTier=3 " in shown(site, part)
    job = site.sbatch("-p", part, "-o", "/dev/null", "--wrap", "true")
    wait_for("its reason", lambda: site.run("squeue", "-h", "-j", job, "-o", "%r").stdout == "PartitionDown\n")
    as_operator(site, *update, "State=INACTIVE")
    wait_for("its reason", lambda: site.run("squeue", "-h", "-j", job, "-o", "%r").stdout == "PartitionInactive\n")
    as_operator(site, *update, "State=UP", "Nodes=ALL")
    wait_for("it ends", lambda: state(site, job) == "COMPLETED")
    as_operator(site, *update, "Hidden=YES")
    assert part not in site.run("sinfo", "-h", "-o", "%R").stdout
    assert part in site.run("sinfo", "-h", "-a", "-o", "%R").stdout
    assert part not in site.run("scontrol", "show", "partition").stdout


def test_jobs_of_hidden_partitions(site: Site, part: str) -> None:
    """As in Slurm operators see all of them; the engine's one user is one."""
    as_operator(site, "scontrol", "update", f"PartitionName={part}", "Hidden=YES")
    wait_for("it is hidden", lambda: part not in site.run("sinfo", "-h", "-o", "%R").stdout)
    job = site.sbatch("-H", "-p", part, "-t", "1", "-o", "/dev/null", "--wrap", "true")

    def has_job(*words: str, operator: bool = False) -> bool:
        done = as_operator(site, *words) if operator else site.run(*words)
        return job in re.split(r"[\s=]", done.stdout)

    for words in (("squeue", "-h", "-o", "%i"), ("squeue", "-h", "--me", "-o", "%i"), ("scontrol", "show", "job")):
        assert has_job(*words) is not bool(site.admin_env)
        if site.admin_env:
            assert has_job(*words, "-a") or words[0] == "scontrol"
    assert has_job("squeue", "-ah", "-o", "%i")
    assert has_job("squeue", "-h", "-p", part, "-o", "%i")
    assert has_job("squeue", "-h", "-j", job, "-o", "%i")
    assert has_job("scontrol", "-a", "show", "job")
    assert has_job("scontrol", "show", "job", job)
    site.run("scancel", job)


def test_what_is_refused(site: Site, part: str) -> None:
    invalid = "Invalid partition name specified"
    for words, says in (
        (("create", f"PartitionName={part}"), f"Error creating the partition: {invalid}"),
        (("create", "PartitionName=x-y", "Nodes=nosuch"), "Error creating the partition: Invalid node name specified"),
        (("update", "PartitionName=nosuch", "MaxTime=1"), f"slurm_update error: {invalid}"),
        (("delete", "PartitionName=nosuch"), f"delete_partition PartitionName=nosuch: {invalid}"),
    ):
        done = as_operator(site, "scontrol", *words, check=False)
        assert (done.returncode, done.stderr) == (1, f"{says}\n")
    job = site.sbatch("-H", "-p", part, "-o", "/dev/null", "--wrap", "true")
    done = as_operator(site, "scontrol", "delete", f"PartitionName={part}", check=False)
    assert done.stderr == f"delete_partition PartitionName={part}: Partition is in use\n"
    site.run("scancel", job)


def test_qmgr_sets_the_same(site: Site, part: str) -> None:
    as_operator(site, "qmgr", "-c", f"set queue {part} resources_max.walltime = 00:20:00, resources_max.nodect = 1")
    assert " MaxTime=00:20:00 " in shown(site, part)
    assert " MaxNodes=1 " in shown(site, part)
    done = site.run("qsub", "-q", part, "-l", "walltime=00:21:00", "-", stdin="true\n", check=False)
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        188,
        "qsub: Job violates queue and/or server resource limits",
    )
    as_operator(site, "qmgr", "-c", f"unset queue {part} resources_max.walltime")
    assert " MaxTime=UNLIMITED " in shown(site, part)


def test_users_are_refused(site: Site, part: str) -> None:
    if not site.admin_env:
        pytest.skip("the engine's one user may do everything")
    for words in (
        ("create", "PartitionName=x"),
        ("update", f"PartitionName={part}", "MaxTime=1"),
        ("delete", f"part={part}"),
    ):
        done = site.run("scontrol", *words, check=False)
        assert done.returncode == 1
        assert "Invalid user id\n" in done.stderr
