"""Claims to devices in the place of extended resources: what a job's pods get, and what they are counted by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jinja2 import DictLoader

import hpcbatch
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.accelerator import Accelerator, devices_name
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.labels import JOB_ID_LABEL, MANAGED_BY
from hpcbatch.model.site import SiteConfig
from hpcbatch.volcano.delivery import delivery
from hpcbatch.volcano.pod_needs import claimed_by
from tests.unit.volcano.test_translate import OWNER, build, placed

CLASS, BIG = "gpu.fake.example", 'device.capacity["gpu.fake.example"].memory.isGreaterThan(quantity("40Gi"))'
KINDS = (
    Accelerator(name="any", device_class=CLASS, resource=devices_name(CLASS, "any", ())),
    Accelerator(name="big", device_class=CLASS, selectors=(BIG,), resource=devices_name(CLASS, "big", (BIG,))),
)
SITE = SiteConfig(accelerators=KINDS, resources={"gpu": KINDS[0].resource, **{k.full_name: k.resource for k in KINDS}})
CHUNKS = (
    Chunk(cpus=2, resources=(("gpu", 2),)),
    Chunk(count=2, cpus=2, resources=(("gpu", 2),)),
    Chunk(resources=(("gpu:any", 1), ("gpu:big", 4))),
    Chunk(),
)


def test_one_template_for_equal_pods() -> None:
    _, first, second, volcano_job = build(placed(*CHUNKS), site=SITE)
    labels = {**MANAGED_BY, JOB_ID_LABEL: "12"}
    exactly = {"deviceClassName": CLASS, "allocationMode": "ExactCount"}
    assert first == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {
            "name": first["metadata"]["name"],
            "namespace": "alice",
            "labels": labels,
            "ownerReferences": [OWNER],
        },
        "spec": {
            "metadata": {"labels": labels},
            "spec": {"devices": {"requests": [{"name": "devices-0", "exactly": {**exactly, "count": 2}}]}},
        },
    }
    assert second["spec"]["spec"]["devices"]["requests"] == [
        {"name": "devices-0", "exactly": {**exactly, "count": 1}},
        {
            "name": "devices-1",
            "exactly": {**exactly, "count": 4, "selectors": [{"cel": {"expression": BIG}}]},
        },
    ]
    pods = [task["template"] for task in volcano_job["spec"]["tasks"]]
    names = [one["metadata"]["name"] for one in (first, first, second)]
    assert [pod["spec"].get("resourceClaims") for pod in pods] == [
        *([{"name": "devices", "resourceClaimTemplateName": name}] for name in names),
        None,
    ]
    resources = [pod["spec"]["containers"][0]["resources"] for pod in pods]
    assert resources[0] == {"requests": {"cpu": "2"}, "claims": [{"name": "devices"}]}
    assert resources[3] == {"requests": {"cpu": "1"}}
    assert [claimed_by(pod) for pod in pods] == [
        *({KINDS[0].resource: 2}, {KINDS[0].resource: 2}, {KINDS[0].resource: 1, KINDS[1].resource: 4}, {}),
    ]


def test_another_claim_has_another_name() -> None:
    """What a template says cannot be changed."""
    names = {build(placed(Chunk(resources=(("gpu", n),))), site=SITE)[1]["metadata"]["name"] for n in (1, 2, 2)}
    assert len(names) == 2
    assert all(name.startswith("job-12-") for name in names)


def test_the_delivery_of_output_claims_nothing() -> None:
    made = delivery(build(placed(*CHUNKS), site=SITE)[-1], SITE)
    (task,) = made["spec"]["tasks"]
    assert "resourceClaims" not in task["template"]["spec"]
    assert task["template"]["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "100m"}}
    assert claimed_by(task["template"]) == {}


def test_a_template_of_a_site_s_own_that_knows_no_claims() -> None:
    text = (Path(next(iter(hpcbatch.__path__))) / "templates/volcano/job.yaml.j2").read_text("utf-8")
    without = "\n".join(line for line in text.splitlines() if "resourceClaims:" not in line)
    with pytest.raises(HpcBatchError, match=r"expected resourceClaims made from task\.claim_template"):
        build(placed(*CHUNKS), site=SITE, loader=DictLoader({"volcano/job.yaml.j2": without}))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        (
            "devices.hpcbatch.io/x=2 devices.hpcbatch.io/y:z=1",
            {"devices.hpcbatch.io/x": 2, "devices.hpcbatch.io/y:z": 1},
        ),
        ("nvidia.com/gpu=2 devices.hpcbatch.io/x=-1 devices.hpcbatch.io/x", {}),
    ],
)
def test_what_a_pod_is_counted_by(text: str, found: dict[str, int]) -> None:
    pod: dict[str, Any] = {"metadata": {"annotations": {"hpcbatch.io/devices": text}}}
    assert claimed_by(pod) == found
