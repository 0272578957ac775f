"""What sbatch checks of the options that say where inside a node tasks, memory and GPUs are."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.slurm.binding_values import (
    check_distribution,
    is_cpu_freq,
    is_gpu_bind,
    is_gpu_freq,
    parse_extra_node_info,
    wrong_mem_bind,
)


@pytest.mark.parametrize(
    "text",
    [
        "block",
        "cyclic",
        "Block:Cyclic",
        "*:block",
        "block:block:fcyclic",
        "arbitrary",
        "plane=4",
        "cyclic,Pack",
        "pack",
    ],
)
def test_distribution(text: str) -> None:
    check_distribution(text)


@pytest.mark.parametrize("text", ["", "foo", "fcyclic", "block:foo", "a:b:c:d", "plane", "plane=x", "block,foo"])
def test_no_distribution(text: str) -> None:
    with pytest.raises(ValueError):
        check_distribution(text)


def test_extra_node_info() -> None:
    assert parse_extra_node_info("2") == (2, None, None)
    assert parse_extra_node_info("1:8:1") == (1, 8, 1)
    assert parse_extra_node_info("*:4-8") == (None, 4, None)
    for text, place in (("x", "first"), ("1:x", "second"), ("1:1:-1", "third"), ("1:1:1:1", "third")):
        with pytest.raises(ValueError, match=place):
            parse_extra_node_info(text)


def test_clocks() -> None:
    assert all(
        map(
            is_cpu_freq,
            (
                "2400000",
                "low",
                "High",
                "highm1",
                "performance",
                "low-high",
                "1000-2000:OnDemand",
                "med-hi:perf",
                "1.5GHz",
                "pow-low",
            ),
        )
    )
    assert not any(
        map(
            is_cpu_freq,
            ("", "x", "low:performance", "performance:low", "low-x", "0", "2000-1000", "high-low", "low-high:x"),
        )
    )
    assert all(map(is_gpu_freq, ("450", "medium,memory=high", "verbose,low")))
    assert not any(map(is_gpu_freq, ("", "x", "power=3")))


def test_bindings() -> None:
    assert all(map(is_gpu_bind, ("closest", "none", "single:2", "verbose,map_gpu:0,1", "mask_gpu:0x3,3", "per_task:1")))
    assert not any(map(is_gpu_bind, ("", "x", "single", "map_gpu:x", "per_task:y")))
    for text in ("local", "v,local", "map_mem:0,1", "mask_mem=0x1,0x2", "quiet,rank", "none"):
        assert wrong_mem_bind(text) is None
    assert wrong_mem_bind("local,foo") == "foo"
