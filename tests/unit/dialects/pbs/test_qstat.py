from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hpcbatch.dialects.pbs.qstat import format_alternate, format_default
from hpcbatch.dialects.pbs.qstat_full import format_full, format_json
from hpcbatch.dialects.pbs.qstat_queues import (
    JobCounts,
    count_jobs,
    format_limits,
    format_queues,
    format_server,
    queue_attributes,
    server_attributes,
)
from hpcbatch.model.row import JobRow, QueueRow
from hpcbatch.model.state import JobState

from .jobs import NOW, ROWS, STARTED, recorded

QUEUE = QueueRow(name="workq", is_default=True, is_open=True)


def one_slot(text: str) -> str:
    """Our slot numbers count within a job, not within a node."""
    return text.replace("pbs1/1", "pbs1/0")


@pytest.mark.parametrize(
    ("name", "options"),
    [("default", {}), ("w", {"wide": True}), ("p", {"percent": True, "now": STARTED})],
)
def test_default_tables_are_the_recorded_ones(name: str, options: dict[str, object]) -> None:
    assert format_default(ROWS, **options) == recorded(f"qstat_{name}.txt")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a", {}),
        ("n", {"nodes": True}),
        ("n1", {"nodes": True, "one_line": True}),
        ("s", {"comments": True}),
        ("ans", {"nodes": True, "comments": True}),
        ("aw", {"wide": True}),
        ("T", {"estimates": True}),
    ],
)
def test_alternate_tables_are_the_recorded_ones(name: str, options: dict[str, Any]) -> None:
    table = format_alternate(ROWS, server="pbs1", now=STARTED, timezone=UTC, **options)
    assert table == one_slot(recorded(f"qstat_{name}.txt"))


def test_tables_of_some_states() -> None:
    waiting = [row for row in ROWS if row.state is not JobState.RUNNING]
    running = [row for row in ROWS if row.state is JobState.RUNNING]
    assert format_alternate(waiting, server="pbs1", now=STARTED) == recorded("qstat_i.txt")
    assert format_alternate(running, server="pbs1", now=STARTED) == recorded("qstat_r.txt")


@pytest.mark.parametrize(
    ("ahead", "shown"),
    [
        (timedelta(seconds=-1), "--"),
        (timedelta(hours=1), "03:50"),
        (timedelta(days=2), "Mo 02"),
        (timedelta(days=20), "Dec"),
        (timedelta(days=400), "2027"),
        (timedelta(days=5 * 366), ">5yrs"),
    ],
)
def test_expected_starts(ahead: timedelta, shown: str) -> None:
    now = datetime(2026, 11, 21, 2, 50, tzinfo=UTC)
    waiting = ROWS[2]._replace(planned_start=now + ahead)
    assert waiting.state is JobState.QUEUED
    table = format_alternate([waiting], server="pbs1", now=now, timezone=UTC, estimates=True)
    assert table.splitlines()[-1].endswith(f" Q {shown:>5}")


def test_expected_starts_are_in_order_after_what_runs() -> None:
    now = STARTED
    soon, late = (ROWS[2]._replace(job_id=n, planned_start=now + timedelta(hours=n)) for n in (1, 2))
    table = format_alternate([late, ROWS[3], soon, ROWS[0]], server="pbs1", now=now, timezone=UTC, estimates=True)
    assert [line.split(".")[0] for line in table.splitlines()[-4:]] == ["85", "1", "2", "88"]


def test_finished_job_in_the_history() -> None:
    row = ROWS[0]._replace(
        job_id=102, name="failer", state=JobState.FAILED, session_id=None, walltime_s=None, end_time=STARTED
    )
    assert format_alternate([row], server="pbs1", now=NOW) == recorded("qstat_H_failed.txt")


def test_no_rows_print_nothing() -> None:
    assert format_default([]) == ""
    assert format_alternate([], server="pbs1", now=NOW) == ""


def test_header_is_printed_once() -> None:
    assert format_default(ROWS[:1], header=False).count("\n") == 1
    assert "Job ID" not in format_alternate(ROWS[:1], server="pbs1", now=NOW, header=False)


def cell(**changes: object) -> JobRow:
    return ROWS[0]._replace(**changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"name": "a" * 15}, f"{'a' * 15}  "),
        ({"name": "a" * 16}, f"{'a' * 15}* "),
        ({"user": "u" * 16}, f"{'u' * 16} "),
        ({"user": "u" * 17}, f"{'u' * 15}* "),
        ({"server": "pbs1.example.com"}, "85.pbs1 "),
        ({"job_id": 123456789, "server": "longserver"}, "123456789.longse*"),
        ({"cpu_used_s": 3661}, " 01:01:01 R"),
        ({"cpu_used_s": 3600000}, " 1000:00* R"),
        ({"state": JobState.EXITING}, " E workq"),
    ],
    ids=["name-15", "name-16", "user-16", "user-17", "domain", "long-id", "cput", "long-cput", "exiting"],
)
def test_long_cells_of_the_default_table(changes: dict[str, object], expected: str) -> None:
    assert expected in format_default([cell(**changes)])


@pytest.mark.parametrize(
    ("changes", "options", "expected"),
    [
        ({"mem_bytes": 100 << 20}, {}, " 100mb "),
        ({"mem_bytes": 4 << 30}, {}, "   4gb "),
        ({"mem_bytes": 10000 << 20}, {}, "  10gb "),
        ({"mem_bytes": 4 << 30}, {"megawords": True}, " 512mw "),
        ({"mem_bytes": (4 << 30) + 1}, {"gigabytes": True}, "   5gb "),
        ({"mem_bytes": 0}, {}, "   0 b "),
        ({"walltime_s": 360000}, {}, " 100:0 R"),
        ({"nodes": 1000, "cpus": 1000}, {}, " 10* 10* "),
        ({"name": "a" * 11}, {}, " aaaaaaaaa*  11171 "),
        ({"cpus": 0}, {}, "   1  --    --  00:10 "),
        ({"job_id": 1234567890, "server": "server"}, {}, "1234567890.ser* tester "),
    ],
    ids=["mb", "gb", "scaled", "megawords", "gigabytes", "none", "hours", "many", "name", "no-cpus", "id"],
)
def test_cells_of_the_alternate_table(changes: dict[str, Any], options: dict[str, Any], expected: str) -> None:
    assert expected in format_alternate([cell(**changes)], server="pbs1", now=STARTED, **options)


def test_elapsed_time_is_that_of_the_wall_clock() -> None:
    later = STARTED + timedelta(hours=1, minutes=23, seconds=45)
    assert format_alternate([ROWS[0]], server="pbs1", now=later).endswith(" R 01:23\n")
    ended = cell(state=JobState.FINISHED, end_time=STARTED + timedelta(minutes=2))
    assert format_alternate([ended], server="pbs1", now=later).endswith(" F 00:02\n")


def test_node_line_loses_domains_and_breaks_after_plus() -> None:
    hosts = tuple(f"node{n:02d}.example.com" for n in range(12))
    row = cell(hosts=hosts, cpus_per_host=(4,) * 12, nodes=12)
    lines = format_alternate([row], server="pbs1", now=STARTED, nodes=True).splitlines()[-2:]
    assert lines[0] == "   " + "".join(f"node{n:02d}/0*4+" for n in range(7))
    assert lines[1] == "   " + "+".join(f"node{n:02d}/0*4" for n in range(7, 12))
    address = cell(hosts=("10.0.0.1",))
    assert format_alternate([address], server="pbs1", now=STARTED, nodes=True).endswith("\n   10.0.0.1/0\n")


def test_two_pods_on_one_node_have_two_slots() -> None:
    row = cell(hosts=("pbs1", "pbs1"), cpus_per_host=(1, 1))
    assert format_alternate([row], server="pbs1", now=STARTED, nodes=True).endswith("   pbs1/0+pbs1/1\n")


def test_long_comment_is_cut() -> None:
    row = cell(state=JobState.QUEUED, start_time=None, message="x" * 100)
    text = f"Not Running: {'x' * 100}"
    narrow = format_alternate([row], server="pbs1", now=STARTED, comments=True).splitlines()[-1]
    wide = format_alternate([row], server="pbs1", now=STARTED, comments=True, wide=True).splitlines()[-1]
    assert narrow == f"   {text[:70]}..."
    assert wide == f"   {text}"


IDLE = JobCounts(finished=85)
BUSY = count_jobs(ROWS)


def test_queue_tables_are_the_recorded_ones() -> None:
    assert format_queues([QUEUE], {}) == recorded("qstat_Q_idle.txt")
    assert format_queues([QUEUE], {"workq": BUSY}) == recorded("qstat_Q_busy.txt")
    assert format_server("pbs1", IDLE) == recorded("qstat_B_idle.txt")
    assert format_server("pbs1", replace(BUSY, finished=85)) == recorded("qstat_B_busy.txt")
    assert format_limits([QUEUE], {}, server="pbs1") == recorded("qstat_q_idle.txt")


def test_full_queue_is_the_recorded_one_but_for_mpiprocs() -> None:
    text = format_full("Queue: workq", queue_attributes(QUEUE, IDLE))
    assert text == recorded("qstat_Q_f.txt").replace("    resources_assigned.mpiprocs = 0\n", "")
    objects = {"workq": queue_attributes(QUEUE, BUSY)}
    json = format_json(objects, now=NOW + timedelta(seconds=1), server="pbs1", key="Queue")
    assert json == recorded("qstat_Q_f_json.txt").replace('\t\t\t\t"mpiprocs":\t0,\n', "")


def test_limits_of_a_queue() -> None:
    queue = QueueRow(name="long", is_default=False, is_open=False, max_walltime_s=86400)
    counts = {"long": JobCounts(queued=2, held=1, running=3)}
    assert " 24:00:00  --      3     3   --   D R\n" in format_limits([queue], counts, server="s")
    assert dict(queue_attributes(queue, counts["long"]))["resources_max"] == {"walltime": "24:00:00"}
    assert " no yes " in format_queues([queue], counts)


def test_server_attributes() -> None:
    text = format_full("Server: pbs1", server_attributes("pbs1", "workq", IDLE))
    assert text.startswith("Server: pbs1\n    server_state = Active\n    server_host = pbs1\n")
    assert "    total_jobs = 85\n" in text
    assert "    default_queue = workq\n" in text


def test_counts_hold_every_job_once() -> None:
    rows = [cell(state=state) for state in JobState]
    counts = count_jobs(rows)
    assert counts.active + counts.finished == len(rows) - 1  # refused submissions are no jobs
    assert (counts.cpus, counts.nodes) == (3, 3)


def test_counts_of_arrays() -> None:
    array = cell(state=JobState.RUNNING)._replace(array_indices="1-9", array_pending="3-9", array_active="1-2")
    member = cell(state=JobState.RUNNING)._replace(array_id=array.job_id, array_index=1)
    waiting = member._replace(array_index=2, state=JobState.QUEUED)
    counts = count_jobs([array, member, waiting, array._replace(state=JobState.HELD)])
    assert (counts.active, counts.begun, counts.running, counts.held, counts.queued) == (3, 1, 1, 1, 0)
    assert (counts.cpus, counts.nodes) == (member.cpus, member.nodes)
    assert counts.state_count == "Transit:0 Queued:0 Held:1 Waiting:0 Running:1 Exiting:0 Begun:1 "
