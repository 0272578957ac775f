"""Devices of nodes as drivers publish them: which are counted, by which of a site's accelerators."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.model.accelerator import Accelerator, devices_name
from hpcbatch.model.labels import JOB_ID_LABEL
from hpcbatch.policy.devices import counted, demands_of, given_to, is_of_a_job, published, with_devices

Object = dict[str, Any]
DRIVER = "gpu.fake.example"
BIG = 'device.capacity["gpu.fake.example"].memory.compareTo(quantity("40Gi")) >= 0'
GPU = Accelerator(name="any", device_class=DRIVER, resource=devices_name(DRIVER, "any", ()))
LARGE = Accelerator(name="big", device_class=DRIVER, selectors=(BIG,), resource=devices_name(DRIVER, "big", (BIG,)))
CLASS = {"spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]}}


def device(name: str, memory: str = "80Gi", **more: Any) -> Object:
    return {"name": name, "attributes": {"kind": {"string": "x"}}, "capacity": {"memory": {"value": memory}}, **more}


def of_slice(*devices: Object, pool: str = "node-0", generation: int = 1, driver: str = DRIVER, **more: Any) -> Object:
    where = more or {"nodeName": "node-0"}
    return {
        "spec": {"driver": driver, "pool": {"name": pool, "generation": generation}, "devices": list(devices), **where}
    }


def count(*slices: Object, kinds: tuple[Accelerator, ...] = (GPU, LARGE), taken: Any = ()) -> dict[str, dict[str, int]]:
    tests, problems = demands_of(kinds, {DRIVER: CLASS})
    assert problems == ()
    return counted([published(one, tests) for one in slices], taken)


def test_by_class_and_by_selectors() -> None:
    found = count(of_slice(device("a"), device("b", "20Gi")), of_slice(device("c"), pool="other", nodeName="node-1"))
    assert found == {
        "node-0": {"devices.hpcbatch.io/gpu.fake.example": 2, "devices.hpcbatch.io/gpu.fake.example:big": 1},
        "node-1": {"devices.hpcbatch.io/gpu.fake.example": 1, "devices.hpcbatch.io/gpu.fake.example:big": 1},
    }


@pytest.mark.parametrize(
    ("slices", "devices"),
    [
        ([of_slice(device("a")), of_slice(device("b"))], 2),  # a pool in two slices
        ([of_slice(device("a"), device("b")), of_slice(device("c"), generation=2)], 1),  # the first is outdated
        ([of_slice(device("a"), driver="nic.fake.example")], 0),
        ([of_slice(device("a", taints=[{"key": "x", "effect": "NoSchedule"}]))], 0),
        ([of_slice(device("a", taints=[{"key": "x", "effect": "None"}]))], 1),
        ([of_slice(device("a"), allNodes=True)], 0),  # of no node alone
        ([of_slice(device("a", nodeName="node-0"), device("b"), perDeviceNodeSelection=True)], 1),
    ],
)
def test_what_counts(slices: list[Object], devices: int) -> None:
    assert count(*slices, kinds=(GPU,)).get("node-0", {}).get(GPU.resource, 0) == devices


def claim(*devices: str, labels: Object | None = None, **more: Any) -> Object:
    results = [{"driver": DRIVER, "pool": "node-0", "device": name, "request": "r", **more} for name in devices]
    return {"metadata": {"labels": labels or {}}, "status": {"allocation": {"devices": {"results": results}}}}


def test_what_others_have_claimed_is_gone() -> None:
    taken = given_to(claim("a")) | given_to(claim("b", adminAccess=True)) | given_to({"metadata": {}})
    assert count(of_slice(device("a"), device("b")), kinds=(GPU,), taken=taken) == {"node-0": {GPU.resource: 1}}
    assert not is_of_a_job(claim("a"))
    assert is_of_a_job(claim("a", labels={JOB_ID_LABEL: "12"}))


def test_what_is_wrong_is_told() -> None:
    other = {"spec": {"selectors": [{"cel": {"expression": "device.attributes.all(x, true)"}}]}}
    tests, problems = demands_of((GPU, LARGE), {})
    assert (tests, problems) == (
        {},
        (
            "accelerator any: there is no DeviceClass gpu.fake.example",
            "accelerator big: there is no DeviceClass gpu.fake.example",
        ),
    )
    tests, problems = demands_of((GPU,), {DRIVER: other})
    assert list(tests) == [GPU.resource]
    assert problems == (
        "DeviceClass gpu.fake.example: devices that its selector 'device.attributes.all(x, true)' leaves out are "
        "counted: column 19: the function all is not known here",
    )


def test_a_node_shows_them_like_extended_resources() -> None:
    node = {"metadata": {"name": "node-0"}, "status": {"allocatable": {"cpu": "4"}, "phase": "x"}}
    assert with_devices(node, {}) is node
    assert with_devices(node, {GPU.resource: 2})["status"] == {
        "allocatable": {"cpu": "4", "devices.hpcbatch.io/gpu.fake.example": "2"},
        "phase": "x",
    }
