"""squeue's command line and input variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hpcbatch.dialects.slurm.errors import VERSION_TEXT, SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.getopt import Option, Parser, Takes
from hpcbatch.dialects.slurm.help import SQUEUE_HELP, SQUEUE_USAGE
from hpcbatch.dialects.slurm.hostlist import expand
from hpcbatch.dialects.slurm.ids import SHOWN, parse_id, split_ids
from hpcbatch.dialects.slurm.states import ACTIVE, LONG
from hpcbatch.dialects.slurm.values import leading_number
from hpcbatch.model.named import NamedJob
from hpcbatch.typed import NamedTuple

DEFAULT_FORMAT = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
LONG_FORMAT = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
START_FORMAT = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"
DEFAULT_SORT, START_SORT = "P,t,-p", "S"


def _flag(name: str, short: str = "", *aliases: str) -> Option:
    return Option(name=name, short=short, takes=Takes.NOTHING, aliases=aliases)


def _value(name: str, short: str = "", *aliases: str) -> Option:
    return Option(name=name, short=short, aliases=aliases)


def _maybe(name: str, short: str) -> Option:
    return Option(name=name, short=short, takes=Takes.OPTIONAL)


PARSER = Parser(
    "squeue",
    (
        _value("accounts", "A"),
        _flag("all", "a"),
        _flag("array", "r"),
        _flag("array-unique"),
        _value("clusters", "M", "cluster"),
        _value("format", "o"),
        _value("Format", "O"),
        _flag("federation"),
        _flag("help"),
        _flag("hide"),
        _value("iterate", "i"),
        _maybe("jobs", "j"),
        _flag("json"),
        _value("licenses", "L"),
        _flag("local"),
        _flag("long", "l"),
        _flag("me"),
        _value("name", "n"),
        _flag("noconvert"),
        _flag("noheader", "h"),
        _value("nodelist", "w", "node", "nodes"),
        _value("partitions", "p"),
        _flag("priority", "P"),
        _value("qos", "q"),
        _value("reservation", "R"),
        _flag("sibling", "", "sib"),
        _value("sort", "S"),
        _flag("start"),
        _value("states", "t"),
        _maybe("steps", "s"),
        _flag("usage"),
        _value("users", "u", "user"),
        _flag("verbose", "v"),
        _flag("version", "V"),
        _flag("yaml"),
    ),
)

VARIABLES = {
    "SQUEUE_ACCOUNT": "accounts",
    "SQUEUE_FORMAT": "format",
    "SQUEUE_FORMAT2": "Format",
    "SQUEUE_LICENSES": "licenses",
    "SQUEUE_NAMES": "name",
    "SQUEUE_PARTITION": "partitions",
    "SQUEUE_QOS": "qos",
    "SQUEUE_SORT": "sort",
    "SQUEUE_STATES": "states",
    "SQUEUE_USERS": "users",
}
NO_EFFECT = frozenset({"array-unique", "federation", "local", "sibling", "verbose"})
"""There are no federations."""


class SqueueOptions(NamedTuple):
    """The jobs or nodes that the command line selects. None: not restricted."""

    ids: tuple[NamedJob, ...] | None = None
    """As given: the same id may stand twice."""
    users: frozenset[str] | None = None
    names: frozenset[str] | None = None
    partitions: frozenset[str] | None = None
    accounts: frozenset[str] | None = None
    qos: frozenset[str] | None = None
    licenses: frozenset[str] | None = None
    hosts: frozenset[str] | None = None
    states: frozenset[str] | None = ACTIVE
    """Compact states; None is `all`."""
    format: str = DEFAULT_FORMAT
    fields: str | None = None
    """Of -O; goes over `format`."""
    sort: str = DEFAULT_SORT
    no_header: bool = False
    long: bool = False
    start: bool = False
    convert: bool = True
    time_format: str = ""
    by_partition: bool = False
    """-P: a waiting job once in each of its partitions."""
    unfold: bool = False
    """-r: a line for each member of an array."""
    steps: tuple[tuple[NamedJob, str], ...] | None = None
    """-s: steps instead of jobs, of which these or () all: a job and the name of its step."""
    reservation: str | None = None
    """-R: jobs of this reservation alone."""
    clusters: str | None = None
    every_s: int = 0
    """-i: again after so many seconds; 0: once."""
    data: str = ""
    """`json` or `yaml`: all jobs, whatever else is selected."""
    shows_hidden: bool = False
    """Jobs of hidden partitions, too: with -a, and where jobs or partitions are named."""
    tasks_shown: int = SHOWN
    """So many characters of a set of indices; 0: all."""


def read_options(argv: Sequence[str], environ: Mapping[str, str], user: str) -> SqueueOptions:
    """Read squeue's command line (without the program name); `user` is who --me means.
    Raises SlurmAnswer for --help, --usage and --version.
    """
    given, operands = PARSER.parse(argv, permute=True)
    settings = {name: environ[variable] for variable, name in VARIABLES.items() if variable in environ}
    asked: dict[str, str] = {}
    rest = [argv[index] for index in operands]
    alone = {option.option.name for option in given if option.value is None}
    taker = next((name for name in ("jobs", "steps") if name in alone), "")
    for option in given:
        name, value = option.option.name, option.value
        if name == "iterate" and leading_number(value or "") <= 0:
            raise SlurmUsageError(f"squeue: error: --iterate={value}\n")
        if name == taker and value is None and rest:
            value = rest.pop(0)  # -j's value is optional, so `-j 85` leaves 85 behind; so does -s's
        _check_format(name, asked)
        asked[name] = f"{asked[name]},{value}" if name == "jobs" and asked.get("jobs") else (value or "")
    _answer(asked)
    if rest:
        raise SlurmUsageError(f"squeue: error: Unrecognized option: {rest[0]}\n{SQUEUE_USAGE}")
    options = _build(settings, asked, user, environ.get("SLURM_TIME_FORMAT", ""))
    shown = environ.get("SLURM_BITSTR_LEN", "")
    is_unfolded = options.unfold or "SQUEUE_ARRAY" in environ
    names_some = "all" in asked or "SQUEUE_ALL" in environ or options.partitions is not None
    return options._replace(
        unfold=is_unfolded,
        shows_hidden=options.ids is not None or (names_some and "hide" not in asked),
        tasks_shown=leading_number(shown) if shown.isdecimal() else SHOWN,
    )


def _check_format(name: str, asked: Mapping[str, str]) -> None:
    spelled = {"format": "-o (--format)", "Format": "-O (--Format)"}
    other = {"format": "Format", "Format": "format"}.get(name, "")
    if other in asked:
        raise SlurmUsageError(f"squeue: error: {spelled[name]} is incompatible with {spelled[other]}")
    if {name, *asked} >= {"format", "long"}:
        raise SlurmUsageError(
            "squeue: fatal: Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and retry."
        )


def _answer(asked: Mapping[str, str]) -> None:
    for name, text in (("help", SQUEUE_HELP), ("usage", SQUEUE_USAGE), ("version", VERSION_TEXT)):
        if name in asked:
            raise SlurmAnswer(text)


def _build(settings: Mapping[str, str], asked: Mapping[str, str], user: str, time_format: str) -> SqueueOptions:
    merged = {**settings, **asked}
    start, long = "start" in asked, "long" in asked
    users = _names(merged.get("users"))
    chosen = SqueueOptions(
        ids=_ids(asked["jobs"]) if asked.get("jobs") else None,
        users=frozenset({user}) if "me" in asked else users,
        names=_names(merged.get("name")),
        partitions=_names(merged.get("partitions")),
        accounts=_names(merged.get("accounts")),
        qos=_names(merged.get("qos")),
        licenses=_names(merged.get("licenses")),
        steps=_steps(asked["steps"]) if "steps" in asked else None,
        reservation=asked.get("reservation"),
        clusters=asked.get("clusters"),
        every_s=leading_number(asked.get("iterate", "0")),
        data="yaml" if "yaml" in asked else "json" if "json" in asked else "",
        hosts=frozenset(expand(asked["nodelist"])) if asked.get("nodelist") else None,
        states=_states(merged.get("states", "")),
        no_header="noheader" in asked,
        long=long,
        start=start,
        by_partition="priority" in asked,
        unfold="array" in asked,
        convert="noconvert" not in asked,
        time_format=time_format,
        sort=merged.get("sort") or (START_SORT if start else DEFAULT_SORT),
        format=START_FORMAT if start else LONG_FORMAT if long else DEFAULT_FORMAT,
    )
    if start:
        chosen = chosen._replace(states=frozenset({"PD"}))
    # A format on the command line goes over one from a variable, whichever of the two kinds it is.
    own = asked if {"format", "Format"} & asked.keys() or start or long else settings
    if "Format" in own:
        return chosen._replace(fields=own["Format"])
    return chosen._replace(format=own["format"]) if "format" in own else chosen


def _names(text: str | None) -> frozenset[str] | None:
    names = frozenset(part.strip() for part in (text or "").split(",") if part.strip())
    return names or None


def _ids(text: str) -> tuple[NamedJob, ...]:
    ids = []
    for part in split_ids(text):
        try:
            ids.append(parse_id(part))
        except ValueError:
            raise SlurmUsageError(f"squeue: error: Invalid job id: {part}") from None
    return tuple(ids)


def _steps(text: str) -> tuple[tuple[NamedJob, str], ...]:
    """`12.0,12.batch`. Raises SlurmUsageError for a job without its step."""
    found = []
    for part in split_ids(text):
        job, dot, step = part.partition(".")
        try:
            if not dot:
                raise ValueError(part)
            found.append((parse_id(job), step))
        except ValueError:
            raise SlurmUsageError(f"squeue: error: Invalid job_step id: {part}.??") from None
    return tuple(found)


def _states(text: str) -> frozenset[str] | None:
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        return ACTIVE
    if any(name.lower() == "all" for name in names):
        return None
    by_name = {**{short: short for short in LONG}, **{long: short for short, long in LONG.items()}}
    states = set()
    for name in names:
        state = by_name.get(name.upper())
        if state is None:
            raise SlurmUsageError(
                f"squeue: error: Invalid job state specified: {name}\n"
                f"squeue: error: Valid job states include: {_VALID_STATES}\n"
            )
        states.add(state)
    return frozenset(states)


_VALID_STATES = (
    "PENDING,RUNNING,SUSPENDED,COMPLETED,CANCELLED,FAILED,TIMEOUT,NODE_FAIL,PREEMPTED,BOOT_FAIL,DEADLINE,"
    "OUT_OF_MEMORY,COMPLETING,CONFIGURING,RESIZING,RESV_DEL_HOLD,REQUEUED,REQUEUE_FED,REQUEUE_HOLD,REVOKED,"
    "SIGNALING,SPECIAL_EXIT,STAGE_OUT,STOPPED"
)
