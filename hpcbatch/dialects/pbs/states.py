"""PBS's letters, numbers and words for what has become of a job."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, tzinfo
from functools import lru_cache

from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState, Reason
from hpcbatch.model.warning import warning_in
from hpcbatch.typed import TYPE_CHECKING, Final

if TYPE_CHECKING:  # listings do without the classes of a whole job
    from hpcbatch.model.chunk import Chunk

LETTER: Final[Mapping[JobState, str]] = {
    JobState.QUEUED: "Q",
    JobState.HELD: "H",
    JobState.WAITING: "W",
    JobState.RUNNING: "R",
    JobState.SUSPENDED: "S",
    JobState.EXITING: "E",
    JobState.FINISHED: "F",  # failed and deleted jobs too
    JobState.FAILED: "F",
    JobState.TIMEOUT: "F",
    JobState.DELETED: "F",
    JobState.REFUSED: "F",  # never shown: it has no number
}

BEGUN = frozenset({JobState.RUNNING, JobState.SUSPENDED, JobState.EXITING})
"""An array in one of these is B."""

SUBSTATE: Final[Mapping[JobState, int]] = {
    JobState.QUEUED: 10,
    JobState.HELD: 20,
    JobState.WAITING: 30,
    JobState.RUNNING: 42,
    JobState.SUSPENDED: 45,
    JobState.EXITING: 51,
    JobState.FINISHED: 92,
    JobState.FAILED: 93,
    JobState.TIMEOUT: 93,
    JobState.DELETED: 91,
    JobState.REFUSED: 93,
}

WAITING_TEXT: Final[Mapping[Reason, str]] = {
    Reason.RESOURCES: "Not enough free nodes available",
    Reason.NEVER_FITS: "Insufficient amount of resource",
    Reason.PRIORITY: "Job would conflict with reservation or top job",
    Reason.QUEUE_UNAVAILABLE: "Queue not started",
    Reason.QUEUE_STOPPED: "Queue not started",
    Reason.RESERVATION: "Queue not started",
    Reason.RESERVATION_GONE: "Queue not started",
    Reason.RESERVED: "Job would conflict with reservation or top job",
    Reason.MAINTENANCE: "Job would conflict with reservation or top job",
    Reason.LICENSES: "Insufficient amount of resource",
    Reason.STARTING: "Job is being started",
}
"""What a job waits for, where the scheduler itself said nothing."""

# JOB_EXEC_* of OpenPBS's job.h, for jobs that did not end by themselves.
_EXIT_NUMBER: Mapping[Reason, int] = {
    Reason.TIME_LIMIT: -29,
    Reason.RESERVATION_ENDED: -29,
    Reason.IDLE_LIMIT: -29,
    Reason.CPU_TIME_LIMIT: -28,
    Reason.OUT_OF_MEMORY: -27,
    Reason.LAUNCH_FAILED: -1,
    Reason.OUTPUT_FAILED: -1,
    Reason.NODE_LOST: -20,
    Reason.PREEMPTED: -20,
}
EXCEEDED: Final[Mapping[Reason, str]] = {
    Reason.TIME_LIMIT: "walltime",
    Reason.IDLE_LIMIT: "idle time",
    Reason.CPU_TIME_LIMIT: "cput",
    Reason.OUT_OF_MEMORY: "mem",
}
"""The resource of which a job used more than it may."""
_SIGTERM = 15


def letter(row: JobRow, living: Collection[int] = ()) -> str:
    """The state's letter. Of an array that has begun it is B; a member that has ended is X for as long as its array,
    whose number then is among `living`, has not.
    """
    if row.array_indices and row.state in BEGUN:
        return "B"
    return "X" if row.array_id in living and row.state.is_final else LETTER[row.state]


def substate(state: JobState, reason: Reason, *, is_array: bool = False) -> int:
    """The substate number; 41 while a job that has its nodes is being started, 22 while it waits for others, 70 of an
    array that has begun.
    """
    if is_array and state in BEGUN:
        return 70
    if state is JobState.HELD and reason in {Reason.DEPENDENCY, Reason.DEPENDENCY_NEVER}:
        return 22
    return 41 if state is JobState.RUNNING and reason is Reason.STARTING else SUBSTATE[state]


def exit_status(
    state: JobState, reason: Reason, *, has_started: bool, exit_code: int | None, exit_signal: int | None
) -> int | None:
    """PBS's Exit_status: the script's code, 256 + signal, or a negative number for a limit or a failed start.
    None for a job that has not ended or never ran.
    """
    if not state.is_final or (not has_started and reason not in _EXIT_NUMBER):
        return None
    if state is JobState.DELETED:
        return None if not has_started else _of_script(exit_code, exit_signal, unknown=256 + _SIGTERM)
    if state is JobState.TIMEOUT or reason in EXCEEDED:
        return _EXIT_NUMBER[reason if reason in EXCEEDED else Reason.TIME_LIMIT]
    unknown = _EXIT_NUMBER.get(reason, 0 if state is JobState.FINISHED else 1)
    return _of_script(None if reason is Reason.LAUNCH_FAILED else exit_code, exit_signal, unknown=unknown)


def _of_script(exit_code: int | None, exit_signal: int | None, *, unknown: int) -> int:
    if exit_signal is not None:
        return 256 + exit_signal
    return unknown if exit_code is None else exit_code


def elapsed_s(row: JobRow, now: datetime) -> int | None:
    """Wall-clock seconds that the job has run; None if it never did, and of an array."""
    if row.start_time is None or row.array_indices:
        return None
    return row.ran_s(now)


def exec_host(hosts: Sequence[str], cpus: Sequence[int]) -> str:
    """`node/0*4+node2/0*4`: a slot number for each pod on its node, and its CPUs where they are not 1."""
    seen: dict[str, int] = {}
    parts = []
    for host, count in zip(hosts, cpus, strict=True):
        slot = seen.get(host, 0)
        seen[host] = slot + 1
        parts.append(f"{host}/{slot}" + (f"*{count}" if count != 1 else ""))
    return "+".join(parts)


def exec_vnode(hosts: Sequence[str], cpus: Sequence[int], pods: Sequence[Chunk] = ()) -> str:
    """`(node:ncpus=4:mem=1048576kb:ngpus=1)+(node2:ncpus=4)`. `pods` tell of what else they hold, as far as known."""
    more = [_more(pod) for pod in pods] or [""] * len(hosts)
    return "+".join(f"({host}:ncpus={n}{text})" for host, n, text in zip(hosts, cpus, more, strict=True))


def _more(pod: Chunk) -> str:
    mem = f":mem={pod.mem_bytes >> 10}kb" if pod.mem_bytes is not None else ""
    return mem + "".join(f":{name}={amount}" for name, amount in _shown(pod.resources))


def _shown(resources: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """GPUs of each type are ngpus to PBS."""
    from hpcbatch.model.accelerator import PREFIX

    found: dict[str, int] = {}
    for name, amount in resources:
        shown = "ngpus" if name.startswith(PREFIX) else name
        found[shown] = found.get(shown, 0) + amount
    return sorted(found.items())


def comment(row: JobRow, *, vnodes: str = "", ended_by: str = "", timezone: tzinfo | None = None) -> str | None:
    """PBS's comment on a job; None where PBS has none. `vnodes` is its exec_vnode, where more is known of it than
    the row tells, `ended_by` who deleted it (`user@host`), `timezone` the reader's (None: this machine's).
    """
    if row.array_id == row.job_id and row.state in _MEMBER:
        return _MEMBER[row.state]
    if row.start_time is None:
        return _waiting(row)
    when = row.start_time.astimezone(timezone).strftime("%a %b %d at %H:%M")
    if row.array_indices:
        return f"Job Array Began at {when}"
    where = vnodes or exec_vnode(row.hosts, row.cpus_per_host)
    text = f"Job run at {when} on {where}" if where else f"Job run at {when}"
    if not row.state.is_final and not ended_by:
        # with a message, another pod of it does not start
        return f"{text}: {row.message}" if row.message and row.state is JobState.RUNNING else text
    said = warning_in(row.message)
    if row.state is JobState.DELETED or not row.state.is_final:
        text += " and terminated" + (f" by {ended_by}" if ended_by else "")
    elif row.state is JobState.TIMEOUT or row.reason in EXCEEDED:
        text += f" and exceeded resource {EXCEEDED.get(row.reason, 'walltime')}"
    else:
        text += " and finished" if row.state is JobState.FINISHED else " and failed"
        # The script's own failures need no words; the others do, and PBS has none for them.
        said = row.message if row.reason not in {Reason.NON_ZERO_EXIT, Reason.SIGNALLED} else said
    return f"{text}: {said}" if said else text


_MEMBER = {
    JobState.FINISHED: "Subjob finished",
    JobState.FAILED: "Subjob failed",
    JobState.DELETED: "Subjob terminated",
}
"""Of members of arrays that have no record (model.members.is_made_up)."""


def _waiting(row: JobRow) -> str | None:
    """The comment on a job that has never run."""
    if row.state is JobState.DELETED:
        return None
    if row.state.is_final:
        return f"Job could not be started: {row.message}" if row.message else "Job could not be started"
    if row.state in {JobState.HELD, JobState.WAITING} and row.reason is not Reason.BROKEN:
        return None
    text = row.message or WAITING_TEXT.get(row.reason, "")
    if not text:
        return None
    return f"Can Never Run: {text}" if row.reason is Reason.NEVER_FITS else f"Not Running: {text}"


def ctime(when: datetime, timezone: tzinfo | None) -> str:
    """`Sat Nov  7 02:54:48 2026`, in `timezone` (None: this machine's)."""
    local = when.astimezone(timezone)
    return f"{local:%a %b} {local.day:2d} {local:%H:%M:%S %Y}"


def moment(when: datetime, timezone: tzinfo | None) -> str:
    """As `ctime`; remembered for a reader's own time zone, as a listing has each time several times."""
    return ctime(when, timezone) if timezone is None else _remembered(when, timezone)


_remembered = lru_cache(maxsize=4096)(ctime)
