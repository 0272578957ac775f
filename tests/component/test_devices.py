"""Devices that jobs claim (DRA), with a fake driver, on the in-memory store: its scheduler places pods by CPU alone, so
who waits for a device waits for the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hpcbatch.api.names import SITE_CONFIGMAP, SYSTEM_NAMESPACE
from hpcbatch.api.resources import BATCHJOBS, CONFIGMAPS, NAMESPACES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from hpcbatch.controller.guarded import GuardedApi
from hpcbatch.model.chunk import Chunk
from hpcbatch.site.identity import GID, HOME, UID, USER
from tests.component.fake_devices import DRIVER, claim, install_devices, publish, templates
from tests.component.test_plan import controlled, end, put, status, wait_for_reason, wait_to_run
from tests.component.volcano_cluster import NS, Cluster, running
from tests.thoroughness import in_turn
from tests.waiting import wait_for

SITE = f"""\
apiVersion: hpcbatch.io/v1alpha1
kind: SiteConfiguration
accelerators: [{{name: fake, deviceClass: {DRIVER}}}]
"""
ONE, TWO = (Chunk(resources=(("gpu", count),)) for count in (1, 2))


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Two nodes of 4 CPUs, of which the first has two devices."""
    with running(4, 4) as cluster:
        prepare(cluster)
        install_devices(cluster)
        publish(cluster, "node-0", "a", "b")
        yield cluster


def prepare(cluster: Cluster) -> None:
    """The user's namespace and the site's configuration."""
    notes = {USER: "alice", UID: "1000", GID: "1000", HOME: "/home/alice"}
    cluster.registry.patch(NAMESPACES, NS, {"metadata": {"annotations": notes}})
    site = {"metadata": {"name": SITE_CONFIGMAP}, "data": {"site.yaml": SITE}}
    cluster.registry.create(CONFIGMAPS, site, SYSTEM_NAMESPACE)


def message(cluster: Cluster, job: str) -> str:
    return str(status(cluster, job).get("message", ""))


def test_jobs_wait_for_devices_as_for_any_resource(cluster: Cluster) -> None:
    with controlled(cluster.registry):
        first, second = put(cluster, ONE), put(cluster, ONE)
        wait_to_run(cluster, first, second)
        pod = cluster.registry.get(PODS, f"job-{first}-mpimaster-0", NS)
        assert pod["spec"]["nodeName"] == "node-0"
        names = {one["metadata"]["labels"]["hpcbatch.io/job-id"]: one["metadata"]["name"] for one in templates(cluster)}
        assert pod["spec"]["resourceClaims"] == [{"name": "devices", "resourceClaimTemplateName": names[first]}]
        third = put(cluster, TWO)
        wait_for_reason(cluster, third, "Resources")
        end(cluster, first)
        end(cluster, second)
        wait_to_run(cluster, third)
        wait_for("the first jobs' templates to go", lambda: len(templates(cluster)) == 1)
        never = put(cluster, Chunk(resources=(("gpu", 3),)))
        wait_for(f"job {never}'s reason", lambda: status(cluster, never).get("reason") == "NeverFits")
        record = cluster.registry.list(BATCHJOBS, NS, fields=f"status.jobId={third}").items[0]["metadata"]
        (owner,) = templates(cluster)[0]["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"]) == ("BatchJob", record["uid"])


def test_other_people_s_claims_and_new_slices_count(cluster: Cluster) -> None:
    claim(cluster, "theirs", "node-0", "a")
    with controlled(cluster.registry):
        job = put(cluster, TWO)
        wait_for(f"job {job}'s reason", lambda: "gpu (R: 2 A: 1 T: 1)" in message(cluster, job))
        cluster.registry.delete(RESOURCE_CLAIMS, "theirs", NS)
        wait_to_run(cluster, job)
        later = put(cluster, ONE)
        wait_for_reason(cluster, later, "Resources")
        publish(cluster, "node-1", "a")
        wait_to_run(cluster, later)
        cluster.registry.delete(RESOURCE_SLICES, f"node-1-{DRIVER}")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("writes", in_turn(range(1, 12)))
def test_one_template_whenever_the_controller_is_killed(cluster: Cluster, writes: int) -> None:
    left = writes

    def may_write() -> bool:
        nonlocal left
        left -= 1
        return left >= 0

    def runs(job: str) -> bool:
        return bool(status(cluster, job)["state"] == "Running")

    with controlled(cluster.registry):
        first = put(cluster, TWO)
        wait_to_run(cluster, first)
        job = put(cluster, TWO)
        wait_for_reason(cluster, job, "Resources")
    end(cluster, first)
    with controlled(GuardedApi(cluster.registry, may_write)):
        wait_for("the first controller's end", lambda: left < 0 or runs(job), 60, every_s=0.05)
    with controlled(cluster.registry):
        wait_to_run(cluster, job)
        wait_for("one template", lambda: len(templates(cluster)) == 1)
        end(cluster, job)
        wait_for("no template", lambda: not templates(cluster))
    assert len(cluster.kubelet.started) == len(set(cluster.kubelet.started)), "none ran twice"


@pytest.mark.slow
def test_without_the_api_a_job_says_so() -> None:
    with running(4) as bare:
        prepare(bare)
        with controlled(bare.registry):
            job = put(bare, ONE)
            wait_for(f"job {job}'s reason", lambda: "gpu (R: 1 A: 0 T: 0)" in message(bare, job), 30)
