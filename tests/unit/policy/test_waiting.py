"""Which resource keeps a job from starting, in PBS's words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hpcbatch.model.chunk import Chunk
from hpcbatch.model.site import Launcher, QueueConfig, SiteConfig
from hpcbatch.model.state import Reason
from hpcbatch.policy.waiting import NodeRoom, explain

GI = 1 << 30
SITE = SiteConfig(node_properties={"haswell": {"cpu": "haswell"}, "ib": {"net": "ib"}})
QUEUE = QueueConfig(name="workq", volcano_queue="default")


def node(cpu_milli: int = 2000, *, used: int = 0, mem: int = 4 * GI, gpus: int = 0, **labels: str) -> NodeRoom:
    has = {"cpu": cpu_milli, "memory": mem, **({"nvidia.com/gpu": gpus} if gpus else {})}
    return NodeRoom(labels=labels, has=has, used={"cpu": used})


NODES = [node(), node(), node(gpus=2, cpu="haswell")]


@pytest.mark.parametrize(
    ("chunk", "nodes", "asked", "reason", "message"),
    [
        pytest.param(
            Chunk(cpus=3), NODES, {}, Reason.NEVER_FITS, "resource: ncpus (R: 3 A: 2 T: 2)", id="larger than any node"
        ),
        pytest.param(
            Chunk(count=4, cpus=2), NODES, {}, Reason.NEVER_FITS, "ncpus (R: 8 A: 6 T: 6)", id="larger than the cluster"
        ),
        pytest.param(
            Chunk(mem_bytes=5 * GI),
            NODES,
            {},
            Reason.NEVER_FITS,
            "mem (R: 5242880kb A: 4194304kb T: 4194304kb)",
            id="memory",
        ),
        pytest.param(
            Chunk(count=4), NODES, {"is_scattered": True}, Reason.NEVER_FITS, "nodect (R: 4 A: 3 T: 3)", id="scattered"
        ),
        pytest.param(
            Chunk(count=3, cpus=2),
            [node(used=500), *NODES[1:]],
            {},
            Reason.RESOURCES,
            "ncpus (R: 6 A: 5 T: 6)",
            id="others use it",
        ),
        pytest.param(
            Chunk(cpus=2),
            [node(used=500), node(used=500)],
            {},
            Reason.RESOURCES,
            "Not enough free nodes available",
            id="enough in all, on no node",
        ),
        pytest.param(
            Chunk(resources=(("ngpus", 3),)), NODES, {}, Reason.NEVER_FITS, "ngpus (R: 3 A: 2 T: 2)", id="GPUs"
        ),
        pytest.param(
            Chunk(resources=(("ngpus", 1),)), NODES[:2], {}, Reason.NEVER_FITS, "ngpus (R: 1 A: 0 T: 0)", id="no GPU"
        ),
        pytest.param(
            Chunk(count=2, cpus=2, properties=("haswell",)), NODES, {}, Reason.NEVER_FITS, "ncpus (R: 4", id="one has"
        ),
        pytest.param(
            Chunk(properties=("haswell", "ib")),
            NODES,
            {},
            Reason.NEVER_FITS,
            "No node of queue workq and property haswell and property ib",
            id="no node has both",
        ),
        pytest.param(
            Chunk(),
            NODES,
            {"queue": replace(QUEUE, node_selector={"pool": "gpu"})},
            Reason.NEVER_FITS,
            "No node of queue workq",
            id="a queue without nodes",
        ),
        pytest.param(
            Chunk(count=3, cpus=2),
            NODES,
            {"site": replace(SITE, launcher=Launcher.DEDICATED)},
            Reason.NEVER_FITS,
            "ncpus (R: 6.1 A: 6 T: 6)",
            id="no room for the launcher",
        ),
        pytest.param(
            Chunk(properties=("gone",)),
            NODES,
            {},
            Reason.NEVER_FITS,
            "this site has no node property gone",
            id="the site has changed",
        ),
        pytest.param(Chunk(), [], {}, Reason.NEVER_FITS, "No node of queue workq", id="no node at all"),
    ],
)
def test_explain(chunk: Chunk, nodes: list[NodeRoom], asked: dict[str, Any], reason: Reason, message: str) -> None:
    given: dict[str, Any] = {"is_scattered": False, "queue": QUEUE, "site": SITE} | asked
    why = explain([chunk], nodes, **given)
    assert why.reason is reason
    assert message in why.message


def test_pods_with_little_choice_are_placed_first() -> None:
    chunks = [Chunk(count=2, cpus=2), Chunk(cpus=2, properties=("haswell",))]
    why = explain(chunks, NODES, is_scattered=False, queue=QUEUE, site=SITE)
    assert why.reason is Reason.RESOURCES


def test_pods_on_nodes_of_their_own_may_be_more_than_those_of_any_kind() -> None:
    """Two nodes by name, and a third pod on any other."""
    hosts = [replace(node(used=2000), labels={"kubernetes.io/hostname": f"n{number}"}) for number in (1, 2, 3)]
    layout = [Chunk(count=2, hosts=("n1", "n2")), Chunk(excluded_hosts=("n1", "n2"))]
    waiting = explain(layout, hosts, is_scattered=True, queue=QUEUE, site=SITE)
    assert waiting.reason is Reason.RESOURCES
    gone = explain([Chunk(hosts=("n9",))], hosts, is_scattered=True, queue=QUEUE, site=SITE)
    assert (gone.reason, gone.message) == (Reason.NEVER_FITS, "No node of queue workq and name n9")


def test_disk() -> None:
    found = explain([Chunk(tmp_bytes=GI)], [node()], is_scattered=False, queue=QUEUE, site=SITE)
    assert found.message.endswith("tmp (R: 1048576kb A: 0kb T: 0kb)")
