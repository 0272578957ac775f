"""Hold, release and delete, by forms: the requests of qhold, qrls and qdel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from hpcbatch.api.port import Api, Object
from hpcbatch.client import changes, holds, listing
from hpcbatch.client.watch import settle
from hpcbatch.errors import HpcBatchError, UnauthorizedError, UnknownJobError, UnreachableError
from hpcbatch.model.row import JobRow
from hpcbatch.web.facts import Facts
from hpcbatch.web.jobs import line_of, shown_id
from hpcbatch.web.page import Page

MOST_AT_ONCE = 500
_ACTIONS: Mapping[str, Callable[[Api, JobRow], Object | None]] = {
    "hold": holds.hold,
    "release": holds.release,
    "delete": changes.request_delete,
}
DONE: Mapping[str, str] = {
    "hold": "Held: it starts after it has been released.",
    "release": "Released from your hold.",
    "delete": "Deletion was requested.",
    "hold-many": "The jobs are held.",
    "release-many": "The jobs are released from your hold.",
    "delete-many": "Deletion of the jobs was requested.",
}
"""What the page says after a change, by the word in its address."""


class Change(NamedTuple):
    """What a form requests."""

    action: str
    numbers: tuple[int, ...]
    is_sure: bool
    back: str
    """The path of the page that the form stands on."""

    @property
    def done(self) -> str:
        return self.action if len(self.numbers) == 1 else f"{self.action}-many"


class Outcome(NamedTuple):
    done: Sequence[JobRow]
    problems: Sequence[str]


def read_change(fields: Mapping[str, str], jobs: Sequence[str]) -> Change:
    """Raises HpcBatchError for what no form of ours sends."""
    action = fields.get("action", "")
    if action not in _ACTIONS:
        raise HpcBatchError("that form requests nothing that is known here")
    if not jobs:
        raise HpcBatchError("no job was chosen")
    if len(jobs) > MOST_AT_ONCE or not all(text.isascii() and text.isdigit() and len(text) < 19 for text in jobs):
        raise HpcBatchError("that form does not name its jobs by their numbers")
    numbers = tuple(dict.fromkeys(int(text) for text in jobs))
    back = f"jobs/{numbers[0]}" if fields.get("back") == "job" and len(numbers) == 1 else "jobs"
    return Change(action, numbers, fields.get("sure") == "yes", back)


def confirmation(facts: Facts, change: Change) -> Page:
    """What is asked before jobs are deleted."""
    rows = listing.find_all(facts.api, facts.namespace, change.numbers)
    lines = [line_of(facts, rows[number], facts.now) for number in change.numbers if number in rows]
    if not lines:
        raise UnknownJobError("none of these jobs is there any more")
    return Page("confirm.html", "Delete jobs" if len(lines) > 1 else "Delete a job", {"lines": lines, "change": change})


def carry_out(facts: Facts, change: Change) -> Outcome:
    """One job that cannot be changed does not stop the others."""
    rows = listing.find_all(facts.api, facts.namespace, change.numbers)
    done, changed, problems = [], [], []
    for number in change.numbers:
        row = rows.get(number)
        try:
            if row is None:
                raise UnknownJobError(f"there is no job {number}")
            result = _ACTIONS[change.action](facts.api, row)
            done.append(row)
            if result is not None:
                changed.append(result)
        except (UnreachableError, UnauthorizedError):
            raise
        except HpcBatchError as error:
            name = number if row is None else shown_id(row)
            problems.append(f"{change.action} of job {name}: {facts.failed(error)}")
    settle(facts.api, changed)
    facts.forget_rows()
    return Outcome(done, problems)
