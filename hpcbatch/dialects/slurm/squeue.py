"""squeue: which jobs it lists, in which order, and the listing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from types import MappingProxyType

from hpcbatch.dialects.slurm.clock import ctime
from hpcbatch.dialects.slurm.columns import Column, line, parse_format, parse_names
from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.squeue_format import LETTERS, NAMES, Field, View, detail_of
from hpcbatch.dialects.slurm.squeue_options import SqueueOptions
from hpcbatch.dialects.slurm.states import compact, expected_end, expected_start, own_number, priority_of, used_s
from hpcbatch.errors import UnknownJobError
from hpcbatch.model.row import JobRow, is_reservations_queue, reservation_names
from hpcbatch.model.state import WAITING, JobState

MIN_JOB_AGE = timedelta(seconds=300)
"""How long slurmctld keeps finished jobs; older ones are listed only when requested by id."""

SortKey = Callable[[JobRow, datetime], float | str | tuple[int, int]]


def _when(when: datetime | None) -> float:
    return float("inf") if when is None else when.timestamp()


_NUMERIC: dict[str, SortKey] = {
    "i": lambda row, _: (own_number(row), -1 if row.array_index is None else row.array_index),
    "c": lambda row, _: row.cpus // max(row.nodes, 1),
    "C": lambda row, _: row.cpus,
    "D": lambda row, _: row.nodes,
    "e": lambda row, _: _when(expected_end(row)),
    "l": lambda row, _: float("inf") if row.walltime_s is None else row.walltime_s,
    "L": lambda row, now: float("inf") if row.walltime_s is None else row.walltime_s - used_s(row, now),
    "m": lambda row, _: row.mem_bytes or 0,
    "M": used_s,
    "Q": lambda row, _: priority_of(row),
    "S": lambda row, _: _when(expected_start(row)),
    "V": lambda row, _: _when(row.submit_time),
}


def check_ids(rows: Sequence[JobRow], options: SqueueOptions) -> None:
    """Raise UnknownJobError for an unknown id that is the only one; among several it is passed over in silence."""
    if options.ids is None or len(options.ids) != 1:
        return
    named = options.ids[0]
    if not any(row.job_id == named.number and (row.array_indices or not named.is_array) for row in rows):
        raise UnknownJobError(str(named.number))


def select_jobs(
    rows: Sequence[JobRow], options: SqueueOptions, now: datetime, tiers: Mapping[str, int] = MappingProxyType({})
) -> list[JobRow]:
    """The jobs that squeue lists, in its order. `tiers` are those of the partitions, by which -P sorts first.
    Raises SlurmUsageError for a letter that cannot be sorted by.
    """
    if any(row.array_indices or row.array_id is not None for row in rows):
        from hpcbatch.dialects.slurm.array_rows import listed, named  # seldom needed, and takes a millisecond

        shown = listed(rows, unfold=options.unfold)
        rows = shown if options.ids is None else named(shown, options.ids)
    elif options.ids is not None:
        numbers = {named.number for named in options.ids if not named.is_array}
        rows = [row for row in rows if row.job_id in numbers]
    if options.by_partition:
        parts = (row._replace(queue=name, other_queues=()) for row in rows for name in (row.queue, *row.other_queues))
        rows = list(parts)
    return _sorted([row for row in rows if _is_selected(row, options, now)], options, now, tiers)


def columns_of(options: SqueueOptions) -> list[Column]:
    if options.fields is not None:
        return parse_names(options.fields, NAMES.__contains__)
    return parse_format(options.format, LETTERS.__contains__)


def format_queue(
    rows: Sequence[JobRow],
    options: SqueueOptions,
    now: datetime,
    tz: tzinfo,
    wrf: Callable[[JobRow, str], str] | None = None,
    *,
    detail: Callable[[JobRow, str], str | None] | None = None,
    tiers: Mapping[str, int] = MappingProxyType({}),
) -> str:
    """What squeue prints for `rows`, of which it takes what `options` ask for. Every line ends in a newline.
    `wrf` and `detail` give the columns of WRF_NAMES and DETAILED; without them a default stands there.
    """
    chosen = select_jobs(rows, options, now, tiers)
    view = view_of(options, now, tz)
    if wrf is not None:
        view = view._replace(wrf=wrf)
    if detail is not None:
        view = view._replace(detail=detail)
    fields, columns = NAMES if options.fields is not None else LETTERS, columns_of(options)
    lines = [] if options.no_header else [line(columns, lambda key: fields[key].heading)]
    if (options.long or options.every_s) and not options.no_header:
        lines.insert(0, ctime(now, tz))
    lines += [line(columns, partial(_value, fields, row, view)) for row in chosen]
    return "".join(f"{text}\n" for text in lines)


def view_of(options: SqueueOptions, now: datetime, tz: tzinfo) -> View:
    return View(
        now=now, tz=tz, time_format=options.time_format, convert=options.convert, tasks_shown=options.tasks_shown
    )


def needs_records(columns: Sequence[Column]) -> bool:
    """Whether there are values among them that rows do not hold."""
    return any(detail_of(column.key) for column in columns)


def _value(fields: Mapping[str, Field], row: JobRow, view: View, key: str) -> str:
    name = detail_of(key)
    found = None if name is None else view.detail(row, name)
    return fields[key].value(row, view) if found is None else found


def _is_selected(row: JobRow, options: SqueueOptions, now: datetime) -> bool:
    if row.state is JobState.REFUSED:
        return False
    if options.reservation is not None and options.reservation not in {
        row.reservation,
        *reservation_names(row.reservation),
        row.queue if is_reservations_queue(row.queue) else "",
    }:
        return False
    if options.ids is None and row.end_time is not None and now - row.end_time > MIN_JOB_AGE:
        return False
    restrictions = (
        (options.states, compact(row.state, row.reason)),
        (options.names, row.name),
        (options.accounts, row.account),
        (options.qos, row.qos or "normal"),
    )
    if any(asked is not None and value not in asked for asked, value in restrictions):
        return False
    if options.partitions is not None and options.partitions.isdisjoint((row.queue, *row.other_queues)):
        return False
    if options.licenses is not None and not _has_license(row, options.licenses):
        return False
    if options.users is not None and not options.users & {row.user, str(row.uid)}:
        return False
    return options.hosts is None or bool(options.hosts & set(row.hosts))


def _has_license(row: JobRow, names: frozenset[str]) -> bool:
    """Source: _filter_job() of squeue's print.c."""
    return any(part.partition(":")[0] in names for part in row.licenses.split(","))


def _sorted(rows: Sequence[JobRow], options: SqueueOptions, now: datetime, tiers: Mapping[str, int]) -> list[JobRow]:
    # the order of slurmctld: what is requested by id begins with the newest members of an array
    ordered = sorted(rows, key=partial(_place, options.ids is not None))
    view = View(now=now, tz=UTC)
    for letter, descending in reversed(_sort_keys(options.sort)):
        if letter == "p":
            ordered.sort(key=lambda row: (tiers.get(row.queue, 1), priority_of(row)), reverse=descending)
        else:
            ordered.sort(key=partial(_sort_value, letter, view), reverse=descending)
    return ordered


def _place(is_newest_first: bool, row: JobRow) -> tuple[int, bool, int]:
    if row.array_id is None:
        return row.job_id, False, -1
    if row.state in WAITING and row.array_index is not None:
        return row.array_id, False, row.array_index
    return row.array_id, True, -row.job_id if is_newest_first else row.job_id


def _sort_value(letter: str, view: View, row: JobRow) -> float | str | tuple[int, int]:
    numeric = _NUMERIC.get(letter)
    return LETTERS[letter].value(row, view) if numeric is None else numeric(row, view.now)


def _sort_keys(spec: str) -> list[tuple[str, bool]]:
    keys: list[tuple[str, bool]] = []
    descending = False
    for c in spec:
        if c in "+-":
            descending = c == "-"
        elif c == ",":
            descending = False
        elif c in LETTERS and c not in _UNSORTED:
            keys.append((c, descending))
            descending = False
        else:
            raise SlurmUsageError(f"squeue: error: Invalid sort specification: {c}")
    return keys


_UNSORTED = frozenset("aAbEFkKoqrRswWxXyYZ")
"""Letters that squeue 22.05.8 prints but refuses to sort by."""
