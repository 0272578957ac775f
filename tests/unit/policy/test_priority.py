"""Priorities, with figures computed by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbatch.model.account_limits import Limits
from hpcbatch.model.accounts import Qos, first_accounts
from hpcbatch.model.priority import Factors, PriorityConfig
from hpcbatch.policy.account_limits import Standing
from hpcbatch.policy.priority import Cluster, factors_of, formula_priority, priority_of, rank_of, weighted

CLUSTER = Cluster(cpus=64, nodes=8)
JOB = Standing(user="root", account="root", qos="high", queue="q", uses={"cpu": 16, "node": 4}, walltime_s=600)
CONFIG = PriorityConfig(
    is_multifactor=True,
    weight_age=1000,
    weight_fair_share=10000,
    weight_job_size=500,
    weight_partition=100,
    weight_qos=2000,
    weight_tres={"cpu": 64.0},
    max_age_s=1000,
    partition_factors={"q": 1, "express": 4},
)


def accounts() -> object:
    qos = {
        **first_accounts().qos,
        "high": Qos(number=2, name="high", limits=Limits({"Priority": 50})),
        "top": Qos(number=3, name="top", limits=Limits({"Priority": 100})),
    }
    return replace(first_accounts(), qos=qos)


def factors(config: PriorityConfig = CONFIG, job: Standing = JOB, age_s: float = 250) -> Factors:
    return factors_of(config, accounts(), CLUSTER, job, age_s=age_s, nice=7, fair_share=0.5)  # type: ignore[arg-type]


def test_factors_and_their_sum() -> None:
    """Age 250/1000; size (4/8 + 16/64)/2; partition 1/4; QOS 50/100; cpu 16/64. 250+5000+187.5+25+1000+16-7."""
    found = factors()
    assert found == Factors(
        age=0.25, fair_share=0.5, job_size=0.375, partition=0.25, qos=0.5, tres={"cpu": 0.25}, nice=7
    )
    assert priority_of(weighted(CONFIG, found)) == 6471


def test_age_ends() -> None:
    assert factors(age_s=5000).age == 1
    assert factors(age_s=-5).age == 0


@pytest.mark.parametrize(
    ("more", "size"),
    [
        ({"favors_small": True}, 0.625),  # (4/8 + 48/64) / 2
        ({"is_size_relative": True}, 0.05),  # max(4*64/8, 16) / 10 min / 64
        ({"is_size_relative": True, "favors_small": True}, 0.95),
    ],
)
def test_size(more: dict[str, bool], size: float) -> None:
    assert factors(replace(CONFIG, **more)).job_size == pytest.approx(size)  # type: ignore[arg-type]


def test_a_priority_is_at_least_one_and_has_32_bits() -> None:
    assert priority_of(Factors(nice=100)) == 1
    assert priority_of(Factors(age=1e12)) == 2**32 - 1
    assert priority_of(weighted(PriorityConfig(), factors(PriorityConfig()))) == 1


def test_a_formula() -> None:
    job = replace(JOB, uses={"cpu": 4, "node": 2, "mem": 1024, "gres/gpu": 1})
    assert formula_priority("ncpus*10 + nodect + job_priority", job, eligible_s=9, job_priority=5) == 47
    assert formula_priority("mem/1048576 + ngpus + eligible_time/walltime", job, eligible_s=60) == pytest.approx(2.1)
    assert formula_priority("queue_priority*fairshare_factor", job, eligible_s=0, queue_priority=8, fair_share=0.5) == 4


def test_what_puts_jobs_in_order() -> None:
    found = factors()
    assert rank_of(CONFIG, found, JOB, eligible_s=250) == 6471
    assert rank_of(replace(CONFIG, formula="ncpus + eligible_time + job_priority"), found, JOB, eligible_s=250) == 259
    assert rank_of(PriorityConfig(), found, JOB, eligible_s=250) is None
