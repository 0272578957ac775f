"""Queues divided among two controllers as docs/scale.md says, with virtual nodes: one sequence of numbers, one list."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cluster import controllers
from tests.cluster.conftest import Admin
from tests.cluster.kwok import virtual_nodes
from tests.cluster.state import CHECKOUT
from tests.conformance.rigs import ClusterRig
from tests.conformance.site import Site
from tests.conformance.site_file import configure, configured, published
from tests.pages import fenced, section
from tests.waiting import wait_for

NODES, JOBS = 20, 12
QUEUES = ("main", "west", "west-long")
VOLCANO_QUEUES = {
    "apiVersion": "v1",
    "kind": "List",
    "items": [
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": {"weight": 1},
        }
        for name in QUEUES
    ],
}
NAMESPACE = ("-n", controllers.NAMESPACE)
WEST = f"{controllers.LEASE}-west"


@pytest.fixture(scope="module")
def shards(rig: ClusterRig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The page's queues and rights, and a controller for the shard `west`, whose hall has half of the virtual nodes."""
    site = rig.site(tmp_path_factory.mktemp("admin"))
    admin, before = Admin(rig.admin_env), configured(site)
    page = (CHECKOUT / "docs/scale.md").read_text()
    queues, begin, rights = fenced(section(page, "Queues divided among controllers"), "yaml").partition("apiVersion:")
    deployment = json.loads(admin.kubectl(*NAMESPACE, "get", "deployment", controllers.LEASE, "-o", "json").stdout)
    labels = {"app.kubernetes.io/name": "hpcbatch", "app.kubernetes.io/component": "controller-west"}
    spec = deployment["spec"]
    spec["selector"]["matchLabels"] = spec["template"]["metadata"]["labels"] = labels
    spec["template"]["spec"]["containers"][0]["args"] += ["--shard", "west"]
    deployment["metadata"] = {"name": WEST, "namespace": controllers.NAMESPACE, "labels": labels}
    made = f"{json.dumps(VOLCANO_QUEUES)}\n---\n{json.dumps(deployment)}\n---\n{begin}{rights}"
    with virtual_nodes(NODES):
        try:
            admin.kubectl("label", "nodes", *(f"virtual-{number}" for number in range(NODES // 2)), "hall=west")
            admin.kubectl("create", "-f", "-", stdin=made)
            configure(site, (before or "") + queues)
            wait_for("the queues", lambda: "west-long" in json.dumps(published(site)))
            admin.kubectl(*NAMESPACE, "rollout", "status", f"deployment/{WEST}", "--timeout=90s")
            yield
        finally:
            configure(site, before)
            wait_for("the old configuration", lambda: "west-long" not in json.dumps(published(site)))
            admin.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=made)
            admin.kubectl(*NAMESPACE, "delete", "--ignore-not-found", "lease", WEST)


def submit(site: Site, queue: str) -> str:
    """More than a real node has."""
    return site.qsub("-q", queue, "-l", "select=1:ncpus=4", "-j", "oe", "-o", "/dev/null", stdin="true\n")


def holder(admin: Admin, lease: str) -> str:
    path = "jsonpath={.spec.holderIdentity}"
    return admin.kubectl(*NAMESPACE, "get", "lease", lease, "-o", path).stdout


def test_one_sequence_of_numbers_and_one_list(admin: Admin, alice: Site, bob: Site, shards: None) -> None:
    del shards
    queues = [QUEUES[number % len(QUEUES)] for number in range(2 * JOBS)]
    with ThreadPoolExecutor(4) as pool:
        sites = [alice if number < JOBS else bob for number in range(2 * JOBS)]
        jobs = list(pool.map(submit, sites, queues))
    assert len(set(jobs)) == 2 * JOBS
    for site, queue, job in zip(sites, queues, jobs, strict=True):
        record = site.wait_end(job, 180)
        assert (record["queue"], record["Exit_status"]) == (queue, 0), record
        assert queue == "main" or int(record["exec_host"].split("/")[0].removeprefix("virtual-")) < NODES // 2, record
    by_number = [queue for _, queue in sorted(zip(map(int, jobs), queues, strict=True))]
    assert by_number.index("main") < len(by_number) - 1 - by_number[::-1].index("west"), "numbers of both, mixed"
    for site, own in ((alice, jobs[:JOBS]), (bob, jobs[JOBS:])):
        assert set(own) <= set(site.run("squeue", "-h", "-t", "all", "-o", "%A").stdout.split())
    assert holder(admin, controllers.LEASE).startswith(f"{controllers.LEASE}-")
    assert holder(admin, WEST).startswith(f"{WEST}-")
    assert not holder(admin, controllers.LEASE).startswith(f"{WEST}-")


def test_a_shard_goes_on_without_the_others(alice: Site, shards: None) -> None:
    del shards
    with controllers.away():
        assert alice.wait_end(submit(alice, "west"), 180)["Exit_status"] == 0
        refused = alice.run("qsub", "-q", "main", stdin="true\n", check=False)
        assert (refused.returncode, refused.stdout) == (255, ""), refused
        assert "did not answer" in refused.stderr
    assert alice.wait_end(submit(alice, "main"), 180)["Exit_status"] == 0
