"""The history as charts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hpcbatch.model.report import Job, Window, summed_up
from hpcbatch.web.past import charts, days_of, first_day

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
WINDOW = Window(datetime(2026, 11, 19, tzinfo=UTC), NOW)


def job(number: int, state: str, hours_ago: float | None) -> Job:
    """Of two CPUs and half an hour; None: it runs, since half an hour."""
    end = None if hours_ago is None else (NOW - timedelta(hours=hours_ago)).timestamp()
    start = (NOW.timestamp() if end is None else end) - 1800
    return Job(number, "anna", "q", "", state, 2, start - 60, start, end, 900)


def test_every_day_has_its_place() -> None:
    assert days_of(WINDOW) == ["2026-11-19", "2026-11-20", "2026-11-21"]
    jobs = [
        job(1, "Finished", 1),
        job(2, "Failed", 1),
        job(3, "Deleted", 50),
        job(4, "Running", None),
        job(5, "Timeout", 50),
    ]
    uses, _ = summed_up(jobs, ("day",), WINDOW, now=NOW, timezone=UTC)
    found = {chart.title: chart.rows for chart in charts(days_of(WINDOW), {use.key[0]: use for use in uses})}
    assert found["Jobs that ended, by day"] == [
        ("11-19", ["0", "1", "1"]),
        ("11-20", ["0", "0", "0"]),
        ("11-21", ["1", "1", "0"]),
    ]
    assert found["CPU hours held, by the day of a job's end"][2] == ("11-21", ["3"])
    assert found["Wait until the start, median"][1:] == [("11-20", ["00:00:00"]), ("11-21", ["00:01:00"])]


def test_it_says_where_the_records_begin() -> None:
    assert first_day([job(1, "Finished", 1), job(2, "Failed", 13), job(3, "Running", None)], WINDOW) == "2026-11-20"
    assert first_day([job(1, "Finished", 50)], WINDOW) == ""
    assert first_day([], WINDOW) == "2026-11-21"
