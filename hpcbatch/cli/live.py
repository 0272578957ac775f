"""The live view of jobs: a table that is drawn anew on a terminal, else one line for each change."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

from hpcbatch.cli.common import Session
from hpcbatch.client import listing, watch
from hpcbatch.errors import HpcBatchError, UnknownJobError
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState
from hpcbatch.policy.standing import elapsed_s, neutral_id, standing
from hpcbatch.units import hms

_TICK_S = 1.0  # how often running times are drawn anew
_Event = JobRow | str | HpcBatchError | None


def follow(session: Session, numbers: Sequence[int], *, is_table: bool) -> int:
    """Show the jobs until all have ended; 0 if all ended well, else 1. Raises UnknownJobError."""
    rows = _begin(session, numbers)
    if not rows:
        print("no jobs to watch")
        return 0
    view = _view(session, is_table=is_table)
    try:
        _show(session, rows, view)
    finally:
        view.close()
    return 0 if all(row.state is JobState.FINISHED for row in rows.values()) else 1


class View(Protocol):
    def show(self, rows: Mapping[str, JobRow]) -> None: ...
    def close(self) -> None: ...


def can_draw(session: Session) -> bool:
    """Whether standard output is a terminal on which lines can be drawn over."""
    return sys.stdout.isatty() and session.environ.get("TERM") not in {"dumb", "unknown"}


def _view(session: Session, *, is_table: bool) -> View:
    if not is_table:
        return LinesView(session)
    from hpcbatch.cli.live_table import TableView

    return TableView()


def _show(session: Session, rows: dict[str, JobRow], view: View) -> None:
    """Until all have ended."""
    events: queue.Queue[_Event] = queue.Queue()
    thread = threading.Thread(target=_listen, args=(session, rows.copy(), events.put), name="watch", daemon=True)
    thread.start()
    view.show(rows)
    while not all(row.state.is_final for row in rows.values()):
        try:
            event = events.get(timeout=_TICK_S)
        except queue.Empty:
            view.show(rows)
            continue
        if isinstance(event, HpcBatchError):
            raise event
        if isinstance(event, JobRow):
            rows[event.object_name] = event
        elif isinstance(event, str):
            rows.pop(event, None)  # its record was removed
        view.show(rows)


def _begin(session: Session, numbers: Sequence[int]) -> dict[str, JobRow]:
    if not numbers:
        rows = listing.list_rows(session.api, session.namespace, finished=False)
        # an array stands for its members
        return {row.object_name: row for row in rows if row.namespace == session.namespace and row.array_id is None}
    found = listing.find_all(session.api, session.namespace, numbers)
    for number in numbers:
        if number not in found:
            raise UnknownJobError(f"there is no job {number}")
    return {found[number].object_name: found[number] for number in numbers}


def _listen(session: Session, rows: Mapping[str, JobRow], put: Callable[[_Event], None]) -> None:
    try:
        for row_or_name in watch.follow(session.api, rows):
            put(row_or_name)
    except HpcBatchError as error:
        put(error)


class LinesView:
    """Prints a line when a job's state or reason changes."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._shown: dict[str, tuple[str, str]] = {}

    def show(self, rows: Mapping[str, JobRow]) -> None:
        for name, row in rows.items():
            now = (row.state.value, standing(row))
            if self._shown.get(name) != now:
                self._shown[name] = now
                clock = datetime.now(UTC).astimezone(self._session.zone).strftime("%H:%M:%S")
                what = f"job {neutral_id(row)} ({row.name}) {row.state.value.lower()} {now[1]}"
                print(f"{clock} {what}".rstrip(), flush=True)

    def close(self) -> None:
        pass


def elapsed(row: JobRow) -> str:
    seconds = elapsed_s(row, datetime.now(UTC))
    return "-" if seconds is None else hms(seconds)


def expected(row: JobRow) -> str:
    """When the plan starts a waiting job. Not among the changes that are told: it moves with every end."""
    return "" if row.planned_start is None else f"; expected {row.planned_start.astimezone():%m-%d %H:%M}"
