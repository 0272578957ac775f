"""Jobs whose nodes are near each other: of three nodes two are at one switch, one at another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.conformance.rigs import Rig
from tests.conformance.site import Site
from tests.conformance.site_file import HEAD, configure, configured, published
from tests.conformance.test_lsf import bsub
from tests.waiting import wait_for

pytestmark = pytest.mark.alone

SWITCH, RACK = "test.hpcbatch.io/switch", "test.hpcbatch.io/rack"
KEYS = f"""\
topology:
- {{name: switch, label: {SWITCH}}}
- {{name: rack, label: {RACK}}}
"""


@pytest.fixture(scope="module")
def nodes(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The first two are at switch s1, the third one at s2; all in one rack."""
    admin = rig.site(tmp_path_factory.mktemp("admin"))
    listed = json.loads(admin.kubectl("get", "nodes", "-o", "json").stdout)["items"]
    found = [node["metadata"]["name"] for node in listed if not node["spec"].get("taints")][:3]
    before = configured(admin)
    for name, switch in zip(found, ("s1", "s1", "s2"), strict=True):
        admin.kubectl("label", "node", name, f"{SWITCH}={switch}", f"{RACK}=r1", "--overwrite")
    configure(admin, (HEAD if before is None else before) + KEYS)
    wait_for("the topology", lambda: "topology" in published(admin))
    yield found
    configure(admin, before)
    wait_for("the old configuration", lambda: "topology" not in published(admin))
    for name in found:
        admin.kubectl("label", "node", name, f"{SWITCH}-", f"{RACK}-")


def places(site: Site, job: str) -> list[str]:
    """The nodes of a job that has ended."""
    return sorted(set(re.findall(r"(?:^|\+)([^/+]+)/", site.wait_end(job)["exec_host"])))


def test_scontrol_shows_the_switches(site: Site, nodes: list[str]) -> None:
    lines = site.run("scontrol", "show", "topology").stdout.splitlines()
    assert [line.split(" Nodes=")[0] for line in lines] == [
        "SwitchName=s1 Level=0 LinkSpeed=1",
        "SwitchName=s2 Level=0 LinkSpeed=1",
        "SwitchName=r1 Level=1 LinkSpeed=1",
    ]
    assert lines[2].endswith(" Switches=s[1-2]")
    assert site.run("scontrol", "show", "topology", "s2").stdout == f"{lines[1]}\n"
    assert lines[1].endswith(f"Nodes={nodes[2]}")


@pytest.mark.parametrize("dialect", ["slurm", "pbs", "lsf"])
def test_a_job_is_at_one_switch(site: Site, nodes: list[str], dialect: str) -> None:
    body = "#!/bin/sh\ntrue\n"
    if dialect == "slurm":
        job = site.sbatch("-N2", "--switches=1@01:00:00", "-o", "/dev/null", stdin=body)
    elif dialect == "pbs":
        job = site.qsub("-l", "select=2:ncpus=1", "-l", "place=scatter:group=switch", "-koe", stdin=body)
    else:
        job = bsub(site, "-nnodes", "2", "-R", "cu[type=switch:maxcus=1]", "-o", "/dev/null", "true")
    assert places(site, job) == sorted(nodes[:2])


def test_a_job_may_have_several_switches(site: Site, nodes: list[str]) -> None:
    two = site.sbatch("-N3", "--switches=2@01:00:00", "-o", "/dev/null", "--wrap=true")
    assert places(site, two) == sorted(nodes)
    rack = site.qsub("-l", "select=3:ncpus=1", "-l", "place=scatter:group=rack", "-koe", stdin="true\n")
    assert places(site, rack) == sorted(nodes)


def test_a_job_that_no_switch_can_hold_never_runs(site: Site, nodes: list[str]) -> None:
    del nodes
    job = site.qsub("-l", "select=3:ncpus=1", "-l", "place=scatter:group=switch", stdin="true\n")
    said = "Can Never Run: No switch has all the nodes that the job needs"
    wait_for("the reason", lambda: said in site.run("qstat", "-s", job).stdout)
    site.run("qdel", job)


@pytest.mark.slow
def test_a_job_waits_for_its_switch_and_no_longer_than_it_says(site: Site, nodes: list[str]) -> None:
    """While one of two nodes is another job's, one waits; one that waits no longer takes what is free."""
    first = site.sbatch("-N1", "--exclusive", "-w", nodes[0], "-o", "/dev/null", "--wrap=sleep 600")
    site.wait_state(first, "R")
    waits = site.sbatch("-N2", "--exclusive", "--switches=1@01:00:00", "-o", "/dev/null", "--wrap=true")
    wait_for("its reason", lambda: site.run("squeue", "-h", "-j", waits, "-o", "%r").stdout == "Resources\n")
    said = "Not Running: Not enough free nodes of one switch"
    wait_for("the comment", lambda: said in site.run("qstat", "-s", waits).stdout)
    site.run("scancel", waits)
    goes = site.sbatch("-N2", "--exclusive", "--switches=1@00:00:01", "-o", "/dev/null", "--wrap=true")
    assert places(site, goes) == sorted(nodes[1:])
    again = site.sbatch("-N2", "--exclusive", "--switches=1@01:00:00", "-o", "/dev/null", "--wrap=true")
    site.run("scancel", first)
    assert places(site, again) == sorted(nodes[:2])
