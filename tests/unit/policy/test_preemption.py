"""Who may be ended for whom, and how: the tables of Slurm's and PBS's rules."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hpcbatch.model.account_limits import Limits
from hpcbatch.model.accounts import NORMAL, Qos, first_accounts
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.preemption import PreemptBy, PreemptionConfig, PreemptMode
from hpcbatch.model.record import ExecHost, JobRecord, JobStatus, Preempting, Suspension
from hpcbatch.model.site import QueueConfig, SiteConfig
from hpcbatch.model.spec import JobSpec, Sharing
from hpcbatch.model.state import JobState
from hpcbatch.policy.owners import Owners
from hpcbatch.policy.preemption import Preemptions

NOW = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)
QUEUES = (
    QueueConfig(name="q", volcano_queue="v", is_default=True),
    QueueConfig(name="tier5", volcano_queue="v", priority_tier=5, preempt_mode="cancel", grace_s=30),
    QueueConfig(name="tier9", volcano_queue="v", priority_tier=9),
    QueueConfig(name="off", volcano_queue="v", preempt_mode="off"),
    QueueConfig(name="p149", volcano_queue="v", priority=149),
    QueueConfig(name="p150", volcano_queue="v", priority=150),
    QueueConfig(name="p200", volcano_queue="v", priority=200),
)
QOS = {
    NORMAL: Qos(number=1, name=NORMAL),
    "low": Qos(number=2, name="low", limits=Limits(counts={"Priority": 3}), grace_s=7, preempt_exempt_s=60),
    "high": Qos(number=3, name="high", preempt=("low", NORMAL)),
    "kill": Qos(number=4, name="kill", preempt_mode="CANCEL"),
    "gang": Qos(number=5, name="gang", preempt_mode="GANG"),
}


def rules(by: PreemptBy = PreemptBy.NONE, mode: PreemptMode = PreemptMode.OFF, **more: Any) -> Preemptions:
    site = SiteConfig(queues=QUEUES, preemption=PreemptionConfig(by=by, mode=mode, **more))
    return Preemptions(site, Owners(replace(first_accounts(), qos=QOS), frozenset()))


def job(queue: str = "q", qos: str = "", *, number: int = 1, nodes: int = 1, **changes: Any) -> JobRecord:
    status = {name: changes.pop(name) for name in tuple(changes) if name in JobStatus.__dataclass_fields__}
    hosts = tuple(ExecHost(node=f"n{index}", pod=f"p{index}", cpus=1) for index in range(nodes))
    given: dict[str, Any] = {"state": JobState.RUNNING, "start_time": NOW, "hosts": hosts, "run_count": 1} | status
    return JobRecord(
        job_id=number,
        namespace="ns",
        object_name="j",
        queue=queue,
        spec=JobSpec(
            dialect=Dialect.SLURM,
            name="j",
            chunks=(Chunk(cpus=1),),
            attributes={"qos": qos} if qos else {},
            **changes,
        ),
        status=JobStatus(**given),
    )


QOS_RULES = rules(PreemptBy.QOS, PreemptMode.REQUEUE)
TIER_RULES = rules(PreemptBy.PARTITION_PRIO, PreemptMode.REQUEUE)


@pytest.mark.parametrize(
    ("found", "by", "expected"),
    [
        (rules(), job(qos="high"), set()),
        (QOS_RULES, job(qos="high"), {"qos:low", "qos:normal"}),
        (QOS_RULES, job(qos="low"), set()),
        (QOS_RULES, job(qos="nosuch"), set()),
        (QOS_RULES, job("tier9"), set()),
        (TIER_RULES, job("tier9"), {"tier:1", "tier:5"}),
        (TIER_RULES, job("tier5"), {"tier:1"}),
        (TIER_RULES, job(), set()),
        (rules(), job("p149"), set()),
        (rules(), job("p150"), {"level:0"}),
        (rules(), job("p200"), {"level:0", "level:150"}),
        (rules(express_priority=100), job("p149"), {"level:0"}),
        (rules(by_queue=False), job("p200"), set()),
        (QOS_RULES, job("p150", "high"), {"qos:low", "qos:normal", "level:0"}),
    ],
)
def test_who_is_ended_for_a_job(found: Preemptions, by: JobRecord, expected: set[str]) -> None:
    assert found.preempts(by) == expected


def without_suspension() -> Preemptions:
    found = rules(PreemptBy.QOS, PreemptMode.SUSPEND)
    found.suspends = False
    return found


CANCEL, REQUEUE, SUSPEND = PreemptMode.CANCEL, PreemptMode.REQUEUE, PreemptMode.SUSPEND
HIGH, TIER9, EXPRESS = job(qos="high", number=9), job("tier9", number=9), job("p200", number=9)
NEEDS_MORE = job("p200", number=9, preempting=Preempting(time=NOW, places="", is_ending=True))
"""Suspensions do not make enough room for it."""
RAN = job(walltime_s=1000, start_time=NOW - timedelta(seconds=300))
"""It has 70 % of its walltime left."""


@pytest.mark.parametrize(
    ("found", "victim", "by", "expected"),
    [
        (QOS_RULES, job(), HIGH, (REQUEUE, 0)),
        (QOS_RULES, job(qos="low"), HIGH, (REQUEUE, 7)),
        (QOS_RULES, job(rerunnable=False), HIGH, (CANCEL, 0)),
        (QOS_RULES, job(qos="kill"), HIGH, None),
        (rules(PreemptBy.QOS, PreemptMode.OFF), job(), HIGH, None),
        (rules(PreemptBy.QOS, PreemptMode.CANCEL), job(), HIGH, (CANCEL, 0)),
        (rules(PreemptBy.QOS, PreemptMode.SUSPEND), job(), HIGH, (PreemptMode.SUSPEND, 0)),
        (rules(PreemptBy.QOS, PreemptMode.SUSPEND), job(qos="low"), HIGH, (PreemptMode.SUSPEND, 0)),
        (rules(PreemptBy.QOS, PreemptMode.SUSPEND), job(rerunnable=False), HIGH, (PreemptMode.SUSPEND, 0)),
        (rules(PreemptBy.QOS, PreemptMode.SUSPEND), job(sharing=Sharing.EXCLUSIVE), HIGH, (REQUEUE, 0)),
        (without_suspension(), job(), HIGH, (REQUEUE, 0)),
        (without_suspension(), job(rerunnable=False), HIGH, None),
        (TIER_RULES, job(), TIER9, (REQUEUE, 0)),
        (TIER_RULES, job("tier5"), TIER9, (CANCEL, 30)),
        (TIER_RULES, job("off"), TIER9, None),
        (TIER_RULES, job("tier9"), TIER9, None),
        (rules(), job(), EXPRESS, (SUSPEND, 0)),
        (rules(), job("p150"), EXPRESS, (SUSPEND, 0)),
        (rules(), job("p200"), EXPRESS, None),
        (rules(), job(rerunnable=False), EXPRESS, (SUSPEND, 0)),
        (rules(), job(sharing=Sharing.EXCLUSIVE), EXPRESS, (REQUEUE, 0)),
        (rules(order="CR"), job(), EXPRESS, (REQUEUE, 0)),
        (rules(order="CR"), job(rerunnable=False), EXPRESS, None),
        (rules(order="CRD"), job(rerunnable=False), EXPRESS, (CANCEL, 0)),
        (rules(order="DR"), job(), EXPRESS, (CANCEL, 0)),
        (rules(order="C"), job(), EXPRESS, None),
        (rules(order="R 80 D 50 S"), job(walltime_s=1000), EXPRESS, (REQUEUE, 0)),
        (rules(order="R 80 D 50 S"), RAN, EXPRESS, (CANCEL, 0)),
        (rules(order="R 60 D 50 S"), RAN, EXPRESS, (REQUEUE, 0)),
        (rules(order="SR"), job(), NEEDS_MORE, (REQUEUE, 0)),
        (rules(order="SRD"), job(rerunnable=False), NEEDS_MORE, (CANCEL, 0)),
        (rules(order="S"), job(), NEEDS_MORE, (SUSPEND, 0)),
        (rules(PreemptBy.QOS, PreemptMode.SUSPEND), job(), replace(NEEDS_MORE, spec=HIGH.spec), (SUSPEND, 0)),
    ],
)
def test_what_becomes_of_a_victim(
    found: Preemptions, victim: JobRecord, by: JobRecord, expected: tuple[PreemptMode, int] | None
) -> None:
    marked = found.preempted(victim, by, NOW)
    if expected is None:
        assert marked is None
        return
    assert marked is not None
    assert (marked.by, marked.time, marked.mode) == (9, NOW, expected[0])
    assert marked.end_time == NOW + timedelta(seconds=expected[1])


def test_the_mode_of_a_qos_goes_before_the_sites() -> None:
    found = rules(PreemptBy.QOS, PreemptMode.REQUEUE)
    for name, mode in (("kill", "qos:kill"), ("gang", "qos:gang")):
        yields = found.yields(job(qos=name))
        assert yields is not None
        assert yields.classes >= {mode}
    off = rules(PreemptBy.QOS, PreemptMode.OFF, by_queue=False)
    assert off.yields(job(qos="gang")) is None
    assert off.yields(job(qos="kill")) is not None


@pytest.mark.parametrize(
    "record",
    [
        job(state=JobState.QUEUED, start_time=None),
        job(state=JobState.SUSPENDED),
        job(state=JobState.EXITING),
        job(is_rerunning=True),
        job(preempted=TIER_RULES.preempted(job(), TIER9, NOW)),
    ],
    ids=["waits", "is suspended", "ends", "is ended already", "was chosen"],
)
def test_who_does_not_yield_now(record: JobRecord) -> None:
    assert TIER_RULES.yields(record) is None


def test_who_is_exempt_yet() -> None:
    began_s = NOW.timestamp()
    for found, record, since_s in (
        (rules(PreemptBy.QOS, REQUEUE, exempt_s=600), job(), began_s + 600),
        (rules(PreemptBy.QOS, REQUEUE, exempt_s=600), job(qos="low"), began_s + 60),
        (rules(PreemptBy.QOS, REQUEUE), job(), -math.inf),
        (rules(exempt_s=600), job(), -math.inf),
    ):
        yields = found.yields(record)
        assert yields is not None
        assert yields.since_s == since_s


@pytest.mark.parametrize(
    ("found", "first", "then"),
    [
        (QOS_RULES, job(nodes=3), job(qos="low")),  # the least priority
        (QOS_RULES, job(nodes=1), job(nodes=2)),  # the fewest nodes
        (rules(PreemptBy.QOS, REQUEUE, youngest_first=True), job(start_time=NOW), job(start_time=NOW.replace(hour=9))),
        (TIER_RULES, job("q", nodes=3), job("tier5")),
        (rules(), job(start_time=NOW), job(start_time=NOW.replace(hour=9))),
        (rules(), job("p149", start_time=NOW.replace(hour=9)), job("p150", start_time=NOW)),
        (rules(), job(number=8), job(number=7)),
    ],
)
def test_who_is_ended_first(found: Preemptions, first: JobRecord, then: JobRecord) -> None:
    orders = [yields.order for record in (first, then) if (yields := found.yields(record)) is not None]
    assert len(orders) == 2
    assert orders[0] < orders[1]


def test_what_holds_when_a_job_has_run_longer() -> None:
    """By PBS's per cents of the walltime that is left; the time for which it stood does not count."""
    stood = Suspension(start_time=NOW, end_time=NOW + timedelta(seconds=50))
    record, began_s = job(walltime_s=1000, rerunnable=False, suspensions=(stood,)), NOW.timestamp()
    found = rules(order="R 80 S 50 D").yields(record)
    assert found is not None
    ways = [(now_s, found.at(began_s + now_s)) for now_s in (0, 240, 241, 540, 541)]
    assert [(now_s, bool(way and way.classes), way and way.frees) for now_s, way in ways] == [
        (0, False, None),  # it cannot be queued again
        (240, False, None),
        (241, True, frozenset({"cpu"})),
        (540, True, frozenset({"cpu"})),
        (541, True, None),
    ]
    assert [*found.times()][1:] == [began_s + 241, began_s + 541]
    earlier = Suspension(start_time=NOW - timedelta(seconds=90), end_time=NOW - timedelta(seconds=30))
    status = replace(record.status, suspensions=(earlier, stood))
    again = rules(order="R 80 S 50 D").yields(replace(record, status=status))
    assert again is not None
    assert [*again.times()][1:] == [began_s + 241, began_s + 541], "that was in an earlier run"
    assert rules(order="C 80 R").yields(record) is None or not any(way.classes for _, way in ways[:1] if way)


@pytest.mark.parametrize(
    ("order", "record", "frees", "may_end"),
    [
        ("SCR", job(), True, True),
        ("SCR", job(rerunnable=False), True, False),
        ("SC", job(), True, False),
        ("SD", job(rerunnable=False), True, True),
        ("RS", job(), False, False),
    ],
)
def test_who_is_ended_where_a_suspension_does_not_help(
    order: str, record: JobRecord, frees: bool, may_end: bool
) -> None:
    found = rules(order=order).yields(record)
    assert found is not None
    assert (found.frees is not None, found.may_end) == (frees, may_end)
    assert (found.ended.frees is None) == (may_end or not frees)
