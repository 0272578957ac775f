"""The mails of Slurm (`--mail-type`, `--mail-user`): a subject that says all. Source: Slurm, mail_job_info()."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from hpcbatch.dialects.slurm import states
from hpcbatch.dialects.slurm.clock import full
from hpcbatch.model.array import shown_number
from hpcbatch.model.mail import Mail
from hpcbatch.model.record import JobRecord
from hpcbatch.model.state import JobState, Reason
from hpcbatch.record.rows import row_of
from hpcbatch.typed import NamedTuple

_PERCENTS = (50, 80, 90)


class _Event(NamedTuple):
    mail_id: str
    when: datetime
    text: str
    """From the word for the event on."""


def mails(record: JobRecord, now: datetime) -> list[Mail]:
    """All that the job's story up to now has given cause for, in order, sent or not."""
    spec = record.spec
    types = frozenset(spec.mail_points.split(","))
    if not spec.mail_points or (spec.member_of is not None and "ARRAY_TASKS" not in types):
        return []
    if spec.array is not None and "ARRAY_TASKS" in types:
        return []  # each member has its own
    head = f"Slurm {_name(record)} Name={spec.name} "
    to = spec.mail_users or (record.status.owner,)
    return [
        Mail(mail_id=event.mail_id, when=event.when, to=to, subject=head + event.text)
        for event in _events(record, types, now)
    ]


def next_time(record: JobRecord, now: datetime) -> datetime | None:
    """When a mail about the time limit is due; None if none will be."""
    types = frozenset(record.spec.mail_points.split(","))
    if record.status.state is not JobState.RUNNING or record.spec.array is not None:
        return None
    reached = [_time_of(record, percent) for percent in _PERCENTS if f"TIME_LIMIT_{percent}" in types]
    return min((when for when in reached if when is not None and when > now), default=None)


def _name(record: JobRecord) -> str:
    member = record.spec.member_of
    if record.spec.array is not None:
        return f"Array Summary Job_id={record.job_id}_* ({record.job_id})"
    if member is not None:
        return f"Array Task Job_id={member.array_id}_{member.index} ({shown_number(record.job_id, member)})"
    return f"Job_id={record.job_id}"


def _events(record: JobRecord, types: frozenset[str], now: datetime) -> Iterator[_Event]:
    status, is_array = record.status, record.spec.array is not None
    run, end = status.run_count, status.end_time or now
    if "REQUEUE" in types:
        first = run - len(status.past_runs) + (1 if status.start_time is None else 0)
        for number, past in enumerate(status.past_runs, first):
            ran = full(int((past.end_time - past.start_time).total_seconds()))
            yield _Event(f"requeue.{number}", past.end_time, f"Requeued, Run time {ran}")
    if "BEGIN" in types and status.start_time is not None:
        waited = status.start_time - (status.submit_time or status.start_time)
        text = "Began" if is_array else f"Began, Queued time {full(max(0, int(waited.total_seconds())))}"
        yield _Event(f"begin.{run}", status.start_time, text)
    for percent in _PERCENTS if status.start_time is not None and not is_array else ():
        when = _time_of(record, percent)
        if f"TIME_LIMIT_{percent}" in types and when is not None and when <= min(now, end):
            ran = _ran(record, now)
            yield _Event(f"time{percent}.{run}", when, f"Reached {percent}% of time limit, Run time {ran}")
    if "TIME_LIMIT" in types and status.state is JobState.TIMEOUT and not is_array:
        yield _Event(f"time100.{run}", end, f"Reached time limit, Run time {_ran(record, now)}")
    if "INVALID_DEPEND" in types and status.reason is Reason.DEPENDENCY_NEVER:
        yield _Event("depend", now if not status.state.is_final else end, "Invalid dependency")
    if status.state.is_final:
        word = _word_of_end(status.state, types)
        if word:
            ran = "" if is_array else f", Run time {_ran(record, now)}"
            yield _Event("end" if run <= 1 else f"end.{run}", end, f"{word}{ran}, {_result(record)}")


def _word_of_end(state: JobState, types: frozenset[str]) -> str:
    if state in {JobState.FINISHED, JobState.DELETED}:
        return "Ended" if "END" in types else ""
    return "Failed" if "FAIL" in types else "Ended" if "END" in types else ""


def _result(record: JobRecord) -> str:
    """`COMPLETED, ExitCode 0`; without a code where a signal ended it."""
    status, array = record.status, record.status.array
    state = states.long(status.state, status.reason)
    code, signal = states.exit_status(
        status.state, status.reason, status.exit_code, status.exit_signal, status.start_time is not None
    )
    if signal:
        return state
    if array is None:
        return f"{state}, ExitCode {code}"
    least = 0 if array.succeeded or not array.failed else code
    return f"{'Mixed' if least == 0 and code else state}, ExitCode [{least}-{code}]"


def _ran(record: JobRecord, now: datetime) -> str:
    return full(states.used_s(row_of(record), now))


def _time_of(record: JobRecord, percent: int) -> datetime | None:
    """When that part of the time limit is used up."""
    limit_s, start = row_of(record).walltime_s, record.status.start_time
    return None if limit_s is None or start is None else start + timedelta(seconds=limit_s * percent / 100)
