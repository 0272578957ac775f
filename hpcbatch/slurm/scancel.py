"""scancel: its command line, the jobs it means, and what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hpcbatch.errors import HpcBatchError, JobFinishedError, NotSupportedError, UnknownJobError
from hpcbatch.model.row import JobRow
from hpcbatch.slurm.errors import (
    COMPLETED,
    INVALID_JOB,
    VERSION_TEXT,
    SlurmAnswer,
    SlurmUsageError,
    describe,
)
from hpcbatch.slurm.getopt import Given, Option, Parser, Takes
from hpcbatch.slurm.help import SCANCEL_HELP, SCANCEL_USAGE
from hpcbatch.slurm.hostlist import expand
from hpcbatch.slurm.ids import parse_id, split_ids
from hpcbatch.slurm.states import compact

PARSER = Parser(
    "scancel",
    [
        Option(name=name, short=short, takes=takes, aliases=aliases)
        for name, short, takes, aliases in (
            ("account", "A", Takes.VALUE, ()), ("batch", "b", Takes.NOTHING, ()),
            ("clusters", "M", Takes.VALUE, ("cluster",)), ("ctld", "", Takes.NOTHING, ()),
            ("full", "f", Takes.NOTHING, ()), ("help", "", Takes.NOTHING, ()), ("hurry", "H", Takes.NOTHING, ()),
            ("interactive", "i", Takes.NOTHING, ()), ("me", "", Takes.NOTHING, ()), ("name", "n", Takes.VALUE, ()),
            ("nodelist", "w", Takes.VALUE, ()), ("partition", "p", Takes.VALUE, ()), ("qos", "q", Takes.VALUE, ()),
            ("quiet", "Q", Takes.NOTHING, ()), ("reservation", "R", Takes.VALUE, ()),
            ("sibling", "", Takes.VALUE, ()), ("signal", "s", Takes.VALUE, ()), ("state", "t", Takes.VALUE, ()),
            ("usage", "", Takes.NOTHING, ()), ("user", "u", Takes.VALUE, ()), ("verbose", "v", Takes.NOTHING, ()),
            ("version", "V", Takes.NOTHING, ()), ("wckey", "", Takes.VALUE, ()),
        )
    ],
)  # fmt: skip

NOT_YET = ("clusters", "interactive", "qos", "reservation", "sibling", "wckey")
VARIABLES = {
    "SCANCEL_ACCOUNT": "account", "SCANCEL_NAME": "name", "SCANCEL_PARTITION": "partition",
    "SCANCEL_STATE": "state", "SCANCEL_USER": "user",
}  # fmt: skip
_STATES = {
    "PENDING": "PD", "PD": "PD", "RUNNING": "R", "R": "R", "SUSPENDED": "S", "S": "S", "COMPLETING": "CG", "CG": "CG",
}  # fmt: skip
_SIGNALS = frozenset({
    "HUP", "INT", "QUIT", "ABRT", "KILL", "ALRM", "TERM", "USR1", "USR2", "URG", "CONT", "STOP", "TSTP", "TTIN",
    "TTOU", "SEGV", "PIPE", "XCPU", "XFSZ", "CHLD", "TRAP", "BUS",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ScancelOptions:
    """What scancel was asked for. None: not restricted."""

    ids: tuple[int, ...] = ()
    user: str | None = None
    name: str | None = None
    partition: str | None = None
    account: str | None = None
    state: str | None = None
    """Compact: PD, R, S or CG."""
    hosts: frozenset[str] | None = None
    quiet: bool = False
    verbose: bool = False

    @property
    def has_filter(self) -> bool:
        """With a filter, an id that does not match it is an error; without, nothing ever is."""
        return any(
            value is not None
            for value in (self.user, self.name, self.partition, self.account, self.state, self.hosts)
        )  # fmt: skip


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
    _refuse(given)
    options = ScancelOptions(
        ids=_ids([argv[index] for index in operands]),
        user=user if "me" in asked else asked.get("user"),
        name=asked.get("name"),
        partition=asked.get("partition"),
        account=asked.get("account"),
        state=_state(asked["state"]) if "state" in asked else None,
        hosts=frozenset(expand(asked["nodelist"])) if "nodelist" in asked else None,
        quiet="quiet" in asked,
        verbose="verbose" in asked,
    )
    if not options.ids and not options.has_filter:
        raise SlurmUsageError("scancel: error: No job identification provided")
    return options


def _refuse(given: Sequence[Given]) -> None:
    for option in given:
        name, value = option.option.name, option.value or ""
        if name == "signal":
            signal = value.upper().removeprefix("SIG")
            if signal not in _SIGNALS and not (signal.isascii() and signal.isdigit() and 0 < int(signal) < 65):
                raise SlurmUsageError(f"Unknown job signal: {value}")
            raise NotSupportedError("scancel --signal is not supported yet")
        if name in NOT_YET:
            raise NotSupportedError(f"scancel --{name} is not supported yet")


def _ids(words: Sequence[str]) -> tuple[int, ...]:
    ids = []
    for word in words:
        for part in split_ids(word) or [word]:
            try:
                ids.append(parse_id(part))
            except ValueError:
                raise SlurmUsageError(f"scancel: error: Invalid job id {part}") from None
    return tuple(ids)


def _state(text: str) -> str:
    state = _STATES.get(text.upper())
    if state is None:
        raise SlurmUsageError(
            f"Invalid job state specified: {text}\nValid job states are PENDING, RUNNING, and SUSPENDED"
        )
    return state


def matching(rows: Sequence[JobRow], options: ScancelOptions) -> list[int]:
    """Numbers of the unfinished jobs among `rows` that all filters and the ids, if any, let through, in order."""
    return [
        row.job_id
        for row in rows
        if not row.state.is_final
        and (not options.ids or row.job_id in options.ids)
        and options.user in {None, row.user}
        and options.name in {None, row.name}
        and options.partition in {None, row.queue}
        and options.account in {None, row.account}
        and options.state in {None, compact(row.state, row.reason)}
        and (options.hosts is None or options.hosts & set(row.hosts))
    ]


def no_match(rows: Sequence[JobRow], options: ScancelOptions) -> tuple[str, int]:
    """Stderr and exit code for ids that the filters shut out, and for filters that nothing matches."""
    chosen = matching(rows, options)
    missed = [job_id for job_id in options.ids if job_id not in chosen]
    if options.has_filter and missed:
        return "\n".join(_kill_error(job_id, INVALID_JOB) for job_id in missed), 1
    if chosen or options.ids or not options.verbose:
        return "", 0
    filters = (
        ("account", options.account), ("job_name", options.name), ("partition", options.partition),
        ("state", next((long for long, short in _STATES.items() if short == options.state), None)),
        ("user_name", options.user), ("nodelist", None if options.hosts is None else ",".join(sorted(options.hosts))),
    )  # fmt: skip
    text = " ".join(f"{name}={value}" for name, value in filters if value is not None)
    return f"scancel: error: No active jobs match ALL job filters, including: {text} ", 0


def outcome(job_id: int, error: HpcBatchError | None, options: ScancelOptions) -> tuple[str, int]:
    """Stderr and exit code after trying to cancel one job. An unknown or finished one is nothing to speak of,
    unless with -v; that does not change the exit code.
    """
    lines = [f"scancel: Terminating job {job_id}"] if options.verbose and not options.quiet else []
    code = 0
    if isinstance(error, UnknownJobError | JobFinishedError):
        if options.verbose and not options.quiet:
            lines.append(_kill_error(job_id, COMPLETED if isinstance(error, JobFinishedError) else INVALID_JOB))
    elif error is not None:
        text, code = describe(error, "scancel", str(job_id))
        lines.append(text)
    return "\n".join(lines), code


def _kill_error(job_id: int, text: str) -> str:
    return f"scancel: error: Kill job error on job id {job_id}: {text}"
