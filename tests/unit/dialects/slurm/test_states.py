"""States, reasons, ids, times: every table is total."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.slurm import states
from hpcbatch.dialects.slurm.clock import ctime, full, short, stamp
from hpcbatch.dialects.slurm.ids import id_text, parse_id, split_ids, task_text
from hpcbatch.dialects.slurm.memory import size
from hpcbatch.errors import NotSupportedError
from hpcbatch.model.indices import Indices
from hpcbatch.model.named import NamedJob
from hpcbatch.model.state import JobState, Reason
from tests.unit.dialects.slurm.jobs import record, row

NOW = datetime(2026, 11, 21, 2, 50, 6, tzinfo=UTC)


def test_tables_are_total() -> None:
    assert states.COMPACT.keys() == set(JobState)
    assert states.REASON.keys() == set(Reason)
    assert {*states.COMPACT.values(), *states._FAILED_BY.values()} <= states.LONG.keys()
    assert states.LONG.keys() >= states.ACTIVE
    for state in JobState:
        for reason in Reason:
            assert states.compact(state, reason) in states.LONG
            assert (states.compact(state, reason) in states.ACTIVE) is not state.is_final


@pytest.mark.parametrize(
    ("state", "reason", "message", "shown"),
    [
        (JobState.QUEUED, Reason.STARTING, "", "None"),
        (JobState.QUEUED, Reason.STARTING, "ErrImagePull: no such image: x", "ErrImagePull"),
        (JobState.QUEUED, Reason.STARTING, "what no program says", "None"),
        (JobState.QUEUED, Reason.RESOURCES, "exceeded quota: q", "Resources"),
        (JobState.RUNNING, Reason.STARTING, "ErrImagePull: x", "None"),
        (JobState.QUEUED, Reason.LIMIT, "AssocMaxJobsLimit: no more than 1 job at a time", "AssocMaxJobsLimit"),
        (JobState.QUEUED, Reason.LIMIT, "User has reached server running job limit.", "QOSResourceLimit"),
        (JobState.FAILED, Reason.LAUNCH_FAILED, "pod x: ErrImagePull: x", "JobLaunchFailure"),
    ],
)
def test_shown_reason(state: JobState, reason: Reason, message: str, shown: str) -> None:
    assert states.shown_reason(state, reason, message) == states.described_reason(state, reason, message) == shown


def test_kueue_is_quoted() -> None:
    """As Slurm does with its state_desc; the reason stays one of its own."""
    said = "Kueue: couldn't assign flavors to pod set main: insufficient quota for cpu in flavor any"
    assert states.described_reason(JobState.QUEUED, Reason.RESOURCES, said) == said
    assert states.shown_reason(JobState.QUEUED, Reason.RESOURCES, said) == "Resources"
    assert states.described_reason(JobState.RUNNING, Reason.NONE, said) == "None"


@pytest.mark.parametrize(
    ("state", "reason", "message", "told"),
    [
        (JobState.QUEUED, Reason.STARTING, "ErrImagePull: x", "ErrImagePull: x"),
        (JobState.QUEUED, Reason.NODE_LOST, "lost; the job will run again", "lost; the job will run again"),
        (JobState.QUEUED, Reason.RESOURCES, "exceeded quota: q", ""),
        (JobState.FAILED, Reason.NODE_LOST, "pod x was lost", "pod x was lost"),
        (JobState.FAILED, Reason.SIGNALLED, "killed by signal 9", ""),
        (JobState.FAILED, Reason.PROGRAM_FAILED, "wrf.exe: why", "wrf.exe: why"),
        (JobState.FINISHED, Reason.OUTPUT_FAILED, "no space", "no space"),
        (JobState.FINISHED, Reason.NONE, "", ""),
        (JobState.FINISHED, Reason.NONE, "warning: w", "warning: w"),
        (JobState.FAILED, Reason.SIGNALLED, "killed by signal 9; warning: w", "warning: w"),
        (JobState.TIMEOUT, Reason.TIME_LIMIT, "walltime 12 s; warning: w", "warning: w"),
        (JobState.RUNNING, Reason.NONE, "pod y on node n1: FailedMount: no", "pod y on node n1: FailedMount: no"),
    ],
)
def test_system_comment(state: JobState, reason: Reason, message: str, told: str) -> None:
    assert states.system_comment(state, reason, message) == told


def test_earlier_jobs_come_first() -> None:
    first, second = (states.priority(n, JobState.QUEUED, 0) for n in (1, 2))
    assert first > second > states.priority(3, JobState.HELD, 0) == 0
    assert first == 4294901759  # recorded: the first job of a new cluster


IDS = [
    ("12", 12, None),
    ("12+0", 12, None),
    ("007", 7, None),
    ("12_4", 12, "4"),
    ("12_[1-3]", 12, "1-3"),
    ("12_[1,3%2]", 12, "1,3"),
    ("12_[5,1-3]", 12, "1-3,5"),
    ("12_[0-8:4]", 12, "0-8:4"),
    ("12_1-3", 12, "1-3"),
    ("12_*", 12, None),
]


@pytest.mark.parametrize(("text", "number", "members"), IDS, ids=[i[0] for i in IDS])
def test_id(text: str, number: int, members: str | None) -> None:
    found = parse_id(text)
    assert (found.number, found.is_array) == (number, "_" in text)
    assert members == (None if found.members is None else str(found.members))


@pytest.mark.parametrize("text", ["12.0", "12.batch", "12+1", "12_4.batch"])
def test_id_of_what_is_not_supported(text: str) -> None:
    with pytest.raises(NotSupportedError):
        parse_id(text)


@given(st.integers(1, 10**9), st.none() | st.sets(st.integers(0, 200), min_size=1, max_size=12))
def test_id_that_is_said_is_read(number: int, members: set[int] | None) -> None:
    wanted = NamedJob(number, None if members is None else Indices.of(members), is_array=members is not None)
    if len(text := id_text(wanted)) < 64:
        assert parse_id(text) == wanted


TASKS = [
    ("3", None, "3"),
    ("1-4", 2, "1-4%2"),
    ("2-3", None, "2-3"),
    ("1,3", None, "1,3"),
    ("1-7:2", 4, "1,3,5,7%4"),
    ("1-21:4", None, "1-21:4"),
    ("0-98:2", 5, "0-98:2%5"),
    ("1-9:2,10", None, "1,3,5,7,9-10"),
    ("1-2,4-5,8", None, "1-2,4-5,8"),
    (",".join(map(str, range(100, 160, 2))) + ",161", None, f"{','.join(map(str, range(100, 130, 2)))},..."),
]


@pytest.mark.parametrize(("indices", "limit", "text"), TASKS, ids=[t[2] for t in TASKS])
def test_task_text(indices: str, limit: int | None, text: str) -> None:
    assert task_text(Indices.parse(indices), limit) == text


def test_task_text_is_as_long_as_is_wanted() -> None:
    tasks = Indices.parse(",".join(map(str, range(100, 160, 2))) + ",161")
    assert task_text(tasks, shown=0).endswith(",158,161")
    assert len(task_text(tasks, shown=32)) == 31


@pytest.mark.parametrize(
    "text", ["", "abc", "12x", "-1", "0", "1.5x", "12_x", "12_", "12_[]", "12_[3-1]", "12_[1", "1 2", "9" * 30, "١"]
)
def test_no_id(text: str) -> None:
    with pytest.raises(ValueError):
        parse_id(text)


def test_lists_of_ids() -> None:
    assert split_ids("1,2_[1,3],, 4") == ["1", "2_[1,3]", "4"]


DURATIONS = [
    (0, "0:00", "00:00:00"),
    (9 * 60 + 58, "9:58", "00:09:58"),
    (3600, "1:00:00", "01:00:00"),
    (86400 + 3723, "1-01:02:03", "1-01:02:03"),
    (-5, "0:00", "00:00:00"),
]


@pytest.mark.parametrize(("seconds", "as_short", "as_full"), DURATIONS, ids=[d[1] for d in DURATIONS])
def test_duration(seconds: int, as_short: str, as_full: str) -> None:
    assert (short(seconds), full(seconds)) == (as_short, as_full)


RELATIVE = [
    (0, "02:50:06"),
    (-1, "Ystday 02:50"),
    (1, "Tomorr 02:50"),
    (3, "Tue 02:50"),
    (30, "21 Dec 02:50"),
    (-400, "17 Oct 2025"),
]


@pytest.mark.parametrize(("days", "text"), RELATIVE, ids=[r[1] for r in RELATIVE])
def test_relative_time(days: int, text: str) -> None:
    assert stamp(NOW + timedelta(days=days), UTC, "relative", NOW) == text


def test_times() -> None:
    assert ctime(NOW, UTC) == "Sat Nov 21 02:50:06 2026"
    assert ctime(NOW.replace(day=9), UTC) == "Mon Nov  9 02:50:06 2026"
    assert stamp(None, UTC, none="Unknown") == "Unknown"


@pytest.mark.parametrize(("mib", "text"), [(0, "0"), (100, "100M"), (2048, "2G"), (1536, "1536M"), (1024**2, "1T")])
def test_memory(mib: int, text: str) -> None:
    assert size(mib) == text


@given(st.integers(0, 10**7))
def test_durations_read_back(seconds: int) -> None:
    for text in (short(seconds), full(seconds)):
        days, _, clock = text.rpartition("-")
        total = 0
        for part in clock.split(":"):
            total = total * 60 + int(part)
        assert total + int(days or 0) * 86400 == seconds


@pytest.mark.parametrize(
    ("state", "reason", "status", "code"),
    [
        (JobState.FINISHED, Reason.NONE, {"exit_code": 0}, 0),
        (JobState.FAILED, Reason.NON_ZERO_EXIT, {"exit_code": 7}, 7),
        (JobState.FAILED, Reason.SIGNALLED, {"exit_signal": 9}, 1),
        (JobState.FAILED, Reason.NODE_LOST, {}, 1),
        (JobState.DELETED, Reason.DELETED_BY_USER, {"start_time": NOW}, 1),
        (JobState.DELETED, Reason.DELETED_BY_USER, {}, 0),
        (JobState.TIMEOUT, Reason.TIME_LIMIT, {"start_time": NOW}, 0),
    ],
    ids=["well", "code", "signal", "node-lost", "deleted", "deleted-before", "timeout"],
)
def test_wait_code(state: JobState, reason: Reason, status: dict[str, Any], code: int) -> None:
    assert states.wait_code(record(1, state=state, reason=reason, **status).status) == code


@pytest.mark.parametrize(
    ("rank", "state", "reason", "shown"),
    [
        (995, JobState.QUEUED, Reason.PRIORITY, 995),
        (0, JobState.QUEUED, Reason.PRIORITY, 1),
        (995, JobState.HELD, Reason.HELD_BY_USER, 0),
        (995, JobState.HELD, Reason.DEPENDENCY, 995),
        (995, JobState.RUNNING, Reason.NONE, 995),
        (None, JobState.QUEUED, Reason.PRIORITY, states.FIRST_PRIORITY - 7),
    ],
)
def test_priorities_with_factors(rank: int | None, state: JobState, reason: Reason, shown: int) -> None:
    one = row(record(7, state=state, reason=reason))._replace(rank=rank)
    assert states.priority_of(one) == shown
