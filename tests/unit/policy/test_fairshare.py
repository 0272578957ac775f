"""Fair share, with figures computed by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hpcbatch.model.accounts import PARENT_SHARES, Account, Accounts, Association, Qos, first_accounts
from hpcbatch.model.priority import PriorityConfig
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState
from hpcbatch.policy.fairshare import Run, Times, committed, decayed, raw_usage, shares_of
from tests.unit.dialects.pbs.jobs import ROWS

NOW = datetime(2026, 11, 26, 10, 0, tzinfo=UTC)


def run(user: str, account: str, cpus: int, start_s: float, end_s: float, qos: str = "") -> Run:
    return Run(user, account, qos, "q", cpus, start_s, end_s)


def site(*, theory: int = 1) -> Accounts:
    """root (root): a with 3 shares (ann, bob), b with 1 (cy); below a `theory` (dan)."""
    begun = first_accounts()
    return replace(
        begun,
        accounts={
            **begun.accounts,
            "a": Account(name="a"),
            "b": Account(name="b"),
            "theory": Account(name="theory", parent="a"),
        },
        associations=(
            *begun.associations,
            Association(number=3, account="a", shares=3),
            Association(number=4, account="a", user="ann"),
            Association(number=5, account="a", user="bob", shares=2),
            Association(number=6, account="b"),
            Association(number=7, account="b", user="cy"),
            Association(number=8, account="theory", shares=theory),
            Association(number=9, account="theory", user="dan"),
        ),
    )


def test_usage_decays() -> None:
    """A short job of 10 CPU seconds, one half-life ago; and one that has run for ever, whose usage is rate/ln 2."""
    assert decayed(run("u", "a", 10, -1001, -1000), 0, 1000) == pytest.approx(5, rel=1e-3)
    assert decayed(run("u", "a", 2, -1e6, 0), 0, 1000) == pytest.approx(2 * 1000 / math.log(2))
    assert decayed(run("u", "a", 2, -50, 0), 0, 0) == 100
    assert decayed(run("u", "a", 2, 10, 20), 5, 1000) == 0


@pytest.mark.parametrize(
    ("times", "held"),
    [
        (Times(None, None), None),
        (Times(10, None), (10, 100)),
        (Times(10, 60), (10, 60)),
        (Times(10, None, stood_s=20), (30, 100)),
        (Times(10, None, suspended_s=40), (10, 40)),
        (Times(10, 60, earlier_s=5), (5, 60)),
        (Times(None, None, earlier_s=5), (95, 100)),  # it waits to run again
        (Times(None, 50, earlier_s=5), (45, 50)),
    ],
    ids=str,
)
def test_when_a_job_holds_something(times: Times, held: tuple[float, float] | None) -> None:
    """A run that was given up counts, and the time for which a job stood does not."""
    assert times.held(100) == held


def test_usage_goes_up_the_tree() -> None:
    runs = [run("ann", "a", 1, 0, 30), run("dan", "theory", 1, 0, 10), run("cy", "b", 1, 0, 60), run("x", "a", 1, 0, 9)]
    usage = raw_usage(site(), runs, 60, 0)
    assert usage == {1: 100, 2: 0, 3: 40, 4: 30, 5: 0, 6: 60, 7: 60, 8: 10, 9: 10}


def test_what_running_jobs_have_left_goes_up_the_tree() -> None:
    """Of their walltimes; what waits, has no walltime, is over it or counts for no account has nothing."""

    def row(user: str, account: str, state: JobState = JobState.RUNNING, **changes: Any) -> JobRow:
        own = {"start_time": NOW - timedelta(seconds=40), "walltime_s": 100, "mem_bytes": 3 << 20, "nodes": 1}
        return ROWS[0]._replace(user=user, account=account, state=state, cpus=2, **{**own, **changes})

    rows = (
        row("dan", "theory"),
        row("ann", "a", nodes=2, mem_bytes=None, start_time=NOW - timedelta(seconds=70), stood_s=30),
        row("cy", "b", JobState.QUEUED),
        row("cy", "b", walltime_s=None),
        row("cy", "b", walltime_s=30),
        row("cy", ""),
        row("nobody", "b"),
    )
    nothing, one, both = (
        {"cpu": cpu, "mem": mem, "node": node} for cpu, mem, node in ((0, 0, 0), (120, 180, 60), (240, 180, 180))
    )
    ann = {"cpu": 120, "mem": 0, "node": 120}
    assert committed(site(), rows, NOW) == {9: one, 8: one, 4: ann, 3: both, 1: both, 7: nothing, 6: nothing}


def test_a_quality_of_service_has_a_usage_factor() -> None:
    accounts = replace(site(), qos={**site().qos, "cheap": Qos(number=2, name="cheap", usage_factor=0.5)})
    assert raw_usage(accounts, [run("cy", "b", 2, 0, 10, "cheap")], 10, 0)[7] == 10


def test_fair_tree() -> None:
    """root, who has used nothing, first; then a (3/5 of shares, 0.4 of usage), in it bob, then ann and theory, which
    are even (1/4 against 0.5 of a's usage each); then b (1/5, 0.6)."""
    usage = {1: 100.0, 2: 0.0, 3: 40.0, 4: 20.0, 5: 0.0, 6: 60.0, 7: 60.0, 8: 20.0, 9: 20.0}
    found = shares_of(site(), usage, PriorityConfig())
    assert [round(found[number].norm_shares, 6) for number in (2, 3, 6, 4, 5, 8, 9)] == [
        *(0.2, 0.6, 0.2),
        *(0.25, 0.5, 0.25),
        1,
    ]
    assert [found[number].effective_usage for number in (1, 3, 6, 4, 9)] == [1, 0.4, 0.6, 0.5, 1]
    assert found[3].level_fs == pytest.approx(1.5)
    assert found[5].level_fs == math.inf
    assert [found[number].factor for number in (2, 5, 4, 9, 7)] == [1, 0.8, 0.6, 0.4, 0.2]


def test_even_users_have_the_same_factor() -> None:
    usage = dict.fromkeys(range(1, 10), 0.0)
    found = shares_of(site(), usage, PriorityConfig())
    assert {found[number].factor for number in (2,)} == {1}
    assert found[4].factor == found[5].factor == found[7].factor == 0.8


def test_shares_of_the_parent() -> None:
    usage = {1: 100.0, 2: 0.0, 3: 40.0, 4: 20.0, 5: 0.0, 6: 60.0, 7: 60.0, 8: 20.0, 9: 20.0}
    found = shares_of(site(theory=PARENT_SHARES), usage, PriorityConfig())
    assert found[9].norm_shares == 0.25
    assert found[9].factor == found[4].factor


def test_the_classic_way() -> None:
    """a: S = 3/5, U = 0.4: 2^-(0.4/0.6). ann: S = 3/5·1/4, U = 0.2 + (0.4-0.2)/4 = 0.25: 2^-(0.25/0.15)."""
    usage = {1: 100.0, 2: 0.0, 3: 40.0, 4: 20.0, 5: 0.0, 6: 60.0, 7: 60.0, 8: 20.0, 9: 20.0}
    found = shares_of(site(), usage, PriorityConfig(is_fair_tree=False))
    assert found[3].factor == pytest.approx(2 ** -(0.4 / 0.6))
    assert found[4].norm_shares == pytest.approx(0.15)
    assert found[4].effective_usage == pytest.approx(0.25)
    assert found[4].factor == pytest.approx(2 ** -(0.25 / 0.15))
    damped = shares_of(site(), usage, PriorityConfig(is_fair_tree=False, damping=5))
    assert damped[4].factor == pytest.approx(2 ** -(0.25 / 0.15 / 5))
