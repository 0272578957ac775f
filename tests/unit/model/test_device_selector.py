"""Selectors of devices in CEL: what is selected, what is not, and what cannot be read."""

from __future__ import annotations

import pytest

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.device_selector import Amount, Device, Selector

DEVICE = Device(
    driver="gpu.nvidia.com",
    attributes={
        "gpu.nvidia.com": {
            "productName": "NVIDIA A100-SXM4-80GB",
            "architecture": "Ampere",
            "index": 3,
            "ecc": True,
            "cudaComputeCapability": Amount.version("8.0.0"),
        }
    },
    capacity={"gpu.nvidia.com": {"memory": Amount.quantity("80Gi")}},
)
OF = 'device.attributes["gpu.nvidia.com"]'
MEMORY = 'device.capacity["gpu.nvidia.com"].memory'


@pytest.mark.parametrize(
    "text",
    [
        'device.driver == "gpu.nvidia.com"',
        "device.driver == 'gpu.nvidia.com' && true",
        f'{OF}.productName.contains("A100")',
        f'{OF}.productName.lowerAscii().startsWith("nvidia a100")',
        f'{OF}.productName.matches("^NVIDIA A[13]00")',
        f'{OF}.productName.matches(r"A\\d+")',
        f'{OF}.architecture in ["Hopper", "Ampere"]',
        f"{OF}.index >= 2 && {OF}.index < 4 && {OF}.index != -1",
        f"{OF}.ecc",
        f"{OF}.ecc && !(2 < 1)",
        f'{MEMORY}.compareTo(quantity("40Gi")) >= 0',
        f'{MEMORY}.isGreaterThan(quantity("79Gi")) && {MEMORY}.isLessThan(quantity("100G"))',
        f'{OF}.cudaComputeCapability.isGreaterThan(semver("7.5.0"))',
        f'{OF}.cudaComputeCapability.compareTo(semver("8.0.0-rc.1")) > 0',
        f'cel.bind(gpu, {OF}, gpu.architecture == "Ampere" && gpu.index == 3)',
        f"has({OF}.index) && !has({OF}.none)",
        '!("other.example" in device.attributes)',
        f'{OF}.ecc ? device.driver.endsWith("com") : false',
        f'{OF}.none == "x" || device.driver == "gpu.nvidia.com"',
        'device.driver == "gpu.nvidia.com" || device.attributes["other"].none == 1',
        "device.allowMultipleAllocations == false",
        f"size({OF}.architecture) == 6",
    ],
)
def test_selected(text: str) -> None:
    assert Selector(text).fits(DEVICE)


@pytest.mark.parametrize(
    "text",
    [
        'device.driver == "gpu.amd.com"',
        f"{OF}.none",
        f"!{OF}.none",
        'device.attributes["other"].index == 3',
        f"{OF}.index",
        f'{OF}.index < "4"',
        f"{OF}.ecc == 1",
        f'{MEMORY}.compareTo(semver("1.0.0")) > 0',
        f'{MEMORY}.compareTo(quantity("no")) > 0',
        f'{OF}.index.startsWith("3")',
        f"{OF}.none && true || false",
        f'{OF}.productName.matches("(")',
    ],
)
def test_not_selected(text: str) -> None:
    """Wrong types and missing names too: Kubernetes gives no such device either."""
    assert not Selector(text).fits(DEVICE)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "column 1: it ends too soon"),
        ("device.driver ==", "column 17: it ends too soon"),
        ('device.driver = "x"', "column 15: '=' is not read here"),
        ("dev.driver", "column 1: 'dev' is not known here"),
        ('device.attributes["d"].all(x, x == 1)', "column 24: the function all is not known here"),
        ("(true", "column 6: it ends too soon"),
        ("true true", "column 6: 'true' is not expected here"),
        ("cel.bind(x, 1, x == 1) && x", "column 27: 'x' is not known here"),
        ("(" * 60 + "true" + ")" * 60, "column 51: too deep"),
    ],
)
def test_unreadable(text: str, error: str) -> None:
    with pytest.raises(HpcBatchError) as raised:
        Selector(text)
    assert str(raised.value) == error


@pytest.mark.parametrize(
    ("one", "other"),
    [("1.0.0-alpha", "1.0.0-alpha.1"), ("1.0.0-2", "1.0.0-11"), ("1.0.0-9", "1.0.0-a"), ("1.0.0-rc.1", "1.0.0")],
)
def test_versions_in_order(one: str, other: str) -> None:
    assert Amount.version(one).against(Amount.version(other)) == -1
