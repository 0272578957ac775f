"""The mails of PBS (`-m`, `-M`): what its server writes about a job, word for word. Source: OpenPBS, svr_mail.c."""

from __future__ import annotations

from datetime import datetime

from hpcbatch.dialects.pbs.ids import row_id
from hpcbatch.dialects.pbs.qstat_full import resources_used
from hpcbatch.dialects.pbs.states import EXCEEDED, exit_status
from hpcbatch.model.mail import Mail
from hpcbatch.model.record import JobRecord
from hpcbatch.model.state import JobState, Reason
from hpcbatch.record.rows import row_of

_BEGUN = "Begun execution"
_ENDED = "Execution terminated"
_ABORTED = "Aborted by PBS Server "
_NOT_EXECUTED = {
    Reason.LAUNCH_FAILED: "Job cannot be executed\nSee Administrator for help",
    Reason.OUTPUT_FAILED: "Job cannot be executed\nSee job standard error file",
}
_LOST = frozenset({Reason.NODE_LOST, Reason.PREEMPTED})


def mails(record: JobRecord, now: datetime) -> list[Mail]:
    """All that the job's story up to now has given cause for, in order, sent or not.

    PBS writes of a job that it had to abort whatever `-m` says; here `-m n` means none at all, and members of an array
    need `j` for every mail.
    """
    points = record.spec.mail_points
    if "n" in points or (record.spec.member_of is not None and "j" not in points):
        return []
    found = []
    status = record.status
    if status.start_time is not None and "b" in points:
        found.append(_mail(record, f"begin.{status.run_count}", status.start_time, _BEGUN))
    if status.state.is_final:
        end = status.end_time or now
        text = _abortion(record)
        if text is not None:
            found.append(_mail(record, "abort", end, f"{_ABORTED}\n{text}"))
        elif status.start_time is not None and "e" in points:
            found.append(_mail(record, "end", end, "\n".join([_ENDED, *_account(record, now)])))
        if text is None and status.reason is Reason.OUTPUT_FAILED:
            host = status.hosts[0].node if status.hosts else "unknown"
            lost = f"Post job file processing error; job {row_id(row_of(record))} on host {host}\n{status.message}"
            found.append(_mail(record, "output", end, lost))
    return found


def _abortion(record: JobRecord) -> str | None:
    """Why PBS aborted the job, for the mail that takes the place of the one about its end; None if it did not."""
    status, points = record.status, record.spec.mail_points
    if status.reason in EXCEEDED:
        return f"Job exceeded resource {EXCEEDED[status.reason]}\nSee job standard error file"
    if status.state is JobState.FAILED and status.reason in _NOT_EXECUTED:
        return "\n".join(filter(None, (_NOT_EXECUTED[status.reason], status.message)))
    if status.reason in _LOST:
        return status.message
    if status.state is JobState.DELETED and status.reason is Reason.DEPENDENCY_NEVER and "a" in points:
        return status.message
    return None


def _account(record: JobRecord, now: datetime) -> list[str]:
    """`Exit_status=0`, and what the job used; of an array only the first."""
    status = record.status
    code = exit_status(
        status.state, status.reason, has_started=True, exit_code=status.exit_code, exit_signal=status.exit_signal
    )
    used = None if record.spec.array is not None else resources_used(record, now)
    return [f"Exit_status={code}", *(f"resources_used.{name}={value}" for name, value in (used or {}).items())]


def _mail(record: JobRecord, mail_id: str, when: datetime, text: str) -> Mail:
    spec, shown = record.spec, row_id(row_of(record))
    owner = f"{record.status.owner}@{spec.submit_host}"
    return Mail(
        mail_id=mail_id,
        when=when,
        to=spec.mail_users or (owner,),
        subject=f"PBS JOB {shown}",
        body=f"PBS Job Id: {shown}\nJob Name:   {spec.name}\n{text}\n",
    )
