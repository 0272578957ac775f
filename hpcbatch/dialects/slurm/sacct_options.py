"""sacct's command line and input variables. Source: sacct 22.05.8, options.c, and its recorded answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from hpcbatch.dialects.slurm.begin import parse_time
from hpcbatch.dialects.slurm.errors import VERSION_TEXT, SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.getopt import Option, Parser, Takes, WordError
from hpcbatch.dialects.slurm.hostlist import expand
from hpcbatch.dialects.slurm.sacct_fields import BRIEF, DEFAULT, FIELDS, LONG
from hpcbatch.dialects.slurm.sacct_help import SACCT_HELP, SACCT_USAGE
from hpcbatch.dialects.slurm.states import LONG as STATE_NAMES
from hpcbatch.dialects.slurm.values import parse_time_s
from hpcbatch.typed import NamedTuple


def _flag(name: str, short: str = "", *aliases: str) -> Option:
    return Option(name=name, short=short, takes=Takes.NOTHING, aliases=aliases)


def _value(name: str, short: str = "", *aliases: str) -> Option:
    return Option(name=name, short=short, aliases=aliases)


PARSER = Parser(
    "sacct",
    (
        _flag("allusers", "a"),
        _value("accounts", "A"),
        _flag("allocations", "X"),
        _flag("brief", "b"),
        _flag("batch-script", "B"),
        _flag("completion", "c"),
        _value("constraints", "C"),
        _value("delimiter"),
        _flag("duplicates", "D"),
        _flag("federation"),
        _flag("helpformat", "e", "help-fields"),
        _value("endtime", "E"),
        _flag("env-vars"),
        _value("file", "f"),
        _value("flags", "F"),
        _value("gid", "g", "group"),
        _flag("help", "h"),
        _flag("local"),
        _value("name"),
        _value("nnodes", "i"),
        _value("ncpus", "I"),
        _value("jobs", "j"),
        _value("timelimit-min", "k"),
        _value("timelimit-max", "K"),
        _flag("long", "l"),
        _flag("allclusters", "L"),
        _value("clusters", "M", "cluster"),
        _value("nodelist", "N"),
        _flag("noconvert"),
        _value("units"),
        _flag("noheader", "n"),
        _value("format", "o", "fields"),
        _flag("parsable", "p"),
        _flag("parsable2", "P"),
        _value("qos", "q"),
        _value("partition", "r"),
        _value("reason", "R"),
        _value("state", "s"),
        _value("starttime", "S"),
        _flag("truncate", "T"),
        _value("uid", "u", "user"),
        _flag("use-local-uid"),
        _flag("usage", "U"),
        _flag("verbose", "v"),
        _flag("version", "V"),
        _value("wckeys", "W"),
        Option(name="whole-hetjob", takes=Takes.OPTIONAL),
        _value("associations", "x"),
        _flag("json"),
        _flag("yaml"),
    ),
)

_JOB_FLAGS = ("none", "schedsubmit", "schedmain", "schedbackfill", "startrecieved")
"""How a job came to start; the last one is spelled as in Slurm."""
STARTED_FLAG = "schedmain"
"""That of all jobs that have started."""
ACCOUNTED = frozenset({"PD", "R", "S", "CD", "CA", "F", "TO", "NF", "PR", "BF", "DL", "OOM", "RQ", "RS", "RV"})
"""Compact states that sacct selects by."""
_MAY_STAND_TWICE = frozenset(
    {
        "accounts",
        "constraints",
        "clusters",
        "format",
        "gid",
        "jobs",
        "name",
        "partition",
        "reason",
        "state",
        "uid",
        "wckeys",
        "associations",
    }
)
_JOB = re.compile(
    r"([0-9]{1,18})(?:\+([0-9]+))?(?:_(?:([0-9]{1,9})|\[([0-9,:-]*)(?:%[0-9]+)?\]))?(?:\.([a-zA-Z0-9+]+))?"
)
_RANGE = re.compile(r"([0-9]{1,9})([km]?)(?:-([0-9]{1,9})([km]?))?", re.IGNORECASE)
_COMMAS = re.compile(r",(?![^\[]*\])")


class WantedJob(NamedTuple):
    """A job of -j. `member` is the index in an array; `step` names a step, "" means the job with all steps."""

    number: int
    member: int | None = None
    step: str = ""
    component: int | None = None
    """Of `12+1`."""


class SacctOptions(NamedTuple):
    """The jobs or nodes that the command line selects. None: not restricted."""

    fields: tuple[str, ...] = DEFAULT
    """Names as in FIELDS, in order."""
    widths: Mapping[str, int] = {}
    """Of fields whose width was given; negative: to the left."""
    jobs: tuple[WantedJob, ...] = ()
    users: frozenset[str] | None = None
    """Names or numbers."""
    groups: frozenset[str] | None = None
    accounts: frozenset[str] | None = None
    clusters: frozenset[str] | None = None
    names: frozenset[str] | None = None
    partitions: frozenset[str] | None = None
    qos: frozenset[str] | None = None
    flags: frozenset[str] | None = None
    """Of which a job has one, in lower case; none of them: it has none."""
    reasons: frozenset[str] | None = None
    constraints: frozenset[str] | None = None
    hosts: frozenset[str] | None = None
    states: frozenset[str] | None = None
    """Compact states."""
    nodes: tuple[int, int] | None = None
    cpus: tuple[int, int] | None = None
    timelimit_s: tuple[int, int] | None = None
    start: datetime | None = None
    """None: since ever."""
    end: datetime | None = None
    """Exclusive."""
    truncate: bool = False
    duplicates: bool = False
    """Also runs after which a job was queued again."""
    steps: bool = True
    is_verbose: bool = False
    header: bool = True
    delimiter: str | None = None
    """None: columns of fixed width."""
    trailing: bool = False
    """A delimiter at the end of each line too."""
    unit: str = ""
    """One of KMGTP for all sizes."""
    convert: bool = True
    data: str = ""
    """`json` or `yaml`."""
    text: str = ""
    """`script` (-B) or `environment` (--env-vars) of the jobs, instead of the table."""
    nothing: bool = False
    """Asked for what no job here has: a wckey, an association."""
    time_format: str = ""


def read_options(argv: Sequence[str], environ: Mapping[str, str], user: str, now: datetime) -> SacctOptions:
    """Read sacct's command line (without the program name). `user` is who runs it, `root` sees all jobs by default;
    `now` is in the user's zone. Raises SlurmAnswer for what only prints a text, SlurmUsageError in sacct's words.
    """
    asked = _option_values(argv)
    texts = asked.keys() & {"batch-script", "env-vars"}
    if len(texts) > 1:
        raise _fatal("Options --batch-script and --env-vars are mutually exclusive")
    if texts and not asked.get("jobs"):
        what = "job scripts" if "batch-script" in texts else "job environment"
        raise _fatal(f"When requesting {what} you must also request specific jobs with the '-j' option.")
    fields, widths = _fields(_field_list(asked, environ))
    jobs = _jobs(asked.get("jobs", ""))
    states = _states(asked.get("state", ""))
    hosts = frozenset(expand(asked["nodelist"])) if "nodelist" in asked else None
    users = _names(asked.get("uid"))
    if users == frozenset({"-1"}) or (users is None and ("allusers" in asked or jobs or hosts or user == "root")):
        users = None
    elif users is None:
        users = frozenset({user})
    start, end = _window(asked, now, has_jobs=bool(jobs), has_states=states is not None)
    return SacctOptions(
        fields=fields,
        widths=widths,
        jobs=jobs,
        users=users,
        groups=_names(asked.get("gid")),
        accounts=_names(asked.get("accounts")),
        clusters=_clusters(asked),
        names=_names(asked.get("name")),
        partitions=_names(asked.get("partition")),
        qos=_names(asked.get("qos")),
        reasons=_names(asked.get("reason")),
        flags=_flags_of(asked["flags"]) if "flags" in asked else None,
        constraints=_names(asked.get("constraints")),
        hosts=hosts,
        states=states,
        nodes=_range(asked, "nnodes", "node range -i"),
        cpus=_range(asked, "ncpus", "cpu range -I"),
        timelimit_s=_timelimits(asked),
        start=start,
        end=end,
        truncate="truncate" in asked,
        duplicates="duplicates" in asked,
        steps="allocations" not in asked,
        is_verbose="verbose" in asked,
        header="noheader" not in asked,
        delimiter=asked.get("delimiter", "|") if {"parsable", "parsable2"} & asked.keys() else None,
        trailing="parsable" in asked and "parsable2" not in asked,
        unit=_unit(asked.get("units")),
        convert="noconvert" not in asked,
        data="yaml" if "yaml" in asked else "json" if "json" in asked else "",
        text="script" if "batch-script" in asked else "environment" if "env-vars" in asked else "",
        nothing=bool({"wckeys", "associations"} & asked.keys()),
        time_format=environ.get("SLURM_TIME_FORMAT", ""),
    )


def _option_values(argv: Sequence[str]) -> dict[str, str]:
    try:
        given, operands = PARSER.parse(argv, permute=True)
    except WordError as error:
        raise SlurmUsageError(error.text.partition("\n")[0], error.code) from None  # sacct gives no hint
    asked: dict[str, str] = {}
    for option in given:
        name, value = option.option.name, option.value or ""
        asked[name] = f"{asked[name]},{value}" if name in _MAY_STAND_TWICE and name in asked else value
    if "version" in asked:
        raise SlurmAnswer(VERSION_TEXT)
    if "help" in asked:
        raise SlurmAnswer(SACCT_HELP)
    if "helpformat" in asked:
        raise SlurmAnswer(_list_of_fields())
    if "usage" in asked:
        raise SlurmAnswer(SACCT_USAGE)
    if operands:
        words = "".join(f"\nsacct: error:  {argv[index]}" for index in operands)
        raise SlurmUsageError(f"sacct: error: Unknown arguments:{words}")
    if {"completion", "file"} & asked.keys():
        raise SlurmUsageError("Slurm job completion is disabled")
    if {"long", "format"} <= asked.keys():
        raise _fatal("Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and retry.")
    return asked


def _list_of_fields() -> str:
    """sacct -e: four in a line, each 19 wide."""
    names = [f"{name:<19}" for name in FIELDS]
    return "\n".join(" ".join(names[at : at + 4]) for at in range(0, len(names), 4))


def _field_list(asked: Mapping[str, str], environ: Mapping[str, str]) -> str:
    if "format" in asked:
        return asked["format"] + (f",{','.join(BRIEF)}" if "brief" in asked else "")
    if "brief" in asked or "long" in asked:
        return ",".join((*(BRIEF if "brief" in asked else ()), *(LONG if "long" in asked else ())))
    return environ.get("SACCT_FORMAT") or ",".join(DEFAULT)


def _fields(text: str) -> tuple[tuple[str, ...], dict[str, int]]:
    """Fields and widths of an -o list. A name may be cut short: the first field that fits is meant, as in Slurm."""
    names: list[str] = []
    widths: dict[str, int] = {}
    for part in text.split(","):
        word, percent, size = part.strip().partition("%")
        if not word:
            continue
        match = re.match(r"\s*([+-]?[0-9]{1,6})", size)
        if "all".startswith(word.lower()):
            found = list(FIELDS)
        elif word.lower() in {"allocgres", "reqgres"}:
            word = "AllocGRES" if word.lower() == "allocgres" else "ReqGRES"
            raise _fatal(f"{word} has been removed, please use {word.replace('GRES', 'TRES')}")
        else:
            found = [name for name in FIELDS if name.lower().startswith(word.lower())][:1]
        if not found:
            raise SlurmUsageError(f'sacct: error: Invalid field requested: "{word}"')
        names += found
        if percent:
            widths |= dict.fromkeys(found, int(match[1]) if match else 0)
    return tuple(names), widths


def _jobs(text: str) -> tuple[WantedJob, ...]:
    wanted: dict[WantedJob, None] = {}
    for part in (part.strip() for part in _COMMAS.split(text)):
        if not part:
            continue
        match = _JOB.match(part)
        if match is None:
            raise _fatal(f"Bad job/step specified: {part}")
        number, step = int(match[1]), match[5] or ""
        if match[4] is None:
            member, component = (None if part is None else int(part) for part in (match[3], match[2]))
            wanted[WantedJob(number, member, step, component)] = None
            continue
        from hpcbatch.model.indices import Indices

        wanted |= {WantedJob(number, index, step): None for index in Indices.parse(match[4])}
    return tuple(wanted)


def _states(text: str) -> frozenset[str] | None:
    names = [part.strip() for part in text.split(",") if part.strip()]
    by_name = {**{short: short for short in STATE_NAMES}, **{long: short for short, long in STATE_NAMES.items()}}
    found = set()
    for name in names:
        state = by_name.get(name.upper())
        if state is None:
            raise _fatal(f"unrecognized job state value '{name}'")
        if state not in ACCOUNTED:
            raise _fatal(f"job state {name} is not supported / accounted")
        found.add(state)
    return frozenset(found) or None


def _window(
    asked: Mapping[str, str], now: datetime, *, has_jobs: bool, has_states: bool
) -> tuple[datetime | None, datetime | None]:
    """The time from which on, and that before which, jobs are looked at.
    Source: slurmdb_job_cond_def_start_end() of slurmdb_defs.c.
    """
    now = now.replace(microsecond=0)
    start = parse_time(asked["starttime"], now, past=True) if "starttime" in asked else None
    end = parse_time(asked["endtime"], now, past=True) if "endtime" in asked else None
    if has_states:
        start = now if start is None and not has_jobs else start
        end = start if end is None else end
    elif start is None and not has_jobs:
        start = now.replace(hour=0, minute=0, second=0)
    end = now if end is None else end
    if start is not None and start > end:
        first, last = (f"{when:%Y-%m-%dT%H:%M:%S}" for when in (start, end))
        raise SlurmUsageError(f"sacct: error: Start time ({first}) requested is after end time ({last}).")
    return start, end + timedelta(seconds=1) if end in {start, now} else end


def _clusters(asked: Mapping[str, str]) -> frozenset[str] | None:
    named = _names(asked.get("clusters"))
    return None if "allclusters" in asked or named is None or named & {"all", "-1"} else named


def _range(asked: Mapping[str, str], name: str, what: str) -> tuple[int, int] | None:
    """`N` or `MIN-MAX`, with k or m for 1024 or 1024²."""
    if name not in asked:
        return None
    match = _RANGE.fullmatch(asked[name].strip())
    factor = {"": 1, "k": 1024, "m": 1024**2}
    if match is not None:
        low = int(match[1]) * factor[match[2].lower()]
        high = low if match[3] is None else int(match[3]) * factor[match[4].lower()]
        if low <= high:
            return low, high
    raise SlurmUsageError(f"sacct: error: invalid {what} '{asked[name]}'")


def _timelimits(asked: Mapping[str, str]) -> tuple[int, int] | None:
    """Of -k and -K: the one value requested, or a range."""
    if "timelimit-min" not in asked:
        return None
    try:
        low = parse_time_s(asked["timelimit-min"])
        high = parse_time_s(asked["timelimit-max"]) if "timelimit-max" in asked else low
    except ValueError:
        raise _fatal("Invalid time limit specification") from None
    endless = 2**62
    return low or endless, high or endless


def _unit(text: str | None) -> str:
    if text is None:
        return ""
    unit = text[:1].upper()
    if unit not in {"K", "M", "G", "T", "P"}:
        raise _fatal("Invalid unit type")
    return unit


def _flags_of(text: str) -> frozenset[str]:
    """Raises SlurmUsageError. Source: str_2_job_flags(), which looks for a name anywhere in a word."""
    found = set()
    for word in filter(None, text.split(",")):
        flag = next((name for name in _JOB_FLAGS if name in word.lower()), None)
        if flag is None:
            raise SlurmUsageError(f"sacct: error: str_2_job_flags: Invalid job flag {word}")
        found.add(flag)
    return frozenset(found - {"none"})


def _names(text: str | None) -> frozenset[str] | None:
    return None if text is None else frozenset(part.strip() for part in text.split(",") if part.strip()) or None


def _fatal(text: str) -> SlurmUsageError:
    return SlurmUsageError(f"sacct: fatal: {text}")
