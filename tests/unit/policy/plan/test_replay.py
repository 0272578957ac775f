"""The planner in virtual time decides as EASY and conservative backfilling by the book do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.policy import book, lublin
from bench.policy.measures import measure, waits_s
from bench.policy.replay import replay
from bench.policy.trace import Trace
from bench.policy.ways import ALL, DELAY_S
from tests.thoroughness import IS_FULL


@pytest.fixture(name="trace", params=[1, 2])
def _trace(request: pytest.FixtureRequest) -> Trace:
    return lublin.generate(300 if IS_FULL else 120, 64, seed=request.param, load=1.2)


def test_easy(trace: Trace) -> None:
    assert replay(trace) == book.easy(trace)
    assert replay(trace, per_node=1) == book.easy(trace)


def test_easy_if_users_ask_for_more_than_they_use(trace: Trace) -> None:
    more = replace(trace, jobs=tuple(replace(job, requested_s=3 * job.run_s) for job in trace.jobs))
    assert replay(more) == book.easy(more)


def test_conservative(trace: Trace) -> None:
    assert replay(trace, depth=None) == book.conservative(trace)


@pytest.mark.parametrize("asks", [1, 3])
def test_short_jobs_first_within_a_bound(trace: Trace, asks: int) -> None:
    """Nobody starts much later than with EASY, where jobs run as long as they ask for; else the shadow is no EASY."""
    more = replace(trace, jobs=tuple(replace(job, requested_s=asks * job.run_s) for job in trace.jobs))
    starts, easy = ALL["plan-bounded"](more, None), book.easy(more)
    later_s = [own - other for own, other in zip(waits_s(more, starts), waits_s(more, easy), strict=True)]
    assert asks > 1 or max(later_s) <= DELAY_S
    assert measure(more, starts).slowdown < 0.95 * measure(more, easy).slowdown
