"""One job: what became of what was asked for, its output, what it uses, its forecast."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from hpcbatch.client import queues
from hpcbatch.client.arrays import own_rows
from hpcbatch.errors import UnknownJobError
from hpcbatch.model.members import indices
from hpcbatch.model.record import JobRecord
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import WAITING, Reason
from hpcbatch.policy.why import why
from hpcbatch.record.rows import row_of
from hpcbatch.web import files
from hpcbatch.web.facts import Facts, Forecast
from hpcbatch.web.jobs import line_of, shown_id
from hpcbatch.web.page import Page, Part
from hpcbatch.web.usage_chart import cpus_chart, memory_chart

_MOST_MEMBERS = 500
_DRAWN_S = 3600.0
"""After its end another job may draw its maps."""
_RELEASED = frozenset({Reason.HELD_BY_USER, Reason.SPECIAL_EXIT})
"""Holds that a user can take off."""


def job_page(facts: Facts, number: int) -> Page:
    record = facts.record(number)
    row = row_of(record)
    # each part is made of one record, which the page has read already
    state = _Of(facts, record, row)
    is_over = row.state.is_final
    parts = {
        "news": Part("news.html", state.news, 0 if is_over else 3),
        "head": Part("job_head.html", state.head, 0 if is_over else 3),
        "asked": Part("job_asked.html", state.asked),
        "usage": Part("job_usage.html", state.usage, 0 if is_over else 10),
    }
    if row.array_indices:
        parts["members"] = Part("job_members.html", state.members, 0 if is_over else 5)
        del parts["usage"]
    else:
        parts["output"] = Part("job_output.html", state.output, 0 if is_over else 3)
        if facts.is_own(row) and row.start_time is not None:
            ended = row.end_time if is_over else None
            is_old = ended is not None and (facts.now - ended).total_seconds() > _DRAWN_S
            parts["forecast"] = Part("job_forecast.html", state.forecast, 0 if is_old else 10)
    return Page("job.html", f"Job {shown_id(row)}", {"row": row, "id": shown_id(row)}, parts)


class _Of:
    """What the parts of a job's page show."""

    def __init__(self, facts: Facts, record: JobRecord, row: JobRow) -> None:
        self._facts, self._record, self._row = facts, record, row
        facts.samples.note(record.job_id, record.status, facts.now)

    def news(self) -> Mapping[str, Any]:
        line = line_of(self._facts, self._row, self._facts.now)
        return {"text": f"Job {line.id} {self._row.state.value.lower()} {line.standing}".strip()}

    def head(self) -> Mapping[str, Any]:
        facts, row, status = self._facts, self._row, self._record.status
        line = line_of(facts, row, facts.now)
        waits = row.state in WAITING
        used_s = status.walltime_used_s if status.walltime_used_s is not None else line.elapsed_s
        return {
            "line": line,
            "can_release": row.reason in _RELEASED or bool(row.array_held),
            "can_hold": row.reason not in _RELEASED and (waits or bool(row.array_indices)),
            "row": row,
            "record": self._record,
            "status": status,
            "used_s": used_s,
            "share": None
            if not row.walltime_s or used_s is None or row.array_indices
            else min(100, round(100 * used_s / row.walltime_s)),
            "why": self._why() if waits else "",
        }

    def _why(self) -> str:
        facts = self._facts
        short = queues.read_short_first(facts.api)
        return why(self._row, facts.rows(), facts.now, facts.zone, self._record.status, short=short)

    def asked(self) -> Mapping[str, Any]:
        found = self._facts.commands.explain(self._record.job_id)
        return {"found": found, "fates": sorted({each.fate.value for each in (*found.options, *found.site)})}

    def usage(self) -> Mapping[str, Any]:
        record, status = self._record, self._record.status
        by_pod = {one.pod: one for one in status.usage}
        samples = self._facts.samples.of(record.job_id, status.run_count)
        is_course = len(samples) > 2  # the start and one more are none
        charts = [cpus_chart(samples, record.cpus), memory_chart(samples, record.mem_bytes)] if is_course else []
        return {
            "row": self._row,
            "status": status,
            "hosts": [(host, by_pod.get(host.pod)) for host in status.hosts],
            "charts": [one for one in charts if one is not None],
        }

    def members(self) -> Mapping[str, Any]:
        facts, array = self._facts, self._row
        own = own_rows(facts.api, array)
        shown = [own[index] for index in sorted(own)[:_MOST_MEMBERS]]
        return {
            "array": array,
            "count": len(indices(array)),
            "lines": [line_of(facts, row, facts.now) for row in shown],
            "left_out": len(own) - len(shown),
        }

    def output(self) -> Mapping[str, Any]:
        facts, row = self._facts, self._row
        is_own = facts.is_own(row)
        shown = [files.tail(stream) for stream in files.streams(self._record)] if is_own and row.start_time else []
        return {"row": row, "is_own": is_own, "streams": shown}

    def forecast(self) -> Mapping[str, Any]:
        found = self._facts.commands.forecast(self._record)
        pictures, pages = _drawn(self._facts, self._record, found)
        last, others = files.last_of_series(pictures)
        return {"row": self._row, "found": found, "pictures": last, "others": others, "pages": pages}


def _drawn(
    facts: Facts, record: JobRecord, forecast: Forecast | None
) -> tuple[list[files.Picture], list[files.Picture]]:
    """Pictures, and pages of a forecast, in the directories of the job that are newer than its start."""
    start = record.status.start_time
    if start is None:
        return [], []
    folders = [*([forecast.folder] if forecast is not None else []), *facts.commands.folders(record)]
    return files.pictures(folders, start.timestamp()), files.forecast_pages(folders, start.timestamp())


def drawn_path(facts: Facts, number: int, key: str) -> Path:
    """Of a picture or forecast that the job's page shows. Raises UnknownJobError for any other."""
    record = facts.record(number)
    if facts.is_own(row_of(record)):
        for each in chain(*_drawn(facts, record, facts.commands.forecast(record))):
            if each.key == key:
                return each.path
    raise UnknownJobError(f"job {number} has no such picture")
