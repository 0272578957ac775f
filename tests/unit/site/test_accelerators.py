"""The key `accelerators` of the site's file: its values, its errors, and what it makes of `resources`."""

from __future__ import annotations

import pytest

from hpcbatch.model.accelerator import Accelerator
from hpcbatch.model.site import SiteConfig
from hpcbatch.site.file import read_config
from tests.unit.site.test_file import HEAD, problems

BODY = """
queues: [{name: workq, default: true}, {name: npu}]
accelerators:
- name: a100
  aliases: ["NVIDIAA100*"]
  resource: nvidia.com/gpu
  nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB}
- {name: 1g.5gb, resource: nvidia.com/mig-1g.5gb}
- {name: mi250, resource: amd.com/gpu}
- {name: max1550, resource: gpu.intel.com/i915}
- name: c500
  resource: metax-tech.com/gpu
  annotations: {site.example/near: "true"}
- {name: "910", resource: huawei.com/Ascend910, queues: [npu]}
- {name: fpga, resource: site.example/fpga, visibleDevices: FPGA_DEVICES}
- {name: quiet, resource: nvidia.com/gpu.shared, visibleDevices: none}
- {name: claimed, deviceClass: gpu.nvidia.com}
- name: large
  deviceClass: gpu.amd.com
  selectors: ['device.capacity["gpu.amd.com"].memory.compareTo(quantity("64Gi")) >= 0']
"""


def read(body: str) -> SiteConfig:
    return read_config(HEAD + body, defaults=SiteConfig())


def test_all_keys() -> None:
    site = read(BODY)
    assert site.accelerators[0] == Accelerator(
        name="a100",
        aliases=("NVIDIAA100*",),
        resource="nvidia.com/gpu",
        labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"},
    )
    assert site.accelerators[4].annotations == {"site.example/near": "true"}
    assert site.resources == {
        "gpu": "nvidia.com/gpu",
        "ngpus": "nvidia.com/gpu",
        "gpu:a100": "nvidia.com/gpu",
        "gpu:1g.5gb": "nvidia.com/mig-1g.5gb",
        "gpu:mi250": "amd.com/gpu",
        "gpu:max1550": "gpu.intel.com/i915",
        "gpu:c500": "metax-tech.com/gpu",
        "gpu:910": "huawei.com/Ascend910",
        "gpu:fpga": "site.example/fpga",
        "gpu:quiet": "nvidia.com/gpu.shared",
        "gpu:claimed": "devices.hpcbatch.io/gpu.nvidia.com",
        "gpu:large": "devices.hpcbatch.io/gpu.amd.com:large",
    }
    assert (site.accelerators[9].device_class, len(site.accelerators[9].selectors)) == ("gpu.amd.com", 1)
    assert (site.accelerator_in("npu"), site.accelerator_in("workq")) == (site.accelerators[5], None)


@pytest.mark.parametrize(
    ("resource", "variable"),
    [
        ("gpu", "CUDA_VISIBLE_DEVICES"),
        ("gpu:a100", "CUDA_VISIBLE_DEVICES"),
        ("gpu:1g.5gb", "CUDA_VISIBLE_DEVICES"),
        ("gpu:mi250", "ROCR_VISIBLE_DEVICES"),
        ("gpu:max1550", "ZE_AFFINITY_MASK"),
        ("gpu:c500", "MACA_VISIBLE_DEVICES"),
        ("gpu:910", "ASCEND_RT_VISIBLE_DEVICES"),
        ("gpu:fpga", "FPGA_DEVICES"),
        ("gpu:quiet", ""),
        ("gpu:claimed", "CUDA_VISIBLE_DEVICES"),
        ("gpu:large", "ROCR_VISIBLE_DEVICES"),
        ("licence", ""),
    ],
)
def test_the_variable_of_visible_devices(resource: str, variable: str) -> None:
    assert read(BODY).visible_variable(resource) == variable


def test_without_accelerators_the_resource_says_which_variable() -> None:
    assert SiteConfig().visible_variable("ngpus") == "CUDA_VISIBLE_DEVICES"
    assert SiteConfig(resources={"gpu": "amd.com/gpu"}).visible_variable("gpu") == "ROCR_VISIBLE_DEVICES"
    assert SiteConfig(resources={"gpu": "site.example/x"}).visible_variable("gpu") == ""


def test_resources_that_are_given_stay() -> None:
    site = read("resources: {gpu: amd.com/gpu, nic: site.example/nic}\naccelerators: [{name: x, resource: a.b/c}]\n")
    assert site.resources == {"gpu": "amd.com/gpu", "nic": "site.example/nic", "gpu:x": "a.b/c"}


@pytest.mark.parametrize(
    ("name", "found"),
    [("a100", "a100"), ("A100", "a100"), ("nvidiaa100_sxm", "a100"), ("1G.5GB", "1g.5gb"), ("h100", None)],
)
def test_types_by_any_of_their_names(name: str, found: str | None) -> None:
    kind = read(BODY).accelerator_called(name)
    assert (kind and kind.name) == found


FAULTS = {
    "accelerators: [{resource: a.b/c}]": "site.yaml:3:16: accelerators[0].name: missing",
    "accelerators: [{name: x}]": "site.yaml:3:16: accelerators[0].resource: missing",
    "accelerators: [{name: 'x y', resource: a.b/c}]": (
        "site.yaml:3:23: accelerators[0].name: expected a type as scripts write it, such as a100 or 1g.5gb, found 'x y'"
    ),
    "accelerators: [{name: x, resource: gpu}]": (
        "site.yaml:3:36: accelerators[0].resource: expected an extended resource such as nvidia.com/gpu"
    ),
    "accelerators: [{name: x, resource: a.b/c}, {name: x, resource: a.b/d}]": (
        "site.yaml:3:51: accelerators[1].name: a second accelerator 'x'"
    ),
    "accelerators: [{name: x, resource: a.b/c, queues: [none]}]": (
        "site.yaml:3:51: accelerators[0].queues: there is no queue 'none'"
    ),
    "accelerators: [{name: x, resource: a.b/c, visibleDevices: A-B}]": (
        "site.yaml:3:59: accelerators[0].visibleDevices: expected a variable such as CUDA_VISIBLE_DEVICES, or none, "
        "found 'A-B'"
    ),
    "accelerators: [{name: x, resource: a.b/c, annotations: {volcano.sh/x: y}}]": (
        "site.yaml:3:56: accelerators[0].annotations: volcano.sh/x: those of volcano.sh are the controller's own"
    ),
    "accelerators: [{name: x, resource: a.b/c, annotations: {a b: y}}]": (
        "site.yaml:3:56: accelerators[0].annotations: 'a b' is no annotation's key: expected [domain/]name"
    ),
    "accelerators: [{name: x, resource: a.b/c, deviceClass: gpu.example}]": (
        "site.yaml:3:36: accelerators[0].resource: expected a resource or a deviceClass, not both"
    ),
    "accelerators: [{name: x, resource: a.b/c, selectors: ['true']}]": (
        "site.yaml:3:54: accelerators[0].selectors: only devices of a deviceClass can be selected"
    ),
    "accelerators: [{name: x, deviceClass: GPU}]": (
        "site.yaml:3:39: accelerators[0].deviceClass: expected the name of a DeviceClass such as gpu.nvidia.com, "
        "found 'GPU'"
    ),
    "accelerators: [{name: x, deviceClass: gpu.example, selectors: [gpu == 1]}]": (
        "site.yaml:3:64: accelerators[0].selectors: 'gpu == 1' is no selector that hpcbatch can count devices by: "
        "column 1: 'gpu' is not known here"
    ),
    "resources: {'gpu:x': a.b/d}\naccelerators: [{name: x, resource: a.b/c}]": (
        "site.yaml:3:12: resources: gpu:x is another resource than accelerator 'x'"
    ),
}


@pytest.mark.parametrize("body", FAULTS)
def test_faults(body: str) -> None:
    assert problems(body, SiteConfig()) == [FAULTS[body]]


def test_gpus_of_no_type_are_of_one_type_in_a_queue() -> None:
    body = "queues: [{name: q, default: true}]\naccelerators:\n"
    body += "".join(f"- {{name: {name}, resource: a.b/{name}, queues: [q]}}\n" for name in "xy")
    assert problems(body, SiteConfig()) == [
        "site.yaml:6:38: accelerators[1].queues: GPUs of no type in queue 'q' are 'x' already"
    ]
