"""The list of jobs: filtered, sorted, in pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from hpcbatch.dialects.registry import door
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import WAITING, JobState
from hpcbatch.policy.standing import elapsed_s, standing
from hpcbatch.web.facts import Facts
from hpcbatch.web.page import Page, Part, Request

_PER_PAGE = 100
_RUNS = frozenset({JobState.RUNNING, JobState.SUSPENDED, JobState.EXITING})
_ENDED = frozenset(state for state in JobState if state.is_final)
STATES: Mapping[str, tuple[str, frozenset[JobState]]] = {
    "": ("Not ended", frozenset(JobState) - _ENDED),
    "running": ("Running", _RUNS),
    "waiting": ("Waiting", WAITING),
    "held": ("Held", frozenset({JobState.HELD})),
    "ended": ("Ended", _ENDED),
    "failed": ("Not ended well", _ENDED - {JobState.FINISHED}),
    "all": ("All", frozenset(JobState)),
}
"""Choices of the filter: what is shown, and the states."""
_ALIKE = {
    **dict.fromkeys(_RUNS, "runs"),
    **dict.fromkeys(WAITING, "waits"),
    JobState.HELD: "held",
    **dict.fromkeys(_ENDED, "failed"),
    JobState.FINISHED: "done",
    JobState.DELETED: "deleted",
}
_LAST = datetime.max.isoformat()


class Line(NamedTuple):
    """What the list shows of a job."""

    row: JobRow
    id: str
    kind: str
    """A class of the style sheet, of states that look alike."""
    elapsed_s: int | None
    standing: str
    may_change: bool
    is_own: bool


class Column(NamedTuple):
    title: str
    key: Callable[[JobRow, datetime], Any]
    """Of a row, now; rows that are alike are in the order of their numbers."""
    about: str = ""


COLUMNS: Mapping[str, Column] = {
    "job": Column("Job", lambda row, _: row.job_id),
    "name": Column("Name", lambda row, _: row.name.casefold()),
    "user": Column("User", lambda row, _: row.user),
    "queue": Column("Queue", lambda row, _: row.queue),
    "state": Column("State", lambda row, _: list(JobState).index(row.state)),
    "time": Column("Time", lambda row, now: elapsed_s(row, now) or 0, "Time used, and the time limit"),
    "nodes": Column("Nodes", lambda row, _: row.nodes),
    "cpus": Column("CPUs", lambda row, _: row.cpus),
    "start": Column(
        "Where, or why not",
        lambda row, _: _iso(row.start_time or row.planned_start),
        "Its nodes, what it waits for, or how it ended. Sorted by the start, or the expected one",
    ),
}
"""Those that the list can be sorted by, in order."""


def _iso(when: datetime | None) -> str:
    return _LAST if when is None else when.isoformat()


class Wanted(NamedTuple):
    """What of the list is wanted. Whatever a query says that means nothing is as if it were not said."""

    state: str = ""
    user: str = ""
    """"": everybody; "me": one's own."""
    queue: str = ""
    text: str = ""
    sort: str = ""
    descending: bool = False
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Wanted:
        state, sort, page = query.get("state", ""), query.get("sort", ""), query.get("page", "")
        descending = sort.startswith("-")
        sort = sort.removeprefix("-")
        return cls(
            state=state if state in STATES else "",
            user=query.get("user", "").strip(),
            queue=query.get("queue", ""),
            text=query.get("q", "").strip(),
            sort=sort if sort in COLUMNS else "",
            descending=descending and sort in COLUMNS,
            page=int(page) if page.isascii() and page.isdigit() and 0 < len(page) < 7 else 1,
        )

    @property
    def query(self) -> dict[str, str]:
        """Without the page."""
        sort = f"-{self.sort}" if self.descending else self.sort
        return {"state": self.state, "user": self.user, "queue": self.queue, "q": self.text, "sort": sort}

    @property
    def has_ended(self) -> bool:
        """Whether ended jobs are wanted."""
        return not STATES[self.state][1].isdisjoint(_ENDED)

    def lets_through(self, row: JobRow, own: str) -> bool:
        """`own` is the user's namespace."""
        if row.state not in STATES[self.state][1] or (self.queue and row.queue != self.queue):
            return False
        if self.user and (row.namespace != own if self.user == "me" else row.user != self.user):
            return False
        found = self.text.casefold()
        return not found or found in row.name.casefold() or self.text in {str(row.job_id), shown_id(row)}


def shown_id(row: JobRow) -> str:
    """As the dialect that the job was submitted in shows it."""
    return door(row.dialect).shown_id(row)


def kind_of(state: JobState) -> str:
    """The class of the style sheet for states that look alike."""
    return _ALIKE[state]


def line_of(facts: Facts, row: JobRow, now: datetime) -> Line:
    return Line(
        row=row,
        id=shown_id(row),
        kind=kind_of(row.state),
        elapsed_s=elapsed_s(row, now),
        standing=standing(row),
        may_change=not row.state.is_final and facts.may_change(row),
        is_own=row.namespace == facts.namespace,
    )


def in_order(rows: Iterable[JobRow], wanted: Wanted, now: datetime) -> list[JobRow]:
    """Unless a column is chosen: what runs, then what waits, by number; of what has ended the last first."""
    if wanted.sort:
        key = COLUMNS[wanted.sort].key
        return sorted(rows, key=lambda row: (key(row, now), row.job_id), reverse=wanted.descending)
    return sorted(
        rows,
        key=lambda row: (row.state.is_final, row.state not in _RUNS, -row.job_id if row.state.is_final else row.job_id),
    )


def stands_alone(row: JobRow) -> bool:
    """An array stands for its members."""
    return row.array_id is None


def summary(rows: Sequence[JobRow]) -> str:
    """One sentence, for who cannot see the list change."""
    counts = Counter(
        "running" if row.state in _RUNS else "held" if row.state is JobState.HELD else "queued" for row in rows
    )
    return ", ".join(f"{counts[name]} {name}" for name in ("running", "queued", "held"))


def jobs_page(facts: Facts, request: Request) -> Page:
    wanted = Wanted.of(request.query)

    def table() -> dict[str, Any]:
        now = facts.now
        rows = [row for row in facts.rows(finished=wanted.has_ended) if stands_alone(row)]
        found = in_order((row for row in rows if wanted.lets_through(row, facts.namespace)), wanted, now)
        pages = max(1, -(-len(found) // _PER_PAGE))
        page = min(wanted.page, pages)
        shown = [line_of(facts, row, now) for row in found[(page - 1) * _PER_PAGE : page * _PER_PAGE]]
        return {
            "wanted": wanted,
            "columns": [
                {
                    "name": name,
                    "title": column.title,
                    "about": column.about,
                    "order": ("descending" if wanted.descending else "ascending") if name == wanted.sort else "",
                    "query": {
                        **wanted.query,
                        "sort": f"-{name}" if name == wanted.sort and not wanted.descending else name,
                    },
                }
                for name, column in COLUMNS.items()
            ],
            "lines": shown,
            "may_change": any(line.may_change for line in shown),
            "total": len(found),
            "page": page,
            "pages": pages,
        }

    def news() -> dict[str, Any]:
        return {"text": summary([row for row in facts.rows() if stands_alone(row)])}

    rows = facts.rows(finished=wanted.has_ended)
    choices = {
        "users": sorted({row.user for row in rows} | ({wanted.user} - {"", "me"})),
        "queues": sorted({row.queue for row in rows} | ({wanted.queue} - {""})),
    }
    return Page(
        "jobs.html",
        "Jobs",
        {
            "wanted": wanted,
            "states": {key: title for key, (title, _) in STATES.items()},
            "sorts": {key: column.title for key, column in COLUMNS.items()},
            **choices,
        },
        {"jobs": Part("jobs_table.html", table, 5), "news": Part("news.html", news, 5)},
    )
