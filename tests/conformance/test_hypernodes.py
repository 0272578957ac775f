"""Volcano's HyperNodes as the levels of the network, without a label: of three nodes two are in one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import pytest

from tests.conformance.rigs import Rig
from tests.conformance.site import Site
from tests.conformance.site_file import HEAD, configure, configured, published
from tests.conformance.test_topology import places
from tests.waiting import wait_for

pytestmark = pytest.mark.alone

LABEL = "test.hpcbatch.io/leaf"
KEYS = """\
topology:
- {name: switch, tier: 1}
- {name: rack, tier: 2}
"""


@pytest.fixture(scope="module")
def admin(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Site:
    return rig.site(tmp_path_factory.mktemp("admin"))


@pytest.fixture(scope="module")
def nodes(admin: Site) -> Iterator[list[str]]:
    """The first is in t1 by its name and the second by a label, the third in t2 by a pattern; all in t9."""
    listed = json.loads(admin.kubectl("get", "nodes", "-o", "json").stdout)["items"]
    found = [node["metadata"]["name"] for node in listed if not node["spec"].get("taints")][:3]
    before = configured(admin)
    admin.kubectl("label", "node", found[1], f"{LABEL}=one", "--overwrite")
    by_name, by_label = {"exactMatch": {"name": found[0]}}, {"labelMatch": {"matchLabels": {LABEL: "one"}}}
    leaves = [member("Node", by_name), member("Node", by_label)]
    put(admin, "t1", 1, *leaves)
    put(admin, "t2", 1, member("Node", {"regexMatch": {"pattern": f"^{found[2]}$"}}))
    put(admin, "t9", 2, *(member("HyperNode", {"exactMatch": {"name": name}}) for name in ("t1", "t2")))
    configure(admin, (HEAD if before is None else before) + KEYS)
    wait_for("the topology", lambda: "topology" in published(admin))
    yield found
    configure(admin, before)
    wait_for("the old configuration", lambda: "topology" not in published(admin))
    admin.kubectl("delete", "hypernode", "t1", "t2", "t9", "--ignore-not-found")
    admin.kubectl("label", "node", found[1], f"{LABEL}-")


def member(kind: str, selector: Mapping[str, object]) -> dict[str, object]:
    return {"type": kind, "selector": selector}


def put(admin: Site, name: str, tier: int, *members: dict[str, object]) -> None:
    made = {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": {"tier": tier, "members": list(members)},
    }
    (admin.work / "hypernode.json").write_text(json.dumps(made))
    admin.kubectl("apply", "-f", f"{admin.work}/hypernode.json")


def test_scontrol_shows_them(site: Site, nodes: list[str]) -> None:
    lines = site.run("scontrol", "show", "topology").stdout.splitlines()
    assert [line.split(" Nodes=")[0] for line in lines] == [
        "SwitchName=t1 Level=0 LinkSpeed=1",
        "SwitchName=t2 Level=0 LinkSpeed=1",
        "SwitchName=t9 Level=1 LinkSpeed=1",
    ]
    assert lines[1].endswith(f"Nodes={nodes[2]}")
    assert lines[2].endswith(" Switches=t[1-2]")


def test_jobs_are_in_one(site: Site, nodes: list[str]) -> None:
    slurm = site.sbatch("-N2", "--switches=1@01:00:00", "-o", "/dev/null", "--wrap=true")
    assert places(site, slurm) == sorted(nodes[:2])
    pbs = site.qsub("-l", "select=3:ncpus=1", "-l", "place=scatter:group=rack", "-koe", stdin="true\n")
    assert places(site, pbs) == sorted(nodes)


def test_a_job_waits_until_one_has_the_nodes(admin: Site, site: Site, nodes: list[str]) -> None:
    job = site.qsub("-l", "select=3:ncpus=1", "-l", "place=scatter:group=switch", "-koe", stdin="true\n")
    said = "Can Never Run: No switch has all the nodes that the job needs"
    wait_for("the reason", lambda: said in site.run("qstat", "-s", job).stdout)
    put(admin, "t2", 1, member("Node", {"regexMatch": {"pattern": "|".join(f"^{name}$" for name in nodes)}}))
    admin.kubectl("delete", "hypernode", "t1")
    assert places(site, job) == sorted(nodes)
