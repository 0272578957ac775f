"""Devices that jobs claim (DRA), given out by Volcano's scheduler. The driver is a fake: an admin publishes its
devices, which nobody provides, of a virtual node, whose kubelet is played too.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster import daemons
from tests.cluster.conftest import Admin
from tests.cluster.kwok import virtual_nodes
from tests.cluster.state import ADMIN_CONF, STATE
from tests.conformance.rigs import ClusterRig
from tests.conformance.site import Site
from tests.conformance.site_file import configure, configured, published
from tests.waiting import wait_for

DRIVER, NODE = "gpu.fake.example", "virtual-0"
API = "resource.k8s.io/v1"
KEYS = f"""\
accelerators:
- name: fake
  deviceClass: {DRIVER}
  selectors: ['device.attributes["{DRIVER}"].kind == "big"']
  visibleDevices: FAKE_DEVICES
translations:
- {{option: "--dra", ignored: a mark}}
"""
PLAIN = "{name: predicates}"
WITH_DEVICES = "{name: predicates, arguments: {predicate.DynamicResourceAllocationEnable: true}}"


@pytest.fixture(scope="module")
def driver(rig: ClusterRig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Three devices, two of them big, and a Volcano and a site that know of them."""
    site = rig.site(tmp_path_factory.mktemp("admin"))
    admin, before = Admin(rig.admin_env), configured(site)
    scheduler = (STATE / "scheduler.yaml").read_text()
    kinds = [("a", "big"), ("b", "big"), ("c", "small")]
    objects: list[dict[str, Any]] = [
        {
            "apiVersion": API,
            "kind": "DeviceClass",
            "metadata": {"name": DRIVER},
            "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]},
        },
        {
            "apiVersion": API,
            "kind": "ResourceSlice",
            "metadata": {"name": f"{NODE}-fake"},
            "spec": {
                "driver": DRIVER,
                "nodeName": NODE,
                "pool": {"name": NODE, "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": name, "attributes": {"kind": {"string": kind}}} for name, kind in kinds],
            },
        },
    ]
    with virtual_nodes(1):
        for obj in objects:
            admin.kubectl("create", "-f", "-", stdin=json.dumps(obj))
        restart(scheduler.replace(PLAIN, WITH_DEVICES))
        configure(site, (before or "") + KEYS)
        wait_for("the accelerators", lambda: "--dra" in json.dumps(published(site)))
        yield
        configure(site, before)
        wait_for("the old configuration", lambda: "--dra" not in json.dumps(published(site)))
        restart(scheduler)
        for obj in objects:
            admin.kubectl("delete", obj["kind"].lower(), obj["metadata"]["name"])


def restart(config: str) -> None:
    """Volcano's scheduler, with that configuration."""
    (STATE / "scheduler.yaml").write_text(config)
    daemons.kill("vc-scheduler")
    daemons.restart("vc-scheduler")


def test_volcano_gives_each_pod_its_devices(alice: Site, driver: None) -> None:
    del driver
    command = (str(STATE / "bin/kubectl"), "--kubeconfig", str(ADMIN_CONF), "-n", alice.namespace)
    watch = [*command, "get", "resourceclaims", "--watch", "-o", 'jsonpath={.status.allocation.devices.results}{"\\n"}']
    seen = alice.work / "claims"
    with seen.open("w") as out, subprocess.Popen(watch, stdout=out) as watching:
        job = alice.sbatch("--gpus-per-node=fake:2", "-o", "gpus.out", stdin="#!/bin/sh\ntrue\n")
        record = alice.wait_end(job)
        wait_for("the claim", lambda: '"device":"b"' in seen.read_text())
        watching.terminate()
    assert record["Exit_status"] == 0
    assert f"({NODE}:ncpus=1:ngpus=2)" in record["exec_vnode"]
    given = [json.loads(line) for line in seen.read_text().splitlines() if line]
    assert {one["device"] for one in given[-1]} == {"a", "b"}
    wait_for("the template to go", lambda: f"job-{job}-" not in templates(alice))


def templates(site: Site) -> str:
    return site.kubectl("get", "resourceclaimtemplates", "-o", "name").stdout


def test_more_than_a_node_has_never_runs(alice: Site, driver: None) -> None:
    del driver
    done = alice.run("sbatch", "--gpus-per-node=fake:3", "--wrap=true", check=False)
    assert done.returncode == 1, done.stdout
    assert "Requested node configuration is not available" in done.stderr
