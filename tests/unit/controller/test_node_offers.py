from dataclasses import replace
from typing import Any

from hpcbatch.api.port import WatchEvent
from hpcbatch.controller.node_offers import NodeOffers
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.layout import NodeSize
from hpcbatch.model.site import QueueConfig, SiteConfig
from hpcbatch.model.spec import JobSpec

SPEC = JobSpec(dialect=Dialect.PBS, name="j", chunks=(Chunk(cpus=1),), server="here")
ANY = QueueConfig(name="any", volcano_queue="default")
SITE = SiteConfig()
SMALL, LARGE = (NodeSize(cpus=cpus, mem_bytes=8 << 30, resources=(), properties=frozenset()) for cpus in (4, 64))


def node(
    name: str, cpu: str = "4", *, beat: int = 0, taint: str = "", labels: dict[str, str] | None = None
) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {"taints": [{"key": taint, "effect": "NoSchedule"}] if taint else []},
        "status": {
            "allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "lastHeartbeatTime": beat}],
        },
    }


def offers(*nodes: dict[str, Any]) -> NodeOffers:
    found = NodeOffers()
    for each in nodes:
        found.on_event(WatchEvent("ADDED", each))
    return found


def test_nodes_of_a_size_are_counted() -> None:
    several = offers(node("a"), node("b"), node("c", "64"), node("master", taint="control-plane"))
    assert several.sizes(ANY, SITE, SPEC) == {SMALL: 2, LARGE: 1}


def test_a_queue_reaches_its_nodes_only() -> None:
    several = offers(
        node("a", labels={"pool": "x"}), node("b", labels={"pool": "y"}), node("c", "64", labels={"pool": "x"})
    )
    assert several.sizes(replace(ANY, node_selector={"pool": "x"}), SITE, SPEC) == {SMALL: 1, LARGE: 1}
    assert several.sizes(replace(ANY, nodes=("a", "b")), SITE, SPEC) == {SMALL: 2}
    assert several.sizes(ANY, SITE, SPEC) == {SMALL: 2, LARGE: 1}


def test_where_nodes_are_named_each_counts_by_itself() -> None:
    several = offers(node("a"), node("b", labels={"kubernetes.io/hostname": "b.site"}))
    named = replace(SPEC, chunks=(Chunk(cpus=1, hosts=("a",)),))
    assert [size.name for size in several.sizes(ANY, SITE, named)] == ["a", "b.site"]
    assert several.host_names() == {"a": "a", "b": "b.site"}
    assert several.words() == {"a", "b", "b.site"}


def test_a_heartbeat_changes_nothing() -> None:
    several = offers(node("a"))
    before, names = several.sizes(ANY, SITE, SPEC), several.host_names()
    several.on_event(WatchEvent("MODIFIED", node("a", beat=1)))
    assert several.sizes(ANY, SITE, SPEC) is before
    assert several.host_names() is names


def test_changes_of_nodes_and_of_the_site_count_at_once() -> None:
    several = offers(node("a"), node("b"))
    assert several.sizes(ANY, SITE, SPEC) == {SMALL: 2}
    several.on_event(WatchEvent("MODIFIED", node("a", "64")))
    assert several.sizes(ANY, SITE, SPEC) == {SMALL: 1, LARGE: 1}
    several.on_event(WatchEvent("DELETED", node("b")))
    assert several.sizes(ANY, SITE, SPEC) == {LARGE: 1}
    several.on_event(WatchEvent("ADDED", node("c", taint="gpu")))
    assert several.sizes(ANY, SITE, SPEC) == {LARGE: 1}
    several.on_event(WatchEvent("MODIFIED", node("c")))
    assert several.sizes(ANY, SITE, SPEC) == {LARGE: 1, SMALL: 1}
    gpus = replace(SITE, resources={"ncpus_too": "cpu"})
    assert several.sizes(ANY, gpus, SPEC) != several.sizes(ANY, SITE, SPEC)


def test_who_says_its_disk() -> None:
    silent, telling = node("a"), node("b", labels={"pool": "x"})
    telling["status"]["allocatable"]["ephemeral-storage"] = "10Gi"
    several = offers(silent, telling)
    assert several.have_disk(ANY)
    assert not several.have_disk(replace(ANY, nodes=("a",)))
