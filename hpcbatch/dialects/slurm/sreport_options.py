"""sreport's command line."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from hpcbatch.dialects.slurm.begin import parse_time
from hpcbatch.dialects.slurm.errors import VERSION_TEXT, SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.field_table import Style, style_of
from hpcbatch.dialects.slurm.getopt import Option, Parser, Takes
from hpcbatch.dialects.slurm.help import SREPORT_HELP
from hpcbatch.errors import NotSupportedError
from hpcbatch.typed import NamedTuple

PARSER = Parser(
    "sreport",
    [
        Option(name=name, short=short, takes=takes, aliases=aliases)
        for name, short, takes, aliases in (
            ("all_clusters", "a", Takes.NOTHING, ()),
            ("cluster", "M", Takes.VALUE, ("clusters",)),
            ("federation", "", Takes.NOTHING, ()),
            ("help", "h", Takes.NOTHING, ()),
            ("local", "", Takes.NOTHING, ()),
            ("noheader", "n", Takes.NOTHING, ()),
            ("parsable", "p", Takes.NOTHING, ()),
            ("parsable2", "P", Takes.NOTHING, ()),
            ("quiet", "Q", Takes.NOTHING, ()),
            ("sort", "s", Takes.VALUE, ()),
            ("time", "t", Takes.VALUE, ()),
            ("tres", "T", Takes.VALUE, ()),
            ("usage", "", Takes.NOTHING, ()),
            ("verbose", "v", Takes.NOTHING, ()),
            ("version", "V", Takes.NOTHING, ()),
        )
    ],
)


class Report(StrEnum):
    UTILIZATION = "Cluster Utilization"
    BY_ACCOUNT = "Cluster/Account/User Utilization"
    BY_USER = "Cluster/User/Account Utilization"
    TOP = "Top {top} Users"
    SIZES = "Job Sizes"
    RESERVATIONS = "Reservation Utilization"


class Unit(StrEnum):
    SECONDS = "Seconds"
    MINUTES = "Minutes"
    HOURS = "Hours"
    PERCENT = "Percent"
    SECONDS_PERCENT = "SecPer"
    MINUTES_PERCENT = "MinPer"
    HOURS_PERCENT = "HourPer"


_UNITS = (
    (Unit.SECONDS_PERCENT, 6),
    (Unit.MINUTES_PERCENT, 6),
    (Unit.HOURS_PERCENT, 6),
    (Unit.SECONDS, 1),
    (Unit.MINUTES, 1),
    (Unit.HOURS, 1),
    (Unit.PERCENT, 1),
)
_TYPES = (("cluster", 2), ("job", 1), ("reservation", 2), ("resv", 2), ("user", 1))
_WCKEY = "wckey"
REPORTS: dict[str, tuple[tuple[str, int, Report | str], ...]] = {
    "cluster": (
        ("accountutilizationbyuser", 1, Report.BY_ACCOUNT),
        ("userutilizationbyaccount", 18, Report.BY_USER),
        ("userutilizationbywckey", 18, _WCKEY),
        ("utilization", 2, Report.UTILIZATION),
        ("wckeyutilizationbyuser", 1, _WCKEY),
    ),
    "job": (
        ("sizesbyaccount", 1, Report.SIZES),
        ("sizesbywckey", 8, _WCKEY),
        ("sizesbyaccountandwckey", 15, _WCKEY),
    ),
    "reservation": (("utilization", 1, Report.RESERVATIONS),),
    "user": (("topusage", 1, Report.TOP),),
}
"""With the least letters. Source: sreport.c."""
_VALID = {
    "cluster": 'Valid cluster reports are, "AccountUtilizationByUser", "UserUtilizationByAccount", '
    '"UserUtilizationByWckey", "Utilization", and "WCKeyUtilizationByUser"',
    "job": 'Valid job reports are, "SizesByAccount, SizesByAccountAndWcKey, and  SizesByWckey"',
    "reservation": 'Valid reservation reports are, "Utilization"',
    "user": 'Valid user reports are, "Top"',
}
_NO_RIGHT = "sreport: error: Your user doesn't have privilege to perform this action"
_FLAGS = ("all_clusters", "tree", "group", "flatview", "acctasparent", "printjobcount", "where", "set")
_KEYS = ("accounts", "acct", "clusters", "end", "format", "grouping", "start", "topcount", "users")


_COLUMNS = Style()


class Options(NamedTuple):
    report: Report
    since: datetime
    until: datetime
    unit: Unit = Unit.MINUTES
    style: Style = _COLUMNS
    fields: str | None = None
    accounts: frozenset[str] | None = None
    users: frozenset[str] | None = None
    clusters: str | None = None
    sizes: tuple[int, ...] = (50, 250, 500, 1000)
    top: int = 10
    tree: bool = False
    count_jobs: bool = False


def read_options(argv: Sequence[str], now: datetime) -> Options | None:
    """None: there is nothing to do. Raises SlurmUsageError, SlurmAnswer, and NotSupportedError for other resources than
    CPUs.
    """
    given, operands = PARSER.parse(argv, permute=True)
    asked = {option.option.name: option.value or "" for option in given}
    for name, text in (("help", SREPORT_HELP), ("usage", SREPORT_HELP), ("version", VERSION_TEXT)):
        if name in asked:
            raise SlurmAnswer(text)
    words = [argv[index] for index in operands]
    if asked.get("tres", "cpu").lower() != "cpu":
        raise NotSupportedError(f"sreport -T {asked['tres']}: jobs are reported by their CPUs alone")
    keyword = words[0].lower()
    kind = next((kind for kind, least in _TYPES if _is(keyword, kind, least)), None)
    if kind is None:
        _other(keyword, words)
        return None
    if len(words) < 2:
        raise SlurmUsageError(f"too few arguments for keyword:{words[0]}")
    report = _report("reservation" if kind == "resv" else kind, words[1])
    unit = next((unit for unit, least in _UNITS if _is(asked.get("time", "m").lower(), unit.lower(), least)), None)
    if unit is None:
        raise SlurmUsageError(f"unknown time format {asked['time']}")
    return _conditions(report, words[2:], now)._replace(unit=unit, style=style_of(asked), clusters=asked.get("cluster"))


def _is(word: str, name: str, least: int) -> bool:
    return len(word) >= least and name.startswith(word)


def has_no_command(argv: Sequence[str]) -> bool:
    """Whether the requests come from standard input."""
    given, operands = PARSER.parse(argv, permute=True)
    return not operands and not {"help", "usage", "version"} & {option.option.name for option in given}


def kept_options(options: Sequence[str], words: Sequence[str]) -> list[str]:
    """The command line's options after a request at the prompt, of which some hold for those that follow."""
    name = _kept(words[0].lower()) if words else ""
    if name == "nonparsable":
        return [option for option in options if option not in {"-p", "-P", "--parsable", "--parsable2"}]
    if name in {"sort", "time"}:
        return [*options, *(f"--{name}={word}" for word in words[1:2])]
    return [*options, *([f"--{name}"] if name else [])]


_KEPT = (
    ("local", 3),
    ("nonparsable", 4),
    ("parsable", 8),
    ("parsable2", 9),
    ("quiet", 4),
    ("sort", 1),
    ("time", 1),
    ("verbose", 4),
)


def _kept(keyword: str) -> str:
    return next((name for name, least in _KEPT if _is(keyword, name, least)), "")


def _other(keyword: str, words: Sequence[str]) -> None:
    if _kept(keyword) in {"sort", "time"} and len(words) < 2:
        raise SlurmUsageError(f"too few arguments for keyword:{words[0]}")
    if _is(keyword, "help", 2):
        raise SlurmAnswer(SREPORT_HELP)
    if _is(keyword, "version", 4):
        raise SlurmAnswer(VERSION_TEXT)
    if not (_kept(keyword) or _is(keyword, "exit", 1) or _is(keyword, "quit", 4)):
        raise SlurmUsageError(f"invalid keyword: {words[0]}")


def _report(kind: str, word: str) -> Report:
    for name, least, report in REPORTS[kind]:
        if _is(word.lower(), name, least):
            if isinstance(report, Report):
                return report
            raise SlurmUsageError(_NO_RIGHT)
    raise SlurmUsageError(f"Not valid report {word}\n{_VALID[kind]}")


def _conditions(report: Report, words: Sequence[str], now: datetime) -> Options:
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    options = Options(report, today - timedelta(days=1), today)
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            flag = next((flag for flag in _FLAGS if flag.startswith(key.lower())), None)
            if flag is None:
                raise _unknown(word)
            options = options._replace(tree=options.tree or flag == "tree")
            options = options._replace(count_jobs=options.count_jobs or flag == "printjobcount")
            continue
        match next((name for name in _KEYS if name.startswith(key.lower())), None):
            case "start":
                options = options._replace(since=_hour(value, now))
            case "end":
                options = options._replace(until=_hour(value, now))
            case "users":
                options = options._replace(users=frozenset(value.split(",")))
            case "accounts" | "acct":
                options = options._replace(accounts=frozenset(value.split(",")))
            case "format":
                options = options._replace(fields=value)
            case "topcount" if value.isdecimal() and len(value) < 9:
                options = options._replace(top=int(value))
            case "grouping" if all(part.isdecimal() and len(part) < 9 for part in value.split(",")):
                options = options._replace(sizes=tuple(int(part) for part in value.split(",")))
            case "clusters":
                pass
            case _:
                raise _unknown(word)
    return options


def _unknown(word: str) -> SlurmUsageError:
    return SlurmUsageError(f" Unknown condition: {word}\nUse keyword set to modify value")


def _hour(text: str, now: datetime) -> datetime:
    """The nearest full hour: usage is kept by the hour."""
    when = parse_time(text, now, past=True) + timedelta(minutes=30)
    return when.replace(minute=0, second=0, microsecond=0)
