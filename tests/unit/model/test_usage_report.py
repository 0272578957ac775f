"""The sums of `hpcbatch report`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from time import perf_counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.model.report import KEYS, Job, Use, Window, job_from
from hpcbatch.model.report import summed_up as summed_up_jobs
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState, Reason
from tests.unit.dialects.slurm.jobs import ROWS

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
WEEK = Window(NOW - timedelta(days=7), NOW)


def summed_up(rows: list[JobRow], by: list[str], window: Window, *, timezone: tzinfo) -> tuple[list[Use], Use]:
    jobs = [job for job in map(job_from, rows) if job is not None]
    return summed_up_jobs(jobs, by, window, now=NOW, timezone=timezone)


def hours(count: float) -> timedelta:
    return timedelta(hours=count)


def job(
    user: str = "alice",
    queue: str = "work",
    *,
    ago_h: float | None = 1,
    took_h: float | None = 2,
    waited_s: int = 60,
    cpus: int = 4,
    state: JobState = JobState.FINISHED,
    used_s: int | None = None,
    **more: Any,
) -> JobRow:
    """A job that ended so many hours ago and ran for `took_h`; None: has not ended, never ran."""
    end = None if ago_h is None else NOW - hours(ago_h)
    start = None if took_h is None else (end or NOW) - hours(took_h)
    ready = None if start is None else start - timedelta(seconds=waited_s)
    return ROWS[0]._replace(
        user=user,
        queue=queue,
        cpus=cpus,
        state=state,
        reason=Reason.NONE,
        start_time=start,
        end_time=end,
        submit_time=ready,
        eligible_time=ready,
        cpu_used_s=used_s,
        **more,
    )


def test_users_with_the_largest_first() -> None:
    rows = [
        job("alice", took_h=2, used_s=3600),
        job("bob", took_h=10, state=JobState.FAILED),
        job("bob", took_h=10, state=JobState.TIMEOUT),
        job("bob", ago_h=None, took_h=0.5, state=JobState.RUNNING),
        job("carol", took_h=None, state=JobState.DELETED),
    ]
    uses, total = summed_up(rows, ["user"], WEEK, timezone=UTC)
    assert [use.key for use in uses] == [("bob",), ("alice",), ("carol",)]
    bob, alice, carol = uses
    assert (bob.jobs, bob.running, bob.failed, bob.deleted) == (3, 1, 2, 0)
    assert (bob.cpu_hours, bob.walltime_hours) == (82.0, 20.5)
    assert (alice.cpu_used_hours, alice.wait_median_s) == (1.0, 60)
    assert (carol.jobs, carol.deleted, carol.cpu_hours, carol.wait_median_s) == (1, 1, 0.0, None)
    assert (total.jobs, total.cpu_hours) == (5, 90.0)


def test_only_what_lies_in_the_window_counts() -> None:
    window = Window(NOW - hours(10), NOW - hours(5))
    rows = [
        job(ago_h=8, took_h=4, used_s=7200),  # half of it before
        job(ago_h=1, took_h=20),  # began before, ended after
        job(ago_h=None, took_h=6, state=JobState.RUNNING),
        job(ago_h=11, took_h=1),  # over before
        job(ago_h=1, took_h=1),  # began after
    ]
    uses, total = summed_up(rows, [], window, timezone=UTC)
    assert [use.key for use in uses] == [()]
    assert total.jobs == 3
    assert total.walltime_hours == 2 + 5 + 1
    assert total.cpu_used_hours == 1.0


def test_waiting_jobs_and_arrays_as_such_do_not_count() -> None:
    rows = [
        job(ago_h=None, took_h=None, state=JobState.QUEUED),
        job(array_indices="1-9"),
        job(array_id=12, array_index=1),
    ]
    assert summed_up(rows, ["user"], WEEK, timezone=UTC)[1].jobs == 1


def test_waits() -> None:
    rows = [job(waited_s=seconds) for seconds in range(1, 101)]
    (use,), _ = summed_up(rows, ["queue"], WEEK, timezone=UTC)
    assert (use.wait_median_s, use.wait_95_s) == (50, 95)


def test_days_are_in_order_and_in_the_readers_zone() -> None:
    from zoneinfo import ZoneInfo

    rows = [job(ago_h=13, took_h=9), job(ago_h=1, took_h=1), job(ago_h=None, took_h=1, state=JobState.RUNNING)]
    uses, _ = summed_up(rows, ["day", "state"], WEEK, timezone=ZoneInfo("Asia/Tokyo"))
    assert [use.key for use in uses] == [("2026-11-21", "Finished"), ("2026-11-21", "Running")]
    uses, _ = summed_up(rows, ["day"], WEEK, timezone=UTC)
    assert [use.key for use in uses] == [("2026-11-20",), ("2026-11-21",)]


@pytest.mark.parametrize("name", KEYS)
def test_each_key(name: str) -> None:
    (use,), total = summed_up([job()], [name], WEEK, timezone=UTC)
    assert len(use.key) == 1
    assert use._replace(key=()) == total


@given(
    st.lists(
        st.builds(
            job,
            st.sampled_from("abc"),
            st.sampled_from("xy"),
            ago_h=st.none() | st.floats(0, 300),
            took_h=st.none() | st.floats(0, 300),
            cpus=st.integers(0, 99),
            state=st.sampled_from(JobState),
            used_s=st.none() | st.integers(0, 99999),
        ),
        max_size=30,
    ),
    st.lists(st.sampled_from(sorted(KEYS)), unique=True),
)
def test_groups_add_up(rows: list[JobRow], by: list[str]) -> None:
    uses, total = summed_up(rows, by, WEEK, timezone=UTC)
    assert len({use.key for use in uses}) == len(uses)
    for name in ("jobs", "running", "failed", "deleted"):
        assert sum(getattr(use, name) for use in uses) == getattr(total, name)
    for name in ("cpu_hours", "cpu_used_hours", "walltime_hours"):
        assert sum(getattr(use, name) for use in uses) == pytest.approx(getattr(total, name))
        assert getattr(total, name) >= 0
    assert total.walltime_hours <= total.jobs * 7 * 24 + 1e-6


def test_a_hundred_thousand_jobs_take_about_a_second() -> None:
    end = NOW.timestamp()
    jobs = [
        Job(n, f"user{n % 50}", f"queue{n % 5}", "", "Finished", 4, end - n - 9, end - n // 2 - 5, end - n // 5, n)
        for n in range(100_000)
    ]
    began = perf_counter()
    uses, total = summed_up_jobs(jobs, ["user", "queue", "day"], WEEK, now=NOW, timezone=UTC)
    assert total.jobs == 100_000
    assert len(uses) == 50
    assert perf_counter() - began < 10  # half a second on an idle machine
