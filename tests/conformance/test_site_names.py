"""Resources, node properties and images: what a site knows under a user's words for them, and what it does not."""

from __future__ import annotations

import pytest

from tests.conformance.site import Site
from tests.waiting import wait_for

UNKNOWN = [
    ("qsub", ["-l", "nosuch=1"], 187, "qsub: Unknown resource"),
    ("qsub", ["-l", "select=1:nosuch=2"], 187, "qsub: Unknown resource"),
    ("qsub", ["-l", "nodes=1:nosuch"], 187, "qsub: Unknown resource"),
    ("qsub", ["-v", "CONTAINER_IMAGE=reg.example/nosuch:1"], 159, "image reg.example/nosuch:1 is not allowed"),
    ("qsub", ["-v", "CONTAINER_IMAGE=/x.sif"], 166, "qsub: CONTAINER_IMAGE: '/x.sif' is no image in a registry"),
    ("sbatch", ["--gres=nosuch:1"], 1, "Invalid generic resource (gres) specification"),
    ("sbatch", ["--gpus=nosuch:1"], 1, "Invalid generic resource (gres) specification"),
    ("sbatch", ["-C", "nosuch"], 1, "Invalid feature specification"),
    ("sbatch", ["--container-image=reg.example#nosuch:1"], 1, "image reg.example/nosuch:1 is not allowed"),
    ("sbatch", ["--container-image=/x.sqsh"], 255, "--container-image: '/x.sqsh' is no image in a registry"),
]


@pytest.mark.parametrize(("command", "options", "code", "text"), UNKNOWN, ids=[" ".join(u[1]) for u in UNKNOWN])
def test_what_the_site_does_not_know_is_refused(
    site: Site, command: str, options: list[str], code: int, text: str
) -> None:
    done = site.run(command, *options, stdin="#!/bin/sh\ntrue\n", check=False)
    assert (done.returncode, done.stdout) == (code, "")
    assert text in done.stderr


def test_gpus_are_shown_where_no_node_has_them(site: Site) -> None:
    job = site.qsub("-l", "select=2:ncpus=1:ngpus=1", "-N", "gpus", stdin="true\n")
    site.wait_state(job, "Q")
    assert site.attributes(job)["Resource_List"]["ngpus"] == 2
    wait_for("the reason", lambda: "Can Never Run: Insufficient" in site.run("qstat", "-s", job).stdout)
    site.run("qdel", job)


NO_NODE_HAS = {
    "--mem=9999G": (
        "sbatch: error: Memory specification can not be satisfied\n"
        "sbatch: error: Batch job submission failed: Requested node configuration is not available\n"
    ),
    "--gres=gpu:1": (
        "sbatch: error: there is no generic resource gpu\n"
        "sbatch: error: Invalid generic resource (gres) specification\n"
    ),
}


@pytest.mark.parametrize("option", NO_NODE_HAS)
def test_slurm_refuses_at_once_what_no_node_has(site: Site, option: str) -> None:
    """In Slurm's words; PBS queues such a job."""
    done = site.run("sbatch", option, "-J", "never", "--wrap=true", check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", NO_NODE_HAS[option])
    assert site.run("squeue", "-h", "-n", "never").stdout == ""
    job = site.qsub("-l", "mem=9999gb", "-N", "large", stdin="true\n")
    assert site.state(job) == "Q"
    site.run("qdel", job)


def test_more_chunks_than_nodes_share_pods(site: Site) -> None:
    """Five chunks on three nodes with two CPUs: the node file has the lines that PBS's would have."""
    job = site.qsub(
        "-l",
        "select=5:ncpus=1:mpiprocs=2",
        "-N",
        "shared",
        "-j",
        "oe",
        stdin="uniq -c $PBS_NODEFILE; echo $PBS_NP $NCPUS\n",
    )
    site.wait_end(job)
    *counted, numbers = site.read(f"shared.o{job}").splitlines()
    assert [line.split()[0] for line in counted] == ["4", "4", "2"]
    assert numbers == "10 1"
    assert site.attributes(job)["Resource_List"]["nodect"] == 5
