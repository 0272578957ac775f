"""What a site takes, what it gives of its own, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.errors import HpcBatchError, RefusedError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.layout import NodeSize
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.site import QueueConfig, SiteConfig, Translation, Word
from hpcbatch.model.spec import Arrangement, JobSpec, Sharing
from hpcbatch.policy.admission import (
    Granted,
    admit,
    asked_queues,
    check_deadline,
    closed_because,
    grant_walltime,
)
from hpcbatch.site.identity import Identity
from hpcbatch.volcano import pod_needs

GI = 1 << 30
NODES = [NodeSize(cpus=4)] * 9
ALICE = Identity(user="alice", uid=1000, gid=1000, home="/home/alice")
WORKQ = QueueConfig(
    name="workq",
    volcano_queue="default",
    is_default=True,
    image="site/mpi:1",
    allowed_images=("site/dev:*",),
    max_walltime_s=7200,
    default_walltime_s=600,
    max_nodes=4,
    max_cpus=12,
    max_mem_per_node_bytes=8 * GI,
    default_mem_per_node_bytes=GI,
)
GPU = QueueConfig(name="gpu", volcano_queue="gpu", node_selector={"pool": "gpu"})
CAPPED = QueueConfig(name="capped", volcano_queue="capped", max_walltime_s=60, max_mem_per_node_bytes=2 * GI)
SITE = SiteConfig(
    default_queue="workq",
    queues=(WORKQ, GPU, CAPPED),
    allowed_images=("docker.io/library/*",),
    node_properties={
        "haswell": {"cpu": "haswell"},
        "ib": {"net": "ib"},
        "rome": {"cpu": "rome"},
        "cpuonly": {"pool": "cpu"},
    },
)


def spec(**given: Any) -> JobSpec:
    chunk = {key: given.pop(key) for key in ("count", "cpus", "mem_bytes", "resources", "properties") if key in given}
    given.setdefault("chunks", (Chunk(**chunk),))
    return JobSpec(**{"dialect": Dialect.PBS, "name": "j"} | given)


def grant(asked: JobSpec, *, site: SiteConfig = SITE, owner: Identity = ALICE, state: str | None = "Open") -> Granted:
    (queue,) = asked_queues(asked, site).queues
    return admit(asked, queue, site, owner, volcano_state=state, nodes=NODES)


def test_defaults_of_the_queue() -> None:
    assert grant(spec(count=2)) == Granted(walltime_s=600, layout=(Chunk(count=2, mem_bytes=GI),))
    assert grant(spec(walltime_s=60, mem_bytes=5)) == Granted(walltime_s=60, layout=(Chunk(mem_bytes=5),))
    assert grant(spec(queue="gpu")) == Granted(walltime_s=None, layout=(Chunk(),))
    assert grant(spec(queue="capped")) == Granted(walltime_s=60, layout=(Chunk(mem_bytes=2 * GI),))


def test_chunks_become_pods_before_they_are_counted() -> None:
    filled = spec(chunks=(Chunk(count=8, cpus=1),), arrangement=Arrangement.FILL, mem_per_pod_bytes=2 * GI)
    assert grant(filled).layout == (Chunk(count=2, cpus=4, ranks=4, mem_bytes=2 * GI),)
    packed = spec(chunks=(Chunk(count=8, cpus=1, mem_bytes=GI),), arrangement=Arrangement.PACK)
    assert grant(packed).layout == (Chunk(cpus=8, ranks=8, mem_bytes=8 * GI),)


AT_THE_LIMIT = spec(count=4, cpus=3, mem_bytes=8 * GI, walltime_s=7200)
UNEVEN = [
    NodeSize(cpus=2, mem_bytes=4 * GI, resources=(), properties=frozenset()),
    NodeSize(cpus=2, mem_bytes=8 * GI, resources=(("gpu", 2),), properties=frozenset({"ib"})),
]
NO_NODE_HAS = [
    (Chunk(mem_bytes=8 * GI + 1), RefusalCode.BAD_SPEC, "Memory specification can not be satisfied"),
    (Chunk(resources=(("gpu", 3),)), RefusalCode.BAD_SPEC, "gpu: 3 asked of a node, none has more than 2"),
    (Chunk(resources=(("ngpus", 1),)), RefusalCode.UNKNOWN_RESOURCE, "ngpus"),
    (Chunk(mem_bytes=8 * GI, resources=(("gpu", 2),)), None, ""),
    (Chunk(cpus=64), None, ""),  # waits in Slurm as well
    (Chunk(count=99, mem_bytes=GI), None, ""),
    (Chunk(mem_bytes=99 * GI, properties=("rome",)), None, ""),  # no node at all
]


@pytest.mark.parametrize(("chunk", "code", "message"), NO_NODE_HAS)
def test_what_no_node_has(chunk: Chunk, code: RefusalCode | None, message: str) -> None:
    """sbatch refuses it at once, qsub does not; nor sbatch where more nodes may come, or the job is there already."""
    asked = JobSpec(dialect=Dialect.SLURM, name="j", chunks=(chunk,), queue="gpu")

    def take(spec: JobSpec, site: SiteConfig = SITE, stays: bool = False) -> None:
        admit(spec, GPU, site, ALICE, volcano_state="Open", nodes=UNEVEN, stays=stays)

    if code is None:
        take(asked)
    else:
        with pytest.raises(RefusedError, match=f"^{message}$") as raised:
            take(asked)
        assert raised.value.code == code
    take(replace(asked, dialect=Dialect.PBS))
    take(asked, replace(SITE, autoscaling=True))
    take(asked, stays=True)


REFUSED: list[tuple[JobSpec, RefusalCode, str]] = [
    (spec(queue="nosuch"), RefusalCode.UNKNOWN_QUEUE, "nosuch; there are: capped, gpu, workq"),
    (spec(queue="default"), RefusalCode.UNKNOWN_QUEUE, "default; there are: capped, gpu, workq"),
    (spec(walltime_s=7201), RefusalCode.WALLTIME_LIMIT, "walltime: 02:00:01 asked, at most 02:00:00 in workq"),
    (spec(count=5), RefusalCode.NODE_LIMIT, "nodes: 5 asked, at most 4 in workq"),
    (spec(count=4, cpus=4), RefusalCode.CPU_LIMIT, "CPUs: 16 asked, at most 12 in workq"),
    (spec(mem_bytes=9 * GI), RefusalCode.MEMORY_LIMIT, "memory of a node: 9Gi asked, at most 8Gi in workq"),
    (
        spec(chunks=(Chunk(count=9, mem_bytes=GI),), arrangement=Arrangement.PACK),
        RefusalCode.MEMORY_LIMIT,
        "memory of a node: 9Gi asked, at most 8Gi in workq",
    ),
    (spec(image="evil/image"), RefusalCode.IMAGE_NOT_ALLOWED, "image evil/image is not allowed in workq"),
    (spec(image="site/dev:2", queue="gpu"), RefusalCode.IMAGE_NOT_ALLOWED, "image site/dev:2 is not allowed in gpu"),
    (spec(image="site/mpi:1", queue="gpu"), RefusalCode.IMAGE_NOT_ALLOWED, "image site/mpi:1 is not allowed in gpu"),
    (spec(resources=(("foo", 1),)), RefusalCode.UNKNOWN_RESOURCE, "foo"),
    (spec(resources_per_pod=(("bar", 1),)), RefusalCode.UNKNOWN_RESOURCE, "bar"),
    (spec(properties=("haswell", "knl")), RefusalCode.UNKNOWN_PROPERTY, "knl"),
]


@pytest.mark.parametrize(("asked", "code", "message"), REFUSED, ids=[f"{code} {text}" for _, code, text in REFUSED])
def test_refusals(asked: JobSpec, code: RefusalCode, message: str) -> None:
    with pytest.raises(RefusedError) as raised:
        grant(asked)
    assert (raised.value.code, str(raised.value)) == (code, message)


def test_what_is_just_allowed() -> None:
    assert grant(AT_THE_LIMIT).walltime_s == 7200
    for image in ("site/mpi:1", "site/dev:2", "docker.io/library/debian:12"):
        grant(spec(image=image))
    grant(spec(image="hpcbatch.io/host", queue="gpu"))
    grant(spec(properties=("haswell", "ib"), resources=(("ngpus", 1),)))


def test_a_user_who_is_disabled() -> None:
    owner = Identity(user="bob", uid=1, gid=1, home="/", is_disabled=True)
    with pytest.raises(RefusedError, match="user bob may not submit jobs") as raised:
        grant(spec(), owner=owner)
    assert raised.value.code is RefusalCode.USER_DISABLED


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("Open", ""),
        ("", ""),
        ("Closed", "queue workq is closed"),
        ("Closing", "queue workq is closed"),
        ("Unknown", "queue workq is closed"),
        (None, "queue workq is closed: there is no Volcano Queue default"),
    ],
)
def test_closed_queues(state: str | None, why: str) -> None:
    assert closed_because(WORKQ, state) == why
    if why:
        with pytest.raises(RefusedError) as raised:
            grant(spec(), state=state)
        assert (raised.value.code, str(raised.value)) == (RefusalCode.QUEUE_CLOSED, why)


def test_a_job_that_no_node_can_take() -> None:
    for asked in (spec(properties=("haswell", "rome")), spec(queue="gpu", properties=("cpuonly",))):
        with pytest.raises(HpcBatchError, match="no node can have both") as raised:
            grant(asked)
        assert not isinstance(raised.value, RefusedError)


def test_a_site_without_queues_has_volcanos() -> None:
    site = SiteConfig()
    assert asked_queues(spec(), site).queues[0] == QueueConfig(name="default", volcano_queue="default", is_default=True)
    assert asked_queues(spec(queue="fast"), site).queues[0].volcano_queue == "fast"
    with pytest.raises(RefusedError):
        asked_queues(spec(queue="root"), site)


@given(
    st.integers(1, 20),
    st.integers(0, 8),
    st.none() | st.integers(1, 20 * GI),
    st.none() | st.integers(1, 10000),
    st.sampled_from(Arrangement),
)
def test_what_is_granted_is_within_the_limits(
    count: int, cpus: int, mem: int | None, walltime_s: int | None, arrangement: Arrangement
) -> None:
    asked = spec(count=count, cpus=cpus, mem_bytes=mem, walltime_s=walltime_s, arrangement=arrangement)
    try:
        granted = grant(asked)
    except RefusedError:
        return
    assert granted.walltime_s == (walltime_s or 600)
    assert (granted.walltime_s or 0) <= 7200
    assert sum(chunk.count for chunk in granted.layout) <= 4
    assert sum(chunk.count * chunk.cpus for chunk in granted.layout) == count * cpus <= 12
    assert all(chunk.mem_bytes is not None and chunk.mem_bytes <= 8 * GI for chunk in granted.layout)


ALIASED = replace(SITE, queues=(replace(WORKQ, aliases=("normal", "batch*")), GPU, CAPPED), unknown_queues="capped")
QUEUES = [
    (None, (), SITE, ["workq"], []),
    ("gpu", (), SITE, ["gpu"], []),
    ("normal", (), ALIASED, ["workq"], []),
    ("batch2", ("gpu", "normal"), ALIASED, ["workq", "gpu"], []),
    ("nosuch", (), ALIASED, ["capped"], ["nosuch: this site has no such queue; capped takes it"]),
    ("gpu", ("nosuch",), ALIASED, ["gpu", "capped"], ["nosuch: this site has no such queue; capped takes it"]),
]


@pytest.mark.parametrize(("name", "others", "site", "queues", "ignored"), QUEUES)
def test_which_queues_are_meant(
    name: str | None, others: tuple[str, ...], site: SiteConfig, queues: list[str], ignored: list[str]
) -> None:
    for dialect, option in ((Dialect.PBS, "-q"), (Dialect.SLURM, "-p")):
        asked = replace(spec(queue=name, other_queues=others), dialect=dialect)
        found = asked_queues(asked, site)
        assert [queue.name for queue in found.queues] == queues
        assert list(found.ignored) == [f"{option} {text}" for text in ignored]


def test_one_unknown_queue_of_several() -> None:
    for name, others in (("nosuch", ("gpu",)), ("gpu", ("workq", "nosuch"))):
        with pytest.raises(RefusedError, match=r"^nosuch; there are: ") as raised:
            asked_queues(spec(queue=name, other_queues=others), SITE)
        assert raised.value.code == RefusalCode.UNKNOWN_QUEUE


def test_unknown_queues_of_a_site_that_names_none() -> None:
    site = SiteConfig(unknown_queues="default")
    found = asked_queues(spec(queue="nosuch"), site, lambda queue: queue.name == "default")
    assert [queue.name for queue in found.queues] == ["default"]
    assert found.ignored == ("-q nosuch: this site has no such queue; default takes it",)
    with pytest.raises(RefusedError, match=r"^nosuch; there are: a, b$"):
        asked_queues(spec(queue="nosuch"), SiteConfig(), lambda _: False, ["b", "a", "root"])


SIZES = [
    NodeSize(cpus=4, mem_bytes=4 * GI, properties=frozenset({"haswell"})),
    NodeSize(cpus=4, mem_bytes=6 * GI, properties=frozenset({"ib", "rome"})),
    NodeSize(cpus=2, mem_bytes=2 * GI, properties=frozenset({"rome"})),
]


def layout_of(asked: JobSpec, site: SiteConfig = SITE, nodes: list[NodeSize] = SIZES) -> tuple[Chunk, ...]:
    (queue,) = asked_queues(asked, site).queues
    return admit(asked, queue, site, ALICE, volcano_state="Open", nodes=nodes).layout


@pytest.mark.parametrize(
    ("chunk", "queue", "reserve", "mem"),
    [
        (Chunk(), "gpu", 0, 2 * GI),
        (Chunk(cpus=3), "gpu", 0, 4 * GI),
        (Chunk(properties=("ib",)), "gpu", GI, 5 * GI),
        (Chunk(cpus=3), "capped", 0, 2 * GI),
        (Chunk(cpus=9), "workq", 0, GI),
        (Chunk(cpus=9), "gpu", 0, None),
    ],
)
def test_all_memory_of_a_node(chunk: Chunk, queue: str, reserve: int, mem: int | None) -> None:
    """What the smallest node has that the job may run on, less the site's reserve; never more than the queue allows."""
    site = replace(SITE, node_mem_reserve_bytes=reserve)
    (pod,) = layout_of(spec(chunks=(chunk,), queue=queue, whole_node_mem=True), site)
    assert pod.mem_bytes == mem


@pytest.mark.parametrize(
    ("dialect", "sharing", "chunk", "has", "requests"),
    [
        (Dialect.SLURM, Sharing.EXCLUSIVE, Chunk(), 2, 1),
        (Dialect.SLURM, Sharing.EXCLUSIVE, Chunk(cpus=3), 4, 3),
        (Dialect.SLURM, Sharing.EXCLUSIVE, Chunk(properties=("ib",)), 4, 1),
        (Dialect.SLURM, Sharing.EXCLUSIVE, Chunk(cpus=9), 9, 9),
        (Dialect.SLURM, Sharing.SHARED, Chunk(cpus=3, requested_cpus=1), 3, 3),
        (Dialect.PBS, Sharing.EXCLUSIVE, Chunk(cpus=3), 3, 3),
    ],
)
def test_all_cpus_of_a_node(dialect: Dialect, sharing: Sharing, chunk: Chunk, has: int, requests: int) -> None:
    """Those of the smallest node that the job may run on; its pod requests what it asked for."""
    (pod,) = layout_of(spec(dialect=dialect, sharing=sharing, chunks=(chunk,), queue="gpu"))
    assert (pod.cpus, pod.cpus_of_pod) == (has, requests)
    assert pod_needs.resources(pod, SITE)["requests"]["cpu"] == str(requests)


def test_a_reserve_that_leaves_nothing() -> None:
    with pytest.raises(HpcBatchError, match="nodeMemoryReserve of the site leaves nothing of 2Gi"):
        layout_of(spec(queue="gpu", whole_node_mem=True), replace(SITE, node_mem_reserve_bytes=3 * GI))


@pytest.mark.parametrize(
    ("count", "sets", "chosen"),
    [
        (2, (("haswell",), ("rome",)), ("rome",)),
        (2, (("ib", "rome"), ("rome",)), ("rome",)),
        (3, (("haswell",), ("rome",)), ("haswell",)),
    ],
)
def test_the_same_alternative_for_all(count: int, sets: tuple[tuple[str, ...], ...], chosen: tuple[str, ...]) -> None:
    """The first that enough nodes have, else the first."""
    chunk = Chunk(count=count, alternatives=sets, same_alternative=True)
    (pod,) = layout_of(spec(chunks=(chunk,), queue="gpu", arrangement=Arrangement.SCATTER))
    assert (pod.properties, pod.alternatives, pod.same_alternative) == (chosen, (), False)


def test_a_single_node_may_be_of_any_alternative() -> None:
    """Whichever is free first."""
    sets = (("haswell",), ("rome",))
    (pod,) = layout_of(spec(chunks=(Chunk(count=1, alternatives=sets, same_alternative=True),), queue="gpu"))
    assert (pod.properties, pod.alternatives, pod.same_alternative) == ((), sets, False)


def test_alternatives_of_each_pod_stay() -> None:
    chunk = Chunk(count=2, alternatives=(("haswell",), ("rome",)))
    assert layout_of(spec(chunks=(chunk,), queue="gpu")) == (chunk,)


def test_properties_that_are_translated_are_known() -> None:
    site = replace(SITE, translations=(Translation(word=Word.FEATURE, pattern="big*", labels={"size": "big"}),))
    assert layout_of(spec(queue="gpu", properties=("bigmem",)), site, []) == (Chunk(properties=("bigmem",)),)


NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("deadline_s", "walltime_s", "begin_s", "is_kept"),
    [
        (None, 10, None, True),
        (60, 60, None, True),
        (60, 61, None, False),
        (60, None, None, True),
        (0, None, None, False),
        (60, 30, 30, True),
        (60, 30, 31, False),
        (60, 30, -99, True),
    ],
)
def test_deadlines(deadline_s: int | None, walltime_s: int | None, begin_s: int | None, is_kept: bool) -> None:
    def at(seconds: int | None) -> datetime | None:
        return None if seconds is None else NOW + timedelta(seconds=seconds)

    asked = spec(deadline=at(deadline_s), begin_time=at(begin_s))
    if is_kept:
        check_deadline(asked, walltime_s, NOW)
        return
    with pytest.raises(RefusedError, match=r"^deadline 2026-01-01T00:0[01]:00Z cannot be kept") as raised:
        check_deadline(asked, walltime_s, NOW)
    assert raised.value.code == RefusalCode.DEADLINE


@pytest.mark.parametrize(
    ("walltime_s", "min_s", "granted"),
    [
        (3600, 1800, 3600),
        (9000, 1800, 7200),
        (9000, 7200, 7200),
        (9000, 7201, "walltime: at least 02:00:01 needed, at most 02:00:00 possible in workq"),
        (60, 120, "walltime: at least 00:02:00 needed, at most 00:01:00 possible in workq"),
    ],
)
def test_a_walltime_between_two(walltime_s: int, min_s: int, granted: int | str) -> None:
    asked = spec(walltime_s=walltime_s, min_walltime_s=min_s)
    if isinstance(granted, int):
        assert grant(asked).walltime_s == granted
        return
    with pytest.raises(RefusedError) as raised:
        grant(asked)
    assert (raised.value.code, str(raised.value)) == (RefusalCode.MIN_WALLTIME, granted)


def test_a_job_that_runs_keeps_its_least_walltime() -> None:
    assert grant_walltime(spec(walltime_s=90, min_walltime_s=60), WORKQ) == 90
    for walltime_s, code in ((30, RefusalCode.MIN_WALLTIME), (9000, RefusalCode.WALLTIME_LIMIT)):
        with pytest.raises(RefusedError) as raised:
            grant_walltime(spec(walltime_s=walltime_s, min_walltime_s=60), WORKQ)
        assert raised.value.code == code


def test_a_least_walltime_and_a_deadline() -> None:
    deadline = NOW + timedelta(seconds=60)
    check_deadline(spec(deadline=deadline, min_walltime_s=60), 90, NOW)
    with pytest.raises(RefusedError, match=r"cannot be kept with a walltime of 00:01:01$") as raised:
        check_deadline(spec(deadline=deadline, min_walltime_s=61), 90, NOW)
    assert raised.value.code == RefusalCode.MIN_WALLTIME


@pytest.mark.parametrize(
    ("queue", "account", "code"),
    [
        ({"allow_accounts": ("a", "b")}, "b", None),
        ({"allow_accounts": ("a", "b")}, "c", RefusalCode.UNKNOWN_ACCOUNT),
        ({"allow_accounts": ("a", "b")}, None, RefusalCode.UNKNOWN_ACCOUNT),
        ({"deny_accounts": ("c",)}, "c", RefusalCode.UNKNOWN_ACCOUNT),
        ({"deny_accounts": ("c",)}, None, None),
        ({"allow_groups": ("nobody",)}, None, RefusalCode.GROUP_NOT_ALLOWED),
        ({"allow_groups": (str(ALICE.gid),)}, None, None),
        ({"root_only": True}, None, RefusalCode.QUEUE_ACCESS),
        ({"min_nodes": 2}, None, RefusalCode.NODE_LIMIT),
        ({"min_cpus": 2}, None, RefusalCode.CPU_LIMIT),
        ({"min_walltime_s": 60}, None, None),
    ],
)
def test_who_may_use_a_queue(queue: dict[str, Any], account: str | None, code: RefusalCode | None) -> None:
    site = SiteConfig(operator_queues=(QueueConfig(name="default", volcano_queue="default", **queue),))
    if code is None:
        assert grant(spec(account=account), site=site).walltime_s is None
        return
    with pytest.raises(RefusedError) as raised:
        grant(spec(account=account), site=site)
    assert raised.value.code is code


@pytest.mark.parametrize(
    ("chunk", "code"),
    [({"cpus": 99}, RefusalCode.CPU_LIMIT), ({"cpus": 1, "count": 3}, RefusalCode.NODE_LIMIT), ({"cpus": 1}, None)],
)
def test_jobs_larger_than_their_partition(chunk: dict[str, int], code: RefusalCode | None) -> None:
    site = SiteConfig(refuses_oversize=True)
    job = replace(spec(**chunk), dialect=Dialect.SLURM, arrangement=Arrangement.SCATTER)
    (queue,) = asked_queues(job, site).queues
    if code is None:
        admit(job, queue, site, ALICE, volcano_state="Open", nodes=UNEVEN)
        return
    with pytest.raises(RefusedError) as raised:
        admit(job, queue, site, ALICE, volcano_state="Open", nodes=UNEVEN)
    assert raised.value.code is code
