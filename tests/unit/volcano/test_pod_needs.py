"""What pods ask of their node under a site's names for it."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.site import QueueConfig, SiteConfig, Translation, Word
from hpcbatch.volcano.pod_needs import node_selector, node_terms, resources, suits

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


def line(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


HOST = "kubernetes.io/hostname"
TERMS: list[tuple[Chunk, list[list[dict[str, Any]]]]] = [
    (Chunk(properties=("fast",)), []),
    (Chunk(hosts=("n1", "n2")), [[line(HOST, "In", "n1", "n2")]]),
    (Chunk(excluded_hosts=("n1",)), [[line(HOST, "NotIn", "n1")]]),
    (
        Chunk(alternatives=(("haswell",), ("fast",))),
        [[line("cpu", "In", "haswell")], [line("cpu", "In", "rome"), line("net", "In", "ib")]],
    ),
    (Chunk(lacks=("rome",)), [[line("cpu", "NotIn", "rome")]]),
    (Chunk(lacks=("fast",)), [[line("cpu", "NotIn", "rome")], [line("net", "NotIn", "ib")]]),
    (
        Chunk(lacks=("haswell", "rome"), excluded_hosts=("n1",)),
        [[line(HOST, "NotIn", "n1"), line("cpu", "NotIn", "haswell"), line("cpu", "NotIn", "rome")]],
    ),
    (
        Chunk(lacks=("fast",), alternatives=(("haswell",), ("rome",)), hosts=("n1",)),
        [
            [line(HOST, "In", "n1"), line(lacking, "NotIn", value), line("cpu", "In", cpu)]
            for lacking, value in (("cpu", "rome"), ("net", "ib"))
            for cpu in ("haswell", "rome")
        ],
    ),
]


@pytest.mark.parametrize(("chunk", "terms"), TERMS, ids=range(len(TERMS)))
def test_node_terms(chunk: Chunk, terms: list[list[dict[str, Any]]]) -> None:
    assert node_terms(chunk, SITE) == [{"matchExpressions": lines} for lines in terms]


@pytest.mark.parametrize(
    ("chunk", "labels", "expected"),
    [
        (Chunk(), {}, True),
        (Chunk(lacks=("fast",)), {"cpu": "rome"}, True),
        (Chunk(lacks=("fast",)), {"cpu": "rome", "net": "ib"}, False),
        (Chunk(lacks=("fast",)), {}, True),
        (Chunk(hosts=("a",)), {HOST: "a"}, True),
        (Chunk(hosts=("a",)), {HOST: "b"}, False),
        (Chunk(excluded_hosts=("a",)), {HOST: "a"}, False),
        (Chunk(alternatives=(("haswell",), ("rome",))), {"cpu": "rome"}, True),
        (Chunk(alternatives=(("haswell",), ("rome",))), {"cpu": "other"}, False),
    ],
)
def test_which_nodes_meet_the_terms(chunk: Chunk, labels: dict[str, str], expected: bool) -> None:
    assert suits(labels, node_terms(chunk, SITE)) is expected


def test_kinds_of_nodes_are_bounded() -> None:
    many = tuple((name,) for name in ("haswell", "rome", "fast") * 21)
    with pytest.raises(HpcBatchError, match="more than 256 kinds of nodes"):
        node_terms(Chunk(alternatives=many * 3, lacks=("fast",)), SITE)
    with pytest.raises(HpcBatchError, match="no node property knl"):
        node_terms(Chunk(lacks=("knl",)), SITE)


def test_labels_of_words() -> None:
    site = SiteConfig(
        translations=(
            Translation(word=Word.RESOURCE, pattern="gpu_model", labels={"gpu": "{value}"}),
            Translation(word=Word.RESERVATION, pattern="course", labels={"reserved": "course"}),
            Translation(word=Word.FEATURE, pattern="big*", labels={"size": "big"}),
        )
    )
    chunk = Chunk(words=(("@reservation", "course"), ("gpu_model", "a100")), properties=("bigmem",))
    expected = {"pool": "batch", "gpu": "a100", "reserved": "course", "size": "big"}
    assert node_selector(chunk, QUEUE, site) == expected
    with pytest.raises(HpcBatchError, match="this site has no labels for gpu_kind=a100"):
        node_selector(Chunk(words=(("gpu_kind", "a100"),)), QUEUE, site)
    with pytest.raises(HpcBatchError, match="this site has no labels for reservation=other"):
        node_selector(Chunk(words=(("@reservation", "other"),)), QUEUE, site)


def test_disk_for_temporary_files() -> None:
    assert resources(Chunk(tmp_bytes=7), SITE) == {
        "requests": {"cpu": "1", "ephemeral-storage": "7"},
        "limits": {"ephemeral-storage": "7"},
    }
