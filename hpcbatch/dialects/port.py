"""What a dialect is: all that the rest of the house may ask of one. Each dialect has one Door, in its `door.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from hpcbatch.dataclass import dataclass
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dependency import Left
from hpcbatch.model.mail import Mail
from hpcbatch.model.outcome import Outcome
from hpcbatch.model.placed import PlacedJob, RunSetup
from hpcbatch.model.record import JobRecord
from hpcbatch.model.row import JobRow
from hpcbatch.model.spec import JobSpec, Submission
from hpcbatch.model.state import JobState, Reason
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.command_line import CommandLine
    from hpcbatch.record.reservation import ReservationRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Where batch systems decide differently. The defaults are what most of them do."""

    refuses_what_no_node_has: bool = False
    """A job is refused if no node of the queue has the memory or the resources of one of its chunks; else it waits."""
    limits_array_indices: bool = False
    """An array's greatest index is bounded too, not only the number of its members."""
    unknown_job_meets_dependency: bool = False
    """A dependency on a job that nobody knows is met; else it can never be met."""
    refuses_unknown_dependency: bool = False
    """A job that names such a one in its dependency is refused."""
    drops_unsatisfiable: bool = False
    """A job whose dependency can never be met ends, also if it does not ask for that; else it waits for ever."""
    deleted_job_keeps_dependants: bool = False
    """Jobs that depend on one that was deleted before it ran go on waiting; else it counts as ended."""
    after_waits_for_all_members: bool = False
    """`after` an array: after all of its members have begun; else after the first."""
    shows_followers: bool = False
    """A job's record names the jobs that wait for it."""
    counts_killed_processes: bool = False
    """A job in which a process was killed for memory has failed, whatever its script made of it."""
    delivers_output_at_end: bool = False
    """Output gets its own name when the job ends. If the runner was killed, a pod made for it does that."""
    queue_option: str = "-q"
    """The option that names a queue."""
    default_project: str = ""
    """The project of jobs whose users name none, where they have one."""
    warns_before_requeue: bool = False
    """A running job is told that it will be requeued before its pods are ended."""
    requeues_ended: bool = False
    """A job that has ended can be queued again, as long as its record is a BatchJob."""
    requeue_delay_s: int = 0
    """How long a job waits that is queued again by request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    submit_command: str
    read_script: Callable[[str, bytes, datetime, list[Outcome], Mapping[str, str]], Submission]
    """Read a script (file name, content, time now) as the command for submitting does. What became of each directive is
    appended to the list, also where the script is refused. The mapping has patterns of options that the site ignores,
    each with the reason. Raises HpcBatchError: all that is wrong (ObstaclesError).
    """
    directive_word: Callable[[str], str]
    """A printable text as one word of a directive line of a script."""
    shown_id: Callable[[JobRow], str]
    """The id of a job, array or member as this dialect's listing shows it."""
    run_setup: Callable[[PlacedJob], RunSetup]
    never_met: Callable[[JobRecord, Left, bool], str]
    """Why a part of the job's dependency can never be met. True: nobody knows the job that it names."""
    has_templates: bool = True
    """`hpcbatch new` writes its scripts."""
    directive: str = ""
    """What lines of its scripts begin with that hold options; "": there are none."""
    rules: Rules = Rules()
    option_tables: Callable[[], Mapping[str, Sequence[Sequence[str]]]] = dict
    """What becomes of each option, by the table's name: Markdown's cells, the heading first."""
    command_lines: Callable[[], Mapping[str, CommandLine]] = dict
    """What may stand on the line of each command, by the command's name."""
    mails: Callable[[JobRecord, datetime], list[Mail]] = lambda _record, _now: []
    """All mails that the job has given cause for up to now, in order, sent or not."""
    next_mail: Callable[[JobRecord, datetime], datetime | None] = lambda _record, _now: None
    """When the next mail is due that only time brings."""
    reservation_mails: Callable[[ReservationRecord, datetime], list[Mail]] = lambda _record, _now: []
    """The same of a reservation."""
    check_attributes: Callable[[Mapping[str, str]], None] = lambda _: None
    """Raises HpcBatchError for attributes that the dialect's own commands never make."""
    whole_node: Callable[[JobSpec, Chunk, int], Chunk] = lambda _spec, chunk, _cpus: chunk
    """What a pod of a job that shares its nodes with no other gets of a node with so many CPUs."""
    exit_code: Callable[[JobState, Reason, int | None, int | None], int | None] = lambda _state, _why, code, signal: (
        code if signal is None else 128 + signal
    )
    """The code that the dialect shows of a job that has ended, from its exit code and the signal that ended it."""
    resized: Callable[[JobSpec], JobSpec] = lambda spec: spec
    """The job after another dialect's command has changed its chunks."""
