"""A Volcano Queue is a queue of PBS and a partition of Slurm; what its users see when the admin closes and opens it."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from functools import partial

import pytest

from tests.conformance.operator import as_operator
from tests.conformance.site import Site
from tests.waiting import wait_for

pytestmark = pytest.mark.alone


@pytest.fixture
def queue(site: Site) -> Iterator[str]:
    """A queue of one's own: others may be at work on the cluster."""
    name = f"users-{secrets.token_hex(3)}"
    made = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}, "spec": {}}
    create(site, made)
    try:
        wait_for("the queue to open", lambda: queue_state(site, name) == "Open")
        yield name
    finally:
        running = site.run("squeue", "-h", "-p", name, "-o", "%i").stdout.split()
        if running:
            site.run("scancel", *running)
            wait_for("its jobs to go", lambda: not site.run("squeue", "-h", "-p", name).stdout)
        command(site, name, "CloseQueue")
        wait_for("the queue to close", lambda: queue_state(site, name) == "Closed")
        site.kubectl("delete", "queues.scheduling.volcano.sh", name, "--wait=false")


def create(site: Site, made: Mapping[str, object]) -> None:
    path = site.work / "made.json"
    path.write_text(json.dumps(made))
    site.kubectl("create", "-f", str(path))


def queue_state(site: Site, name: str) -> str:
    return site.kubectl("get", "queues.scheduling.volcano.sh", name, "-o", "jsonpath={.status.state}").stdout


def command(site: Site, name: str, action: str) -> None:
    """As vcctl makes it."""
    uid = site.kubectl("get", "queues.scheduling.volcano.sh", name, "-o", "jsonpath={.metadata.uid}").stdout
    target = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata = {"generateName": f"{name}-", "ownerReferences": [target]}
    create(
        site,
        {
            "apiVersion": "bus.volcano.sh/v1alpha1",
            "kind": "Command",
            "action": action,
            "target": target,
            "metadata": metadata,
        },
    )


def shown(site: Site, name: str) -> tuple[str, str]:
    """What `qstat -Q` has under Ena and Str, and sinfo under AVAIL."""
    line = site.run("qstat", "-Q", name).stdout.splitlines()[2].split()
    assert line[0] == name
    return "/".join(line[3:5]), site.run("sinfo", "-h", "-p", name, "-o", "%a").stdout.strip()


def test_jobs_of_a_queue(site: Site, queue: str) -> None:
    pbs = site.qsub("-q", queue, "-N", "inside", "-j", "oe", stdin="echo $PBS_QUEUE $PBS_O_QUEUE\n")
    slurm = site.sbatch("-p", queue, "-o", "slurm", "--wrap", "echo $SLURM_JOB_PARTITION")
    held = site.qsub("-h", stdin=f"#PBS -q {queue}\ntrue\n")
    outside = site.qsub("-h", stdin="true\n")
    assert site.run("squeue", "-h", "-p", queue, "-t", "PD", "-o", "%i").stdout.split()[-1:] == [held]
    listed = site.run("qstat", queue).stdout
    assert f"\n{held}." in listed
    assert f"\n{outside}." not in listed
    for job in (pbs, slurm):
        assert site.wait_end(job)["queue"] == queue
    assert site.read(f"inside.o{pbs}") == f"{queue} {queue}\n"
    assert site.read("slurm") == f"{queue}\n"
    counted = site.run("qstat", "-Q", queue).stdout.splitlines()[2].split()
    assert counted[:8] == [queue, "0", "1", "yes", "yes", "0", "0", "1"]


def test_a_closed_queue_takes_no_jobs_until_it_is_open_again(site: Site, queue: str) -> None:
    waiting = site.qsub("-h", "-q", queue, "-o", "/dev/null", "-j", "oe", stdin="true\n")
    assert shown(site, queue) == ("yes/yes", "up")
    command(site, queue, "CloseQueue")
    wait_for("qstat and sinfo to show it", lambda: shown(site, queue) == ("no/no", "inact"))
    pbs = site.run("qsub", "-q", queue, stdin="true\n", check=False)
    assert (pbs.returncode, pbs.stdout, pbs.stderr) == (173, "", "qsub: Queue is not enabled\n")
    slurm = site.run("sbatch", "-p", queue, "--wrap", "true", check=False)
    assert (slurm.returncode, slurm.stdout) == (1, "")
    assert slurm.stderr == (
        f"sbatch: error: queue {queue} is closed\n"
        "sbatch: error: Batch job submission failed: Required partition not available (inactive or drain)\n"
    )
    site.run("qrls", waiting)
    wait_for("its reason", lambda: f"queue {queue} is closed" in site.run("qstat", "-s", waiting).stdout)
    assert site.state(waiting) == "Q"
    assert site.run("squeue", "-h", "-j", waiting, "-o", "%t %r").stdout == "PD PartitionInactive\n"
    command(site, queue, "OpenQueue")
    wait_for("qstat and sinfo to show it", lambda: shown(site, queue) == ("yes/yes", "up"))
    new = site.sbatch("-p", queue, "-o", "/dev/null", "--wrap", "true")
    for job in (waiting, new):
        assert site.wait_end(job)["Exit_status"] == 0


def test_a_disabled_queue_takes_no_jobs_and_starts_those_it_has(site: Site, queue: str) -> None:
    waiting = site.qsub("-h", "-q", queue, "-o", "/dev/null", "-j", "oe", stdin="true\n")
    as_operator(site, "qdisable", queue)
    assert shown(site, queue) == ("no/yes", "drain")
    assert "\nState=DRAIN " in site.run("scontrol", "show", "partition", queue).stdout.replace("   ", "")
    pbs = site.run("qsub", "-q", queue, stdin="true\n", check=False)
    assert (pbs.returncode, pbs.stdout, pbs.stderr) == (173, "", "qsub: Queue is not enabled\n")
    site.run("qrls", waiting)
    assert site.wait_end(waiting)["Exit_status"] == 0
    as_operator(site, "qenable", f"{queue}@{site.server}")
    assert shown(site, queue) == ("yes/yes", "up")
    assert site.wait_end(site.qsub("-q", queue, "-o", "/dev/null", "-j", "oe", stdin="true\n"))["Exit_status"] == 0


def test_scontrol_switches_a_partition(site: Site, queue: str) -> None:
    for state, switches in (
        ("DRAIN", ("no/yes", "drain")),
        ("DOWN", ("yes/no", "down")),
        ("INACTIVE", ("no/no", "inact")),
        ("UP", ("yes/yes", "up")),
    ):
        as_operator(site, "scontrol", "update", f"PartitionName={queue}", f"State={state}")
        assert shown(site, queue) == switches
    as_operator(site, "scontrol", "update", f"PartitionName={queue}", "MaxTime=30")
    assert " MaxTime=00:30:00 " in site.run("scontrol", "-o", "show", "partition", queue).stdout
    for words, text in (
        (
            (f"PartitionName={queue}", "LLN=YES"),
            "slurm_update error: Requested operation not supported on this system",
        ),
        (("PartitionName=none", "State=UP"), "slurm_update error: Invalid partition name specified"),
    ):
        done = site.run("scontrol", "update", *words, check=False)
        assert (done.returncode, done.stderr.splitlines()[0]) == (1, text)
    assert shown(site, queue) == ("yes/yes", "up")


def test_a_stopped_queue_takes_jobs_and_starts_none(site: Site, queue: str) -> None:
    running = site.qsub("-q", queue, "-l", "select=3:ncpus=2", "-o", "/dev/null", "-j", "oe", stdin="sleep 600\n")
    site.wait_state(running, "R")
    # One that Volcano has already been given, and one that comes later
    given = site.qsub("-q", queue, "-o", "/dev/null", "-j", "oe", stdin="true\n")
    wait_for("Volcano to have it", lambda: "volcanoJob" in site.kubectl("get", "batchjobs", "-A", "-o", "json").stdout)
    as_operator(site, "qstop", queue)
    assert shown(site, queue) == ("yes/no", "down")
    assert " E S\n" in site.run("qstat", "-q", queue).stdout
    later = site.qsub("-q", queue, "-o", "/dev/null", "-j", "oe", stdin="true\n")

    def is_kept(job: str) -> bool:
        return f"queue {queue} is stopped by" in site.run("qstat", "-s", job).stdout

    for job in (given, later):
        wait_for("its reason", partial(is_kept, job))
    site.run("qdel", running)
    site.wait_end(running)
    assert {site.state(given), site.state(later)} == {"Q"}
    as_operator(site, "qstart", queue)
    assert shown(site, queue) == ("yes/yes", "up")
    for job in (given, later):
        assert site.wait_end(job)["Exit_status"] == 0


def test_a_queue_that_volcano_closed_is_switched_on_in_parts(site: Site, queue: str) -> None:
    command(site, queue, "CloseQueue")
    wait_for("qstat and sinfo to show it", lambda: shown(site, queue) == ("no/no", "inact"))
    as_operator(site, "qenable", queue)
    wait_for("it to take jobs", lambda: shown(site, queue) == ("yes/no", "down"))
    as_operator(site, "qstart", queue)
    assert shown(site, queue) == ("yes/yes", "up")


@pytest.mark.parametrize("name", ["qenable", "qdisable", "qstart", "qstop"])
def test_queues_that_are_not_switched(site: Site, name: str) -> None:
    done = site.run(name, "nosuch", check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{name}: Unknown queue nosuch\n")
    assert site.run(name, check=False).returncode == 1
    if site.admin_env:
        done = site.run(name, "default", check=False)
        assert done.returncode == 2
        assert done.stderr.startswith(f"{name}: Unauthorized Request  default\n")


def test_queues_that_there_are_not(site: Site) -> None:
    done = site.run("qstat", "-Q", "nosuch", check=False)
    assert (done.returncode, done.stderr) == (170, "qstat: Unknown queue destination nosuch\n")
    assert site.run("sinfo", "-h", "-p", "nosuch").stdout == ""
    names = site.run("qstat", "-Q").stdout
    assert "\ndefault " in names
    assert "\nroot " not in names
    assert site.run("sinfo", "-h", "-o", "%P").stdout.splitlines()[0] == "default*"
