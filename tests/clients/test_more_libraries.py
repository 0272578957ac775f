"""More libraries by which programs submit jobs: each watches, cancels, and sees a failing job, where it has that."""

from __future__ import annotations

import os
import pwd

import pytest

from tests.clients.conftest import Program
from tests.conformance.site import Site

USER = pwd.getpwuid(os.getuid()).pw_name


def state(site: Site, job: object) -> str:
    """As sacct has it: COMPLETED, or of a cancelled job CANCELLED."""
    return site.run("sacct", "-XnP", "-o", "State", "-j", str(job)).stdout.split()[0]


def test_simple_slurm(program: Program, site: Site) -> None:
    found = program("small", "use_simple_slurm.py")
    array, bad, long = found["ids"]
    site.wait_end(str(bad))
    assert state(site, bad) == "FAILED"
    assert (found["shown"]["ST"], found["shown"]["MIN_MEMORY"]) == ("R", "100M")
    site.wait_end(str(long))
    assert state(site, long) == "CANCELLED"
    assert [site.read(f"{array}_{index}.out") for index in (1, 2, 3)] == [f"member {index}\n" for index in (1, 2, 3)]
    assert found["srun"] == 0


def test_clusterfutures(program: Program) -> None:
    found = program("small", "use_clusterfutures.py")
    assert found["results"] == [0, 1, 4]
    assert "on purpose" in found["error"]


@pytest.mark.parametrize("system", ["slurm", "pbs"])
def test_qtoolkit(program: Program, site: Site, system: str) -> None:
    found = program("small", "use_qtoolkit.py", system, USER)
    assert found["running"] in {"R", "RUNNING"}
    assert (found["nodes"], found["limit"], found["said"]) == (1, 300, "hello\n")
    assert found["users"] >= 1
    assert set(found["cancelled"]) == {"SUCCESSFUL"}
    assert site.wait_end(found["ids"][1].partition(".")[0])["Exit_status"] == 3


@pytest.mark.parametrize("system", ["SLURM", "PBS"])
def test_fireworks(program: Program, site: Site, system: str) -> None:
    found = program("fireworks", "use_fireworks.py", system)
    good, bad, long = found["ids"]
    assert [site.wait_end(job)["Exit_status"] for job in (good, bad)] == [0, 3]
    assert found["queued"] >= 1
    site.run("qdel", long)


@pytest.mark.parametrize("plugin", ["Slurm", "Torque", "OpenPBS"])
def test_galaxy(program: Program, plugin: str) -> None:
    found = program("pulsar-app", "use_pulsar.py", plugin)
    assert found["states"] == ["complete", "complete", "running"]
    assert (found["listed"], found["deleted"], found["end"], found["said"]) == (True, 0, "complete", "hello\n")


@pytest.mark.parametrize("kind", ["Slurm", "SlurmJobArray", "PBS"])
def test_dpdispatcher(program: Program, kind: str) -> None:
    found = program("dpdispatcher", "use_dpdispatcher.py", kind)
    assert found["said"] == ["hello\n", "hello\n"]
    assert "failed 4 times" in found["error"]


def test_ipyparallel(program: Program) -> None:
    found = program("ipyparallel", "use_ipyparallel.py")
    assert found["squares"] == [0, 1, 4, 9]
    assert all(host.startswith("job-") for host in found["hosts"])
