"""Slurm's generic resources of a node, by the names of the site."""

from __future__ import annotations

import pytest

from hpcbatch.api.queuelist import gres_from, queues_to_json
from hpcbatch.model.accelerator import Accelerator
from hpcbatch.model.gres import Amount, amounts_of
from hpcbatch.model.row import NodeRow
from hpcbatch.model.site import SiteConfig

NVIDIA, AMD = "nvidia.com/gpu", "amd.com/gpu"
TYPED = SiteConfig(
    accelerators=(
        Accelerator(name="a100", resource=NVIDIA, labels={"gpu": "a100"}),
        Accelerator(name="h100", resource=NVIDIA, labels={"gpu": "h100"}),
        Accelerator(name="mi250", resource=AMD),
        Accelerator(name="claimed", resource="devices.hpcbatch.io/x", device_class="x"),
    ),
    resources={"gpu": NVIDIA, "ngpus": NVIDIA, "fpga": "xilinx.com/fpga"},
)


def node(extended: dict[str, int], used: dict[str, int], **labels: str) -> NodeRow:
    return NodeRow(
        "n1",
        ready=True,
        schedulable=True,
        cpus=8,
        mem_bytes=0,
        cpus_used=0,
        mem_used_bytes=0,
        labels=frozenset(labels.items()),
        extended=frozenset(extended.items()),
        extended_used=frozenset(used.items()),
    )


@pytest.mark.parametrize(
    ("site", "row", "found"),
    [
        (SiteConfig(), node({}, {}), ()),
        (SiteConfig(), node({NVIDIA: 4}, {NVIDIA: 1}), (("gpu", 4, 1),)),
        (SiteConfig(), node({NVIDIA: 4}, {"ngpus": 1, "gpu": 2}), (("gpu", 4, 3),)),
        (SiteConfig(), node({NVIDIA: 0, AMD: 4}, {}), ()),
        (TYPED, node({NVIDIA: 4}, {NVIDIA: 2}, gpu="h100"), (("gpu:h100", 4, 2),)),
        (TYPED, node({NVIDIA: 4}, {"gpu:a100": 2, "gpu:h100": 1}, gpu="a100"), (("gpu:a100", 4, 2),)),
        (TYPED, node({NVIDIA: 4}, {NVIDIA: 2}), (("gpu", 4, 2),)),
        (TYPED, node({AMD: 2, "xilinx.com/fpga": 1}, {"fpga": 1}), (("fpga", 1, 1), ("gpu:mi250", 2, 0))),
    ],
)
def test_what_a_node_has(site: SiteConfig, row: NodeRow, found: tuple[tuple[str, int, int], ...]) -> None:
    published = gres_from(queues_to_json(site))
    assert amounts_of(row, published) == tuple(Amount(*each) for each in found)
