"""What pods ask of their node under a site's names for it."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.site import QueueConfig, SiteConfig
from hpcbatch.volcano.pod_needs import node_selector, resources

SITE = SiteConfig(
    node_properties={"haswell": {"cpu": "haswell"}, "rome": {"cpu": "rome"}, "fast": {"cpu": "rome", "net": "ib"}}
)
QUEUE = QueueConfig(name="workq", volcano_queue="default", node_selector={"pool": "batch"})


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [
        (Chunk(cpus=2), {"requests": {"cpu": "2"}}),
        (Chunk(mem_bytes=5), {"requests": {"cpu": "1", "memory": "5"}, "limits": {"memory": "5"}}),
        (
            Chunk(resources=(("ngpus", 2),)),
            {"requests": {"cpu": "1", "nvidia.com/gpu": "2"}, "limits": {"nvidia.com/gpu": "2"}},
        ),
        (
            Chunk(mem_bytes=5, resources=(("gpu", 1), ("ngpus", 2))),
            {
                "requests": {"cpu": "1", "memory": "5", "nvidia.com/gpu": "3"},
                "limits": {"memory": "5", "nvidia.com/gpu": "3"},
            },
        ),
    ],
)
def test_resources(chunk: Chunk, expected: dict[str, Any]) -> None:
    assert resources(chunk, SITE) == expected


def test_unknown_resource() -> None:
    with pytest.raises(HpcBatchError, match="this site has no resource nmics"):
        resources(Chunk(resources=(("nmics", 1),)), SITE)


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ((), {"pool": "batch"}),
        (("haswell",), {"pool": "batch", "cpu": "haswell"}),
        (("fast", "rome"), {"pool": "batch", "cpu": "rome", "net": "ib"}),
    ],
)
def test_node_selector(properties: tuple[str, ...], expected: dict[str, str]) -> None:
    assert node_selector(Chunk(properties=properties), QUEUE, SITE) == expected


@pytest.mark.parametrize(
    ("properties", "queue_labels", "message"),
    [
        (("nosuch",), {}, "this site has no node property nosuch"),
        (
            ("fast", "haswell"),
            {},
            "no node can have both: property fast needs cpu=rome, property haswell cpu=haswell",
        ),
        (("rome",), {"cpu": "milan"}, "no node can have both: queue q needs cpu=milan, property rome cpu=rome"),
    ],
)
def test_no_node_could_have_it(properties: tuple[str, ...], queue_labels: dict[str, str], message: str) -> None:
    queue = QueueConfig(name="q", volcano_queue="q", node_selector=queue_labels)
    with pytest.raises(HpcBatchError) as caught:
        node_selector(Chunk(properties=properties), queue, SITE)
    assert str(caught.value) == message
