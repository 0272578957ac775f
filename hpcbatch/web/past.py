"""What has been used and how long jobs have waited, day by day: `hpcbatch report` as charts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from hpcbatch.client.usage import jobs_since
from hpcbatch.model.report import Job, Use, Window, summed_up
from hpcbatch.units import hms
from hpcbatch.web.charts import Chart, Series, bars, counting_step_of, time_step_of
from hpcbatch.web.facts import Facts
from hpcbatch.web.page import Page, Part, Request

SPANS: Mapping[str, tuple[str, int]] = {"7": ("a week", 7), "30": ("30 days", 30), "90": ("90 days", 90)}
_GROUPS = ("user", "queue", "account", "state")


def days_of(window: Window) -> list[str]:
    """As `summed_up` writes them."""
    day, days = window.since, []
    while day.date() <= window.until.date():
        days.append(f"{day:%Y-%m-%d}")
        day += timedelta(days=1)
    return days


def charts(days: Sequence[str], uses: Mapping[str, Use]) -> list[Chart]:
    """`uses` by their days; on a day without, nothing happened."""

    def each(name: str) -> list[float]:
        return [float(getattr(uses[day], name) or 0) if day in uses else 0.0 for day in days]

    jobs, running, failed, deleted = (each(name) for name in ("jobs", "running", "failed", "deleted"))
    well = [a - b - c - d for a, b, c, d in zip(jobs, running, failed, deleted, strict=True)]
    labels = [day[5:] for day in days]
    return [
        bars(
            "Jobs that ended, by day",
            labels,
            [Series("well", "done", well), Series("not well", "failed", failed), Series("deleted", "deleted", deleted)],
            lambda amount: f"{amount:.0f}",
            counting_step_of,
        ),
        bars(
            "CPU hours held, by the day of a job's end",
            labels,
            [Series("CPU hours", "course", each("cpu_hours"))],
            lambda amount: f"{amount:.3g}",
        ),
        bars(
            "CPU hours used, by the day of a job's end",
            labels,
            [Series("CPU hours used", "done", each("cpu_used_hours"))],
            lambda amount: f"{amount:.3g}",
        ),
        bars(
            "Wait until the start, median",
            labels,
            [Series("median wait", "waits", each("wait_median_s"))],
            lambda amount: hms(round(amount)),
            time_step_of,
        ),
    ]


def first_day(jobs: Iterable[Job], window: Window) -> str:
    """The first day of the window with an ended job, if the days before it are empty: "" if it is the window's own."""
    ends = [job.end for job in jobs if job.end is not None]
    day = datetime.fromtimestamp(min(ends), window.since.tzinfo) if ends else window.until
    return f"{day:%Y-%m-%d}" if day.date() > window.since.date() else ""


def history_page(facts: Facts, request: Request) -> Page:
    span = request.query.get("span", "")
    span = span if span in SPANS else "7"
    by = request.query.get("by", "")
    by = by if by in _GROUPS else "user"
    mine = request.query.get("user", "") == "me"

    def table() -> Mapping[str, Any]:
        now = facts.now
        window = Window(_midnight(now) - timedelta(days=SPANS[span][1] - 1), now)
        jobs: list[Job] = list(jobs_since(facts.api, facts.namespace, window.since, [facts.user] if mine else []))
        daily, _ = summed_up(jobs, ("day",), window, now=now, timezone=facts.zone)
        groups, total = summed_up(jobs, (by,), window, now=now, timezone=facts.zone)
        return {
            "first_day": "" if mine else first_day(jobs, window),
            "charts": charts(days_of(window), {use.key[0]: use for use in daily}),
            "groups": groups,
            "total": total,
            "by": by,
        }

    values = {"spans": {key: text for key, (text, _) in SPANS.items()}, "span": span, "by": by, "groups": _GROUPS}
    return Page("history.html", "History", {**values, "mine": mine}, {"history": Part("history_charts.html", table)})


def _midnight(when: datetime) -> datetime:
    return when.replace(hour=0, minute=0, second=0, microsecond=0)
