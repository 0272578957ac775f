"""`preemption` in site.yaml, and a queue's tier, mode, grace time and priority."""

from __future__ import annotations

import pytest

from hpcbatch.api.queuelist import preemption_from_json, queues_from_json, queues_to_json
from hpcbatch.model.preemption import PreemptBy, PreemptionConfig, PreemptMode
from hpcbatch.model.queue_switches import Switches
from hpcbatch.model.site import SiteConfig
from hpcbatch.site.file import SiteFileError, read_config

HEAD = "apiVersion: hpcbatch.io/v1alpha1\nkind: SiteConfiguration\nimage: x\n"
QUEUES = """\
queues:
- {name: q, default: true}
- {name: high, volcanoQueue: q, priorityTier: 9, preemptMode: cancel, graceTime: 90s, priority: -5, backfillDepth: 0}
"""


def read(text: str) -> SiteConfig:
    return read_config(HEAD + text)


def test_without_it_only_express_queues_preempt() -> None:
    config = read("").preemption
    assert config == PreemptionConfig()
    assert (config.by, config.mode) == (PreemptBy.NONE, PreemptMode.OFF)
    assert [config.level(priority) for priority in (None, 0, 149, 150, 200)] == [0, 0, 0, 150, 200]


@pytest.mark.parametrize(
    ("text", "config"),
    [
        ("{type: qos, mode: requeue}", PreemptionConfig(by=PreemptBy.QOS, mode=PreemptMode.REQUEUE)),
        ("{type: preempt/partition_prio}", PreemptionConfig(by=PreemptBy.PARTITION_PRIO)),
        ("{exemptTime: 10m, youngestFirst: true}", PreemptionConfig(exempt_s=600, youngest_first=True)),
        ("{sendUserSignal: true, byQueuePriority: false}", PreemptionConfig(sends_user_signal=True, by_queue=False)),
        ("{queuePriority: 200, order: rd}", PreemptionConfig(express_priority=200, order="RD")),
    ],
)
def test_what_it_says(text: str, config: PreemptionConfig) -> None:
    site = read(f"preemption: {text}\n")
    assert site.preemption == config
    assert preemption_from_json(queues_to_json(site)) == config, "users may know it"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("preemption: {type: job_prio}", "expected one of none, qos, partition_prio, found job_prio"),
        ("preemption: {mode: gang}", "expected one of off, cancel, requeue, suspend, found gang"),
        ("preemption: {order: RR}", "RR is not some of the letters SCRD, each once"),
        ("preemption: {order: X}", "X is not some of the letters SCRD, each once"),
        ("preemption: {nosuch: 1}", "nosuch"),
        ("queues: [{name: q, default: true, preemptMode: within}]", "expected one of off, cancel, requeue, suspend"),
        ("queues: [{name: q, default: true, priority: 1024}]", "1024"),
        ("queues: [{name: q, default: true, backfillDepth: 10001}]", "10001"),
    ],
)
def test_what_it_cannot_say(text: str, problem: str) -> None:
    with pytest.raises(SiteFileError) as error:
        read(f"{text}\n")
    assert problem in str(error.value)


def test_queues() -> None:
    site = read(f"preemption: {{type: partition_prio, mode: suspend}}\n{QUEUES}")
    _, high = site.queues
    assert (high.priority_tier, high.preempt_mode, high.grace_s, high.priority) == (9, "cancel", 90, -5)
    assert site.depths == (1, {"high": 0})
    rows = queues_from_json(queues_to_json(site), {"q": Switches()})
    assert [(row.preempt_mode, row.site_preempt_mode, row.grace_s, row.priority) for row in rows] == [
        ("", "suspend", 0, None),
        ("cancel", "suspend", 90, -5),
    ]
    assert [row.backfill_depth for row in rows] == [None, 0]
