"""The mails of LSF (-B, -N, -Ne, -u)."""

from __future__ import annotations

from datetime import datetime

from hpcbatch.dialects.lsf import states
from hpcbatch.dialects.lsf.ids import spec_id
from hpcbatch.model.mail import Mail
from hpcbatch.model.record import JobRecord
from hpcbatch.model.state import JobState


def mails(record: JobRecord, now: datetime) -> list[Mail]:
    """All that the job's story up to now has given cause for, in order, sent or not. Of an array each member has its
    own.
    """
    spec, status = record.spec, record.status
    points = spec.mail_points
    if not points or spec.array is not None:
        return []
    to = spec.mail_users or (status.owner,)
    head = f"Job {spec_id(record.job_id, spec)}: <{spec.name}> in cluster <{spec.server}>"
    found = []
    if "B" in points and status.start_time is not None:
        body = f"Job <{spec.name}> of user <{status.owner}> was started in queue <{record.queue}>."
        found.append(_mail(f"begin.{status.run_count}", status.start_time, to, f"{head} started", body))
    is_done = status.state is JobState.FINISHED
    if status.state.is_final and ("N" in points or ("E" in points and not is_done)):
        word = "Done" if is_done else "Exited"
        end = status.end_time or now
        found.append(_mail(f"end.{status.run_count}", end, to, f"{head} {word}", _result(record)))
    return found


def _mail(mail_id: str, when: datetime, to: tuple[str, ...], subject: str, body: str) -> Mail:
    return Mail(mail_id=mail_id, when=when, to=to, subject=subject, body=body)


def _result(record: JobRecord) -> str:
    status = record.status
    lines = [f"Job <{record.spec.name}> was submitted from host <{record.spec.submit_host}> by user <{status.owner}>."]
    if text := states.termination(status.state, status.reason):
        lines.append(f"{text}.")
    code = states.code_of(status.state, status.reason, status.exit_code, status.exit_signal)
    if status.state is JobState.FINISHED:
        lines.append("Successfully completed.")
    elif code is not None:
        lines.append(f"Exited with exit code {code}.")
    if status.message:
        lines.append(status.message)
    used = [("CPU time", status.cpu_used_s), ("Run time", status.walltime_used_s)]
    lines += [
        "",
        "Resource usage summary:",
        "",
        *(f"    {name + ' :':<45}{s} sec." for name, s in used if s is not None),
    ]
    return "\n".join(lines)
