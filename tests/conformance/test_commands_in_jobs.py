"""Jobs that submit, look at and delete others: scripts that go on by themselves, and programs that drive sbatch."""

from __future__ import annotations

import os

import pytest

from tests.conformance.site import Site
from tests.waiting import wait_for

IMAGE = "localhost/hpcbatch-login:0.1.0"
"""One with hpcbatch, for jobs on a cluster; the user's kubeconfig lies in the home that they mount."""

CHAIN = """#!/bin/sh
#PBS -N chain
#PBS -j oe
cd "$PBS_O_WORKDIR" || exit
echo "$LINK" >>links
[ "$LINK" = 3 ] || qsub -v LINK=$((LINK + 1))${CONTAINER_IMAGE:+,CONTAINER_IMAGE} chain.pbs
"""
DRIVER = """#!/bin/sh
#SBATCH -o out
next=$(sbatch --parsable --hold -o /dev/null --wrap true) || exit
squeue -h -j "$next" -o "%t %r"
scontrol update JobId="$next" Comment=found && squeue -h -j "$next" -o %k
until squeue -h -j "$SLURM_JOB_ID" -o %T | grep RUNNING; do sleep 0.2; done # its record follows its pods
scancel "$next"
until [ "$(squeue -h -t all -j "$next" -o %t)" = CA ]; do sleep 0.2; done
qstat -x "$next" | tail -n 1 | cut -d . -f 1
"""


@pytest.fixture
def image() -> str:
    return IMAGE if os.environ.get("HPCBATCH_RIG") == "cluster" else ""


def test_a_job_submits_the_next(site: Site, image: str) -> None:
    site.script("chain.pbs", CHAIN)
    variables = f"LINK=1,CONTAINER_IMAGE={image}" if image else "LINK=1"
    first = site.qsub("-v", variables, "chain.pbs")
    wait_for("all links", lambda: site.written("links").split() == ["1", "2", "3"], 120)
    assert site.wait_end(first)["Exit_status"] == 0
    assert site.read(f"chain.o{first}") == f"{int(first) + 1}.{site.server}\n" or image  # others may submit meanwhile


def test_a_job_drives_another(site: Site, image: str) -> None:
    job = site.sbatch(site.script("drive.sh", DRIVER), env={"HPCBATCH_IMAGE": image} if image else {})
    record = site.wait_end(job)
    states, comment, own, number = site.read("out").splitlines()
    assert record["Exit_status"] == 0
    assert (states, comment, own) == ("PD JobHeldUser", "found", "RUNNING")
    assert int(number) > int(job)
