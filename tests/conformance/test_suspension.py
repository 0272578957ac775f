"""A suspended job leaves its CPUs to others, and goes on when they are free again. Each case runs alone, on nodes that
it fills.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.conformance.operator import as_operator
from tests.conformance.site import Site
from tests.waiting import wait_for

pytestmark = pytest.mark.alone

ALL = ("-N", "3", "-c", "2")
"""All CPUs of the three nodes."""
COUNTS = "echo begun; i=0; while [ ! -e go ]; do sleep 0.2; i=$((i + 1)); done; echo done"
"""Runs until the file `go` is there."""


@pytest.fixture
def admin(site: Site) -> Iterator[Site]:
    yield site
    site.close()


def squeue(site: Site, job: str) -> str:
    return site.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%t %r").stdout.strip()


def state(site: Site, job: str) -> str:
    return squeue(site, job).partition(" ")[0]


def begun(site: Site, output: str, *options: str) -> str:
    """A job whose script has begun and goes on until it is told."""
    job = site.sbatch(*options, "-o", output, "--wrap", COUNTS)
    wait_for("its script", lambda: "begun" in site.written(output), 90)
    return job


@pytest.mark.slow
def test_by_an_operator(admin: Site) -> None:
    """Others run meanwhile; when it is resumed, it waits for its CPUs, and nobody gets in between."""
    first = begun(admin, "first.out", *ALL)
    assert as_operator(admin, "scontrol", "suspend", first).stderr == ""
    assert state(admin, first) == "S"
    second = admin.sbatch(*ALL, "-o", "second.out", "--wrap", "echo here; while [ ! -e end ]; do sleep 0.2; done")
    wait_for("another job's script", lambda: "here" in admin.written("second.out"), 90)
    shown = admin.run("scontrol", "-o", "show", "job", first).stdout
    assert "JobState=SUSPENDED " in shown and "NumCPUs=6 " in shown and " SuspendTime=2" in shown
    assert re.search(r"exec_vnode = (\(\S+?:ncpus=2\)\+?){3}\n", admin.run("qstat", "-wf", first).stdout)
    assert as_operator(admin, "scontrol", "resume", first).stderr == ""
    assert squeue(admin, first) == "S Resources"
    third = admin.sbatch(*ALL, "-o", "third.out", "--wrap", "echo late")
    admin.run("touch", "end")
    wait_for("it goes on", lambda: state(admin, first) == "R", 90)
    admin.wait_end(second)
    assert state(admin, third) == "PD"
    admin.run("touch", "go")
    admin.wait_end(first)
    assert admin.read("first.out") == "begun\ndone\n"
    admin.wait_end(third)
    assert admin.read("third.out") == "late\n"
