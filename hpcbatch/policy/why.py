"""Why a job has not started: its place, what it waits for, who is before it, what would start it sooner. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, tzinfo

from hpcbatch.model.preemption import PreemptMode
from hpcbatch.model.priority import ShortJobs
from hpcbatch.model.record import JobStatus
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.order import line_place, weight_of
from hpcbatch.units import counted, hms

_AROUND_S = 60
"""What a run takes of its nodes beside its walltime, rounded up."""
_SHOWN = 3


_IN_LINE = frozenset({Reason.PRIORITY, Reason.RESOURCES, Reason.NONE, Reason.RESERVED, Reason.MAINTENANCE})


def why(
    row: JobRow,
    rows: Sequence[JobRow],
    now: datetime,
    zone: tzinfo | None,
    status: JobStatus | None = None,
    *,
    short: ShortJobs | None = None,
) -> str:
    """One paragraph about a job. `rows` are all jobs that the reader may see, times are shown in `zone`. `status`: the
    job's, as far as it is known. `short`: which jobs go first at this site.
    """
    due_since = None if status is None else status.due_since
    is_not_due = short is not None and _is_in_line(row) and due_since is None
    found = [_why(row, rows, now, zone, may_overtake=not is_not_due)]
    if is_not_due and short is not None:
        found.append(_not_due(row, short))
    if due_since is not None and _is_in_line(row):
        found.append(_due(due_since, short, zone))
    if status is not None:
        found += _preemption(row, status, zone)
    return " ".join(found)


def _not_due(row: JobRow, short: ShortJobs) -> str:
    if row.walltime_s is not None and row.walltime_s <= short.walltime_s:
        return "It is short: it starts as soon as there is room for it, unless a job that is due would start too late."
    return (
        f"It is not due yet: jobs of at most {hms(short.walltime_s)} go before it until it would start without them, "
        f"and for no more than {hms(short.delay_s)} after that."
    )


def _due(since: datetime, short: ShortJobs | None, zone: tzinfo | None) -> str:
    by = "" if short is None else f" that end by{_at(since + timedelta(seconds=short.delay_s), zone)}"
    return f"It is due since{_at(since, zone)}: only jobs that are due before it go first, and short jobs{by}."


def _preemption(row: JobRow, status: JobStatus, zone: tzinfo | None) -> list[str]:
    """For whom the job was ended, and who for it."""
    found, last = [], next((run for run in reversed(status.past_runs) if run.was_preempted), None)
    is_suspended = status.preempted is not None and status.preempted.mode is PreemptMode.SUSPEND
    if status.preempted is not None and is_suspended and not row.state.is_final:
        found.append(f"It is suspended for job {status.preempted.by}.")
    elif status.preempted is not None and not row.state.is_final:
        by, end = status.preempted.by, _at(status.preempted.end_time, zone)
        found.append(f"It was chosen to make room for job {by}, and is ended{end}.")
    elif last is not None and row.start_time is None:
        found.append(f"It ran before, until{_at(last.end_time, zone)}: {last.lost}.")
    if status.preempting is not None:
        names = ", ".join(str(victim.job) for victim in status.preempting.victims)
        word = "are being preempted" if row.start_time is None else "were preempted"
        found.append(f"For it {word}: {names}.")
    return found


def _why(row: JobRow, rows: Sequence[JobRow], now: datetime, zone: tzinfo | None, *, may_overtake: bool) -> str:
    name = f"Job {_id(row)}"
    if row.state.is_final:
        return f"{name} has ended: {_said(row) or row.state.value}."
    if row.state in {JobState.RUNNING, JobState.SUSPENDED, JobState.EXITING}:
        text = f"{name} has started{_at(row.start_time, zone)}{_on(row.hosts)}"
        if row.state is not JobState.SUSPENDED:
            return f"{text}."
        message = _sentence(row.message)
        return f"{text}, and is suspended. {message[:1].upper()}{message[1:]}".rstrip()
    if row.reason is Reason.STARTING:
        return f"{name} has its nodes, and its pods are being started. {_sentence(row.message)}".rstrip()
    if (kept := _kept_back(row, zone)) is not None:
        return f"{name} {kept}"
    sooner = _sooner(row, rows, now, may_overtake=may_overtake)
    return " ".join([f"{name} {_place(row, rows)}.", *_waits_for(row), *_start(row, zone), *sooner])


def _kept_back(row: JobRow, zone: tzinfo | None) -> str | None:
    """What follows the job's name, of one that something else keeps back than the jobs before it."""
    match row.reason:
        case Reason.HELD_BY_USER:
            return "is held by its user: it can start once that is taken back (qrls, scontrol release)."
        case Reason.HELD_BY_ADMIN:
            return "is held by an operator, who alone can take that back."
        case Reason.DEPENDENCY:
            return f"waits for other jobs: {row.dependency or _said(row)}. It gets its place in line after that."
        case Reason.DEPENDENCY_NEVER:
            return f"can never start: what it waits for cannot happen any more ({row.dependency or _said(row)})."
        case Reason.BEGIN_TIME:
            return f"is not to start before its begin time{_at(row.begin_time, zone)}."
        case Reason.ARRAY_LIMIT:
            return "waits until fewer members of its array run: as many run as its limit allows."
        case Reason.LIMIT:
            return f"is held back by a limit. {_sentence(row.message)}".rstrip()
        case Reason.RESERVATION:
            name, start = row.reservation or row.queue, _expected(row, zone)
            return f"waits for its reservation {name}: that has not begun, is full, or is not for it{start}."
        case Reason.RESERVATION_GONE:
            name = row.reservation or row.queue
            return f"waits for reservation {name}, which there is not any more: give it another, or none."
        case Reason.LICENSES:
            return f"waits for licences that other jobs hold. {_sentence(row.message)}".rstrip()
        case Reason.QUEUE_UNAVAILABLE | Reason.QUEUE_STOPPED:
            return f"waits for its queue {row.queue}. {_sentence(row.message)}".rstrip()
        case Reason.NEVER_FITS:
            return f"can never start as it is: ask for less, or for other nodes. {_sentence(row.message)}".rstrip()
        case _:
            return f"waits. {_sentence(_said(row))}".rstrip() if row.state is not JobState.QUEUED else None


def _expected(row: JobRow, zone: tzinfo | None) -> str:
    return "" if row.planned_start is None else f"; it is expected to start{_at(row.planned_start, zone)}"


def _place(row: JobRow, rows: Sequence[JobRow]) -> str:
    order = _Order(rows)
    waiting = sorted((one for one in rows if _is_in_line(one)), key=order.of)
    before = [one for one in waiting if order.of(one) < order.of(row) and one.queue == row.queue]
    total = len([one for one in waiting if one.queue == row.queue and one.job_id != row.job_id]) + 1
    text = f"is number {len(before) + 1} of {total} that wait in queue {row.queue}"
    if (other := order.exchanged(row)) is not None:
        text += f", in the place of job {other}, with which it was exchanged (qorder)"
    if not before:
        return text
    nearest = before[-_SHOWN:]
    names = ", ".join(f"{_id(one)} of {one.user} ({counted(one.cpus, 'CPU')})" for one in nearest)
    return f"{text}, behind {names}{' and others' if len(before) > len(nearest) else ''}"


def _waits_for(row: JobRow) -> list[str]:
    match row.reason:
        case Reason.PRIORITY if row.message:
            return ["There is no room for it, and jobs before it wait for the same nodes."]
        case Reason.PRIORITY:
            return ["There is room for it now, but a job before it would start later if it took that."]
        case Reason.RESERVED | Reason.MAINTENANCE:
            whose = "for maintenance" if row.reason is Reason.MAINTENANCE else "for others"
            text = f"Its nodes are reserved {whose}, and it would still run when that begins"
            return [f"{text}: with a shorter walltime it could start before."]
        case Reason.RESOURCES:
            return [f"It waits for nodes. {_sentence(row.message)}".rstrip()]
        case _:
            return [_sentence(_said(row))] if _said(row) else ["It is about to be planned."]


def _start(row: JobRow, zone: tzinfo | None) -> list[str]:
    if row.planned_start is None:
        return ["When it starts is not known yet."]
    return [f"By the others' walltimes it is expected to start{_at(row.planned_start, zone)}{_on(row.planned_nodes)}."]


def _sooner(row: JobRow, rows: Sequence[JobRow], now: datetime, *, may_overtake: bool) -> list[str]:
    """What the user could do. `may_overtake`: it starts where it delays none before it."""
    found = []
    order = _Order(rows)
    before = (one for one in rows if _is_in_line(one) and order.of(one) < order.of(row))
    planned = [one.planned_start for one in before if one.planned_start is not None]
    left_s = int((min(planned) - now).total_seconds()) - _AROUND_S if planned else 0
    if row.reason is Reason.PRIORITY and not row.message and left_s > 0 and may_overtake:
        found.append(f"With a walltime of at most {hms(left_s)} it could start at once.")
    elif row.reason in {Reason.PRIORITY, Reason.RESOURCES}:
        found.append("It starts sooner if jobs end before their walltimes, and the less it asks for.")
    if row.walltime_s is None:
        found.append("It has no walltime: with one it could start where there is room for so long.")
    return found


def _is_in_line(row: JobRow) -> bool:
    in_line = row.reason in _IN_LINE
    return row.state is JobState.QUEUED and in_line and not row.array_indices


class _Order:
    """Who of these jobs goes first; arrays that have exchanged their places are among them."""

    def __init__(self, rows: Sequence[JobRow]) -> None:
        self._places = {row.job_id: row.place_of for row in rows if row.place_of}

    def of(self, row: JobRow) -> tuple[float, ...]:
        number = self._number(row)
        return -float(row.rank or 0), *line_place(weight_of(row), row.job_id, row.array_id, row.array_index, number)

    def exchanged(self, row: JobRow) -> int | None:
        """The job in whose place it waits, if that is another one."""
        number = self._number(row)
        return number if number not in {0, row.job_id if row.array_id is None else row.array_id} else None

    def _number(self, row: JobRow) -> int:
        return self._places.get(row.job_id if row.array_id is None else row.array_id, 0)


def _id(row: JobRow) -> str:
    if row.array_indices:
        return f"{row.job_id}[]"
    return str(row.job_id) if row.array_id is None else f"{row.array_id}[{row.array_index}]"


def _said(row: JobRow) -> str:
    reason = "" if row.reason is Reason.NONE else row.reason.value
    return ": ".join(filter(None, (reason, row.message)))


def _sentence(text: str) -> str:
    return f"{text.rstrip('.')}." if text else ""


def _at(when: datetime | None, zone: tzinfo | None) -> str:
    return "" if when is None else f" {when.astimezone(zone):%Y-%m-%d %H:%M:%S}"


def _on(nodes: Iterable[str]) -> str:
    names = list(dict.fromkeys(nodes))
    if not names:
        return ""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f" on {', '.join(names[:_SHOWN])}{more}"
