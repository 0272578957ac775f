"""Whose jobs end for whose: slurm.conf, sched_config, qmgr."""

from __future__ import annotations

import pytest

from hpcbatch.model.preemption import PreemptBy, PreemptionConfig, PreemptMode
from tests.unit.site.importing.reading import config, errors, left

HEAD = "ClusterName=c\n"
PARTITION = "PartitionName=q Default=YES Nodes=ALL"
SCHED = """\
# how the scheduler works
round_robin: False	all
strict_ordering: false	ALL
help_starving_jobs	: true	ALL
preemptive_sched: true	ALL
preempt_queue_prio:	200
preempt_prio: "express_queue, normal_jobs"
preempt_order: "R"
preempt_sort: min_time_since_start
fair_share: false	ALL
primetime_prefix: p_
"""
QUEUE = "create queue express queue_type=e\nset queue express Priority = 200\nset queue express enabled = True\n"


def test_slurm() -> None:
    site = config(
        f"{HEAD}PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\nPreemptExemptTime=00:10:00\n"
        f"PreemptParameters=youngest_first,send_user_signal\n{PARTITION}\n"
        "PartitionName=high Nodes=ALL PriorityTier=10 PreemptMode=OFF\n"
        "PartitionName=low Nodes=ALL PriorityTier=0 PreemptMode=CANCEL GraceTime=120\n"
    )
    assert site.preemption == PreemptionConfig(
        by=PreemptBy.PARTITION_PRIO,
        mode=PreemptMode.REQUEUE,
        exempt_s=600,
        youngest_first=True,
        sends_user_signal=True,
    )
    assert [(q.name, q.priority_tier, q.preempt_mode, q.grace_s) for q in site.queues] == [
        ("q", 1, "", 0),
        ("high", 10, "off", 0),
        ("low", 0, "cancel", 120),
    ]


def test_without_a_type_partitions_have_no_mode() -> None:
    site = config(f"{HEAD}PreemptType=preempt/none\nPreemptMode=OFF\n{PARTITION} PreemptMode=OFF GraceTime=0\n")
    assert site.preemption == PreemptionConfig()
    assert site.queues[0].preempt_mode == ""


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("PreemptType=preempt/job_prio", "there are qos and partition_prio"),
        ("PreemptMode=CHECKPOINT", "there are off, cancel, requeue and suspend"),
        ("PreemptParameters=reorder_count=3", "reorder_count=3: there is no such parameter here"),
        (f"{PARTITION} PreemptMode=WITHIN", "there are off, cancel, requeue and suspend"),
    ],
)
def test_what_slurm_has_and_site_yaml_has_not(line: str, why: str) -> None:
    assert any(why in text for text in left(f"{HEAD}{line}\n"))


def test_a_mode_that_suspends_is_kept() -> None:
    site = config(f"{HEAD}PreemptType=preempt/qos\nPreemptMode=SUSPEND,GANG\n{PARTITION}\n")
    assert (site.preemption.by, site.preemption.mode) == (PreemptBy.QOS, PreemptMode.SUSPEND)


def test_errors() -> None:
    assert errors(f"{HEAD}PreemptExemptTime=soon\n{PARTITION} PriorityTier=x GraceTime=y\n")


def test_sched_config() -> None:
    site = config(QUEUE, SCHED)
    assert site.preemption == PreemptionConfig(express_priority=200, order="R")
    assert site.queues[0].priority == 200
    assert config(QUEUE, 'preempt_order: "SCR 80 SC 50 S"\n').preemption.order == "SCR 80 SC 50 S"
    assert config(QUEUE, 'preempt_order: "SCR"\n').preemption == PreemptionConfig()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("preempt_order: X", "X is not some of the letters SCRD, each once"),
        ('preempt_order: "SCR eighty"', "eighty is no per cent of a walltime"),
        ("preempt_prio: fairshare", "express queues preempt ordinary ones"),
        ("preempt_queue_prio: 0", "preemption.queuePriority is from 1 to 1023"),
        ("by_queue: False", "who goes first is set by the keys"),
    ],
)
def test_what_pbs_has_and_site_yaml_has_not(line: str, why: str) -> None:
    assert any(why in text for text in left(f"preemptive_sched: true\n{line}\n"))


def test_qmgr() -> None:
    of_sched = 'create sched default\nset sched preempt_queue_prio = 180\nset sched preempt_order = "R 80 D"\n'
    site = config(f"{QUEUE}{of_sched}")
    assert site.preemption == PreemptionConfig(express_priority=180, order="R 80 D")
    assert config(QUEUE, "preemptive_sched: false ALL\n").preemption == PreemptionConfig(by_queue=False)
