"""scancel: its command line, the jobs it means, and what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hpcbatch.dataclass import dataclass
from hpcbatch.dialects.slurm.array_rows import listed, named
from hpcbatch.dialects.slurm.errors import (
    COMPLETED,
    INVALID_JOB,
    TRANSITION,
    VERSION_TEXT,
    SlurmAnswer,
    SlurmUsageError,
    describe,
)
from hpcbatch.dialects.slurm.getopt import Option, Parser, Takes
from hpcbatch.dialects.slurm.help import SCANCEL_HELP, SCANCEL_USAGE
from hpcbatch.dialects.slurm.hostlist import expand
from hpcbatch.dialects.slurm.ids import id_text, parse_id, split_ids, task_text
from hpcbatch.dialects.slurm.states import compact, own_number
from hpcbatch.errors import HpcBatchError, JobFinishedError, RefusedError, UnknownJobError
from hpcbatch.model.indices import Indices
from hpcbatch.model.members import unended
from hpcbatch.model.named import NamedJob
from hpcbatch.model.row import JobRow, reservation_names
from hpcbatch.model.signals import KILL, TERM, signal_number
from hpcbatch.model.state import JobState
from hpcbatch.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord

PARSER = Parser(
    "scancel",
    [
        Option(name=name, short=short, takes=takes, aliases=aliases)
        for name, short, takes, aliases in (
            ("account", "A", Takes.VALUE, ()),
            ("batch", "b", Takes.NOTHING, ()),
            ("clusters", "M", Takes.VALUE, ("cluster",)),
            ("ctld", "", Takes.NOTHING, ()),
            ("full", "f", Takes.NOTHING, ()),
            ("help", "", Takes.NOTHING, ()),
            ("hurry", "H", Takes.NOTHING, ()),
            ("interactive", "i", Takes.NOTHING, ()),
            ("me", "", Takes.NOTHING, ()),
            ("name", "n", Takes.VALUE, ()),
            ("nodelist", "w", Takes.VALUE, ()),
            ("partition", "p", Takes.VALUE, ()),
            ("qos", "q", Takes.VALUE, ()),
            ("quiet", "Q", Takes.NOTHING, ()),
            ("reservation", "R", Takes.VALUE, ()),
            ("sibling", "", Takes.VALUE, ()),
            ("signal", "s", Takes.VALUE, ()),
            ("state", "t", Takes.VALUE, ()),
            ("usage", "", Takes.NOTHING, ()),
            ("user", "u", Takes.VALUE, ()),
            ("verbose", "v", Takes.NOTHING, ()),
            ("version", "V", Takes.NOTHING, ()),
            ("wckey", "", Takes.VALUE, ()),
        )
    ],
)

_NO_FEDERATION = 191
_NO_STEP = 225
_LONGEST_STEP = 10
VARIABLES = {
    "SCANCEL_ACCOUNT": "account",
    "SCANCEL_NAME": "name",
    "SCANCEL_PARTITION": "partition",
    "SCANCEL_QOS": "qos",
    "SCANCEL_RESERVATION": "reservation",
    "SCANCEL_STATE": "state",
    "SCANCEL_USER": "user",
    "SCANCEL_WCKEY": "wckey",
}
_STATES = {
    "PENDING": "PD",
    "PD": "PD",
    "RUNNING": "R",
    "R": "R",
    "SUSPENDED": "S",
    "S": "S",
    "COMPLETING": "CG",
    "CG": "CG",
}


class NoStepError(HpcBatchError):
    """The job has no such running step."""


class NamedStep(NamedTuple):
    """`12.0`, `12_7.0`, `12.batch`."""

    text: str
    job: NamedJob
    step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScancelOptions:
    """The jobs or nodes that the command line selects. None: not restricted."""

    ids: tuple[NamedJob, ...] = ()
    steps: tuple[NamedStep, ...] = ()
    user: str | None = None
    name: str | None = None
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    reservation: str | None = None
    wckey: str | None = None
    """No job is of a wckey."""
    state: str | None = None
    """Compact: PD, R, S or CG."""
    hosts: frozenset[str] | None = None
    quiet: bool = False
    verbose: bool = False
    interactive: bool = False
    """-i: each is asked about."""
    clusters: str | None = None
    signal: int | None = None
    """To be sent instead of ending the jobs."""
    scope: str = "steps"
    """To what: `steps` is all but the script's shell, `script` (--batch) that alone, `all` (--full) both."""

    @property
    def has_filter(self) -> bool:
        """Whether jobs are chosen by more than their ids."""
        chosen = (self.user, self.name, self.partition, self.account, self.state, self.hosts, self.qos)
        return any(value is not None for value in (*chosen, self.reservation, self.wckey))

    @property
    def needs_match(self) -> bool:
        """Then an id that does not match is an error; else nothing ever is."""
        return self.has_filter or self.interactive


def read_options(argv: Sequence[str], environ: Mapping[str, str], user: str) -> ScancelOptions:
    """Read scancel's command line (without the program name); `user` is who --me means.
    Raises SlurmAnswer for --help, --usage and --version.
    """
    given, operands = PARSER.parse(argv, permute=True)
    asked = {name: environ[variable] for variable, name in VARIABLES.items() if environ.get(variable)}
    asked |= {option.option.name: option.value or "" for option in given}
    for name, text in (("help", SCANCEL_HELP), ("usage", SCANCEL_USAGE), ("version", VERSION_TEXT)):
        if name in asked:
            raise SlurmAnswer(text)
    ids, steps = _ids([argv[index] for index in operands])
    options = ScancelOptions(
        ids=ids,
        steps=steps,
        user=user if "me" in asked else asked.get("user"),
        name=asked.get("name"),
        partition=asked.get("partition"),
        account=asked.get("account"),
        qos=asked.get("qos"),
        reservation=asked.get("reservation"),
        wckey=asked.get("wckey"),
        state=_state(asked["state"]) if "state" in asked else None,
        hosts=frozenset(expand(asked["nodelist"])) if "nodelist" in asked else None,
        quiet="quiet" in asked,
        verbose="verbose" in asked,
        interactive="interactive" in asked,
        clusters=asked.get("clusters"),
        signal=_signal(asked),
        scope="all" if "full" in asked else "script" if "batch" in asked else "steps",
    )
    if not options.ids and not options.steps and not options.has_filter:
        raise SlurmUsageError("scancel: error: No job identification provided")
    if "sibling" in asked and options.ids:
        text = _kill_error(id_text(options.ids[0]), "Not a valid federated job")
        raise SlurmUsageError(text, _NO_FEDERATION)
    return options


def _ids(words: Sequence[str]) -> tuple[tuple[NamedJob, ...], tuple[NamedStep, ...]]:
    ids, steps = [], []
    for word in words:
        for part in split_ids(word) or [word]:
            job, _, step = part.partition(".")
            is_step = step.isascii() and (step.isdigit() or step == "batch") and len(step) < _LONGEST_STEP
            try:
                if is_step:
                    steps.append(NamedStep(part, parse_id(job), step))
                else:
                    ids.append(parse_id(part))
            except ValueError:
                raise SlurmUsageError(f"scancel: error: Invalid job id {part}") from None
    return tuple(ids), tuple(steps)


def _signal(asked: Mapping[str, str]) -> int | None:
    """None: the jobs are to end, for which KILL is another word unless it is meant for a part of them."""
    if "signal" not in asked:
        return None
    number = signal_number(asked["signal"], ignore_case=True)
    if not number:
        raise SlurmUsageError(f"Unknown job signal: {asked['signal']}")
    return None if number == KILL and "batch" not in asked and "full" not in asked else number


def _state(text: str) -> str:
    state = _STATES.get(text.upper())
    if state is None:
        raise SlurmUsageError(
            f"Invalid job state specified: {text}\nValid job states are PENDING, RUNNING, and SUSPENDED"
        )
    return state


def matching(rows: Sequence[JobRow], options: ScancelOptions) -> list[JobRow]:
    """The unfinished jobs among `rows` that all filters and the ids, if any, let through, in order. Arrays are as
    squeue lists them: a row of many members has these as its `array_indices`.
    """
    lines = listed(rows)
    return [row for row in (named(lines, options.ids) if options.ids else lines) if lets_through(row, options)]


def lets_through(row: JobRow, options: ScancelOptions) -> bool:
    """Whether the job has not begun to end, and all filters let it through. Who names that state means it."""
    return (
        not row.state.is_final
        and (row.state is not JobState.EXITING or options.state is not None)
        and options.user in {None, row.user, str(row.uid)}
        and options.name in {None, row.name}
        and options.partition in {None, row.queue}
        and options.account in {None, row.account}
        and options.qos in {None, row.qos or "normal"}
        and options.reservation in {None, row.reservation, *reservation_names(row.reservation)}
        and options.wckey is None
        and options.state in {None, compact(row.state, row.reason)}
        and (options.hosts is None or bool(options.hosts & set(row.hosts)))
    )


def chosen_ids(rows: Sequence[JobRow], options: ScancelOptions) -> list[NamedJob]:
    """What the filters leave of `rows`: jobs, arrays as a whole, and members of arrays."""
    arrays = {row.job_id: row for row in rows if row.array_indices}
    found: dict[int, NamedJob] = {}
    for row in matching(rows, options):
        number = own_number(row)
        if number not in arrays:
            found[row.job_id] = NamedJob(row.job_id)
            continue
        some = Indices.parse(row.array_indices) if row.array_indices else Indices.of([row.array_index or 0])
        before = found[number].members if number in found else None
        found[number] = NamedJob(number, some if before is None else before | some, is_array=True)
    return [
        NamedJob(number) if number in arrays and not unended(arrays[number]) - (one.members or Indices()) else one
        for number, one in found.items()
    ]


def no_match(rows: Sequence[JobRow], options: ScancelOptions) -> tuple[str, int]:
    """Stderr and exit code for ids that the filters shut out, and for filters that nothing matches."""
    chosen = matching(rows, options)
    missed = [one for one in options.ids if not named(chosen, [one])]
    if options.needs_match and missed:
        return "\n".join(_kill_error(id_text(one), INVALID_JOB) for one in missed), 1
    if chosen or options.ids or not options.verbose:
        return "", 0
    filters = (
        ("account", options.account),
        ("job_name", options.name),
        ("partition", options.partition),
        ("qos", options.qos),
        ("reservation", options.reservation),
        ("state", next((long for long, short in _STATES.items() if short == options.state), None)),
        ("user_name", options.user),
        ("wckey", options.wckey),
        ("nodelist", None if options.hosts is None else ",".join(sorted(options.hosts))),
    )
    text = " ".join(f"{name}={value}" for name, value in filters if value is not None)
    return f"scancel: error: No active jobs match ALL job filters, including: {text} ", 0


def question(one: NamedJob, row: JobRow) -> str:
    """What -i asks about one job, array or members of one."""
    shown = id_text(one)
    if row.array_indices and one.members is None and (waiting := Indices.parse(row.array_pending)):
        shown = f"{one.number}_[{task_text(waiting, row.array_limit)}]"
    return f"Cancel job_id={shown} name={row.name} partition={row.queue} [y/n]? "


def step_question(one: NamedStep, row: JobRow) -> str:
    return f"Cancel step_id={one.text} name={row.name} partition={row.queue} [y/n]? "


def step_request(one: NamedStep, record: JobRecord | None, signal: int | None) -> tuple[int, str] | None:
    """Signal and scope of the request that ends a step of the running job, or sends it a signal; None where no such
    step runs. One that its runner has not reported yet may run.
    """
    from hpcbatch.dialects.slurm.steps import first_of

    if one.step == "batch" or (record is not None and one.step == first_of(record)):
        return signal or KILL, "script"
    number = int(one.step)
    status = None if record is None else record.status
    known = {step.number: step.end_time for step in status.steps} if status is not None else {}
    has_ended = known[number] is not None if number in known else status is not None and number < status.step_count
    if has_ended:
        return None
    return (TERM, f"cancel.{number}") if signal is None else (signal, f"step.{number}")


def step_outcome(one: NamedStep, error: HpcBatchError | None, options: ScancelOptions) -> tuple[str, int]:
    """Stderr and exit code after trying to cancel a step. NoStepError: its job runs, but not it."""
    word = "Terminating" if options.signal is None else f"Signal {options.signal} to"
    lines = [f"scancel: {word} step {one.text}"] if options.verbose and not options.quiet else []
    if error is None:
        return "\n".join(lines), 0
    if isinstance(error, NoStepError):
        return "\n".join([*lines, _step_error(one.text.partition(".")[0], INVALID_JOB)]), _NO_STEP
    if isinstance(error, UnknownJobError | JobFinishedError | RefusedError):
        return _step_error(one.text, INVALID_JOB), 1
    text, code = describe(error, "scancel", one.text)
    return text, code


def _step_error(step: str, text: str) -> str:
    return f"scancel: error: Kill job error on job step id {step}: {text}"


def outcome(job_id: str, error: HpcBatchError | None, options: ScancelOptions) -> tuple[str, int]:
    """Stderr and exit code after trying to cancel one job, by its id. An unknown or finished one is nothing to speak
    of, unless with -v; that does not change the exit code.
    """
    word = "Terminating" if options.signal is None else f"Signal {options.signal} to"
    kind = "batch job" if options.signal is not None and options.scope == "script" else "job"
    lines = [f"scancel: {word} {kind} {job_id}"] if options.verbose and not options.quiet else []
    code = 0
    if isinstance(error, UnknownJobError | JobFinishedError):
        if options.verbose and not options.quiet:
            lines.append(_kill_error(job_id, COMPLETED if isinstance(error, JobFinishedError) else INVALID_JOB))
    elif isinstance(error, RefusedError):
        lines, code = [*lines, _kill_error(job_id, TRANSITION)], 1
    elif error is not None:
        text, code = describe(error, "scancel", job_id)
        lines.append(text)
    return "\n".join(lines), code


def _kill_error(job_id: str, text: str) -> str:
    return f"scancel: error: Kill job error on job id {job_id}: {text}"
