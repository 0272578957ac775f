"""The jobs that LSF's commands show or change: found by id, or by -u, -q, -J and the like."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence

from hpcbatch.cli.common import NO_CONNECTION, EndedError, Session, complain
from hpcbatch.errors import HpcBatchError, UnknownJobError
from hpcbatch.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

    from hpcbatch.api.port import Object
    from hpcbatch.dialects.lsf.commands import Line
    from hpcbatch.dialects.lsf.fields import Job
    from hpcbatch.model.indices import Indices
    from hpcbatch.model.named import NamedJob
    from hpcbatch.model.row import JobRow

FAILED = 255


class Target(NamedTuple):
    """A job, an array, or members of one."""

    shown: str
    row: JobRow
    members: Indices | None = None


def parse_ids(texts: Sequence[str]) -> list[tuple[str, NamedJob]]:
    """The ids, some in brackets, blanks or commas between. Ends the command for what is none."""
    from hpcbatch.dialects.lsf.ids import parse_id

    found = []
    for text in texts:
        for one in text.strip("\"'").split():
            try:
                found.append((one, parse_id(one)))
            except ValueError:
                raise EndedError(f"{one}: Illegal job ID.", FAILED) from None
    return found


def rows_of_ids(session: Session, named: Sequence[tuple[str, NamedJob]], *, ended: bool) -> list[JobRow]:
    """The jobs and members of these ids; each unknown one is told."""
    from hpcbatch.client import arrays, listing
    from hpcbatch.dialects.lsf.rows import unfolded

    rows = listing.find_all(session.api, session.namespace, [one.number for _, one in named])
    found: list[JobRow] = []
    for text, one in named:
        row = rows.get(one.number)
        if row is None:
            complain(f"Job <{text}> is not found")
            continue
        if not row.array_indices:
            found.append(row)
            continue
        own = arrays.own_rows(session.api, row, one.members).values()
        every = unfolded([row, *own], ended=ended or one.members is not None)
        chosen = [each for each in every if one.members is None or (each.array_index or 0) in one.members]
        if not chosen and one.members is not None:
            complain(f"Job <{text}> is not found")
        found += chosen
    return found


def all_rows(session: Session, *, ended: bool, since: datetime | None = None) -> list[JobRow]:
    """Every job that may be seen, folded."""
    from hpcbatch.client import listing

    return listing.list_rows(session.api, session.namespace, finished=ended, since=since)


def with_records(session: Session, rows: Sequence[JobRow]) -> list[Job]:
    """The rows with their whole records; that of a member which has none is its array's."""
    from hpcbatch.client import records
    from hpcbatch.dialects.lsf.fields import Job

    numbers = {row.job_id for row in rows}
    known = {record.job_id: record for record in records.by_number(session.api, session.namespace, sorted(numbers))}
    found = []
    for row in rows:
        record = known.get(row.job_id)
        if record is not None:
            found.append(Job(row, record, session.now, session.zone))
    return found


def by_attributes(session: Session, line: Line, rows: list[JobRow]) -> list[JobRow]:
    """-g, -G, -app and -sla, which records alone know."""
    names = {"g": "group", "G": "user_group", "app": "app", "sla": "sla"}
    wanted = {name: value for option, name in names.items() if (value := line.value(option)) is not None}
    if not wanted:
        return rows
    return [
        job.row
        for job in with_records(session, rows)
        if all(job.attribute(name) == value for name, value in wanted.items())
    ]


def targets(session: Session, command: str, line: Line, operands: Sequence[str]) -> list[Target]:
    """The jobs to be changed: those of the ids; without any, or with 0, all of those that the options choose. What is
    unknown is told. Ends the command if neither is given.
    """
    from hpcbatch.client import listing
    from hpcbatch.dialects.lsf.commands import usage
    from hpcbatch.dialects.lsf.errors import LsfUsageError
    from hpcbatch.dialects.lsf.rows import choice_of, stats_of

    selects = bool({"u", "q", "m", "J", "g", "app", "sla", "a", "stat"} & set(line.options))
    if [each for each in operands if each != "0"]:
        named = parse_ids(operands)
        rows = listing.find_all(session.api, session.namespace, [one.number for _, one in named])
        found = []
        for text, one in named:
            row = rows.get(one.number)
            if row is None or (one.members is not None and not row.array_indices):
                complain(f"Job <{text}>: No matching job found")
            else:
                found.append(Target(text, row, one.members))
        return found
    if not selects and "0" not in operands:
        raise LsfUsageError("Job ID or a selection such as -u, -q or -J must be specified", usage(command))
    stats = {"run": ["running"], "pend": ["pending"], "susp": ["suspended"]}.get(line.value("stat") or "")
    choice = choice_of(line, session.user, stats_of(stats or ["pending", "running", "suspended"]))
    rows_found = [row for row in all_rows(session, ended=False) if row.array_id is None]
    chosen = by_attributes(session, line, [row for row in rows_found if choice.takes(row)])
    if "J" in line and "u" not in line and "0" not in operands:
        chosen = chosen[-1:]  # without 0 the last one of the name
    if not chosen:
        raise EndedError("No matching job found", FAILED)
    return [Target(str(row.job_id), row) for row in chosen]


def for_each(
    session: Session,
    found: Iterable[Target],
    act: Callable[[Target], Object | None],
    done: str,
    *,
    all_known: bool = True,
) -> int:
    """Do something to each and tell it in LSF's words; one that fails does not stop the others."""
    from hpcbatch.client.watch import settle
    from hpcbatch.dialects.lsf.errors import of_job

    code = 0 if all_known else FAILED
    changed: list[Object] = []
    arrays: list[tuple[Object, Indices]] = []
    for target in found:
        try:
            obj = act(target)
        except NO_CONNECTION:
            raise
        except HpcBatchError as error:
            complain(f"Job <{target.shown}>: {of_job(error)}")
            code = FAILED
            continue
        if obj is not None:
            if target.members is None:
                changed.append(obj)
            else:
                arrays.append((obj, target.members))
        print(f"Job <{target.shown}> {done}")
    if changed or arrays:
        settle(session.api, changed, arrays)
    return code


def members_of(session: Session, target: Target) -> list[JobRow]:
    """The job, or those members of the array that have a record and have not ended. Raises UnknownJobError."""
    from hpcbatch.client.arrays import own_rows

    if not target.row.array_indices:
        return [target.row]
    rows = list(own_rows(session.api, target.row, target.members, ended=False).values())
    if target.members is not None and not rows:
        raise UnknownJobError(target.shown)
    return rows


def ended_jobs(session: Session, line: Line, stats: frozenset[str]) -> tuple[list[Job], bool]:
    """The jobs of bhist and bacct with their records, and whether all that the line names are there."""
    from hpcbatch.dialects.lsf.rows import UNFINISHED, choice_of, number, unfolded
    from hpcbatch.dialects.lsf.states import stat as stat_of

    if line.operands and line.operands != ("0",):
        named = parse_ids(line.operands)
        rows = rows_of_ids(session, named, ended=True)
        known = {number(row) for row in rows}
        is_complete = all(one.number in known for _, one in named)
        return with_records(session, [row for row in rows if stat_of(row) in stats]), is_complete
    choice = choice_of(line, session.user, stats)
    ended = bool(stats - UNFINISHED)
    rows = unfolded(all_rows(session, ended=ended), ended=ended)
    return with_records(session, [row for row in rows if choice.takes(row)]), True


def print_lines(lines: Iterable[str]) -> None:
    from hpcbatch.model.text import printable_lines

    sys.stdout.write("".join(f"{printable_lines(line)}\n" for line in lines))
