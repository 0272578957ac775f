"""sprio: the factors of jobs' priorities; at a site without them what Slurm says with priority/basic."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from hpcbatch.dialects.slurm.errors import VERSION_TEXT, SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.getopt import Option, Parser, Takes
from hpcbatch.dialects.slurm.help import SPRIO_HELP, SPRIO_USAGE
from hpcbatch.dialects.slurm.ids import parse_id, split_ids
from hpcbatch.model.priority import Factors, PriorityConfig
from hpcbatch.typed import Any, NamedTuple

PARSER = Parser(
    "sprio",
    [
        Option(name=name, short=short, takes=takes, aliases=aliases)
        for name, short, takes, aliases in (
            ("clusters", "M", Takes.VALUE, ("cluster",)),
            ("federation", "", Takes.NOTHING, ()),
            ("format", "o", Takes.VALUE, ()),
            ("help", "", Takes.NOTHING, ()),
            ("jobs", "j", Takes.OPTIONAL, ()),
            ("local", "", Takes.NOTHING, ()),
            ("long", "l", Takes.NOTHING, ()),
            ("noheader", "h", Takes.NOTHING, ()),
            ("norm", "n", Takes.NOTHING, ()),
            ("partition", "p", Takes.VALUE, ()),
            ("sibling", "", Takes.NOTHING, ()),
            ("sort", "S", Takes.VALUE, ()),
            ("usage", "", Takes.NOTHING, ()),
            ("users", "u", Takes.VALUE, ("user",)),
            ("verbose", "v", Takes.NOTHING, ()),
            ("version", "V", Takes.NOTHING, ()),
            ("weights", "w", Takes.NOTHING, ()),
        )
    ],
)
_NO_FACTORS = """\
You are not running a supported priority plugin
(priority/basic).
Only 'priority/multifactor' is supported."""
_HERE = "sprio: hpcbatch: jobs start in the order of the Priority that `scontrol show job` shows: by --nice, then by id"
_TOKEN = re.compile(r"([^%]*)%(\.?)([0-9]{0,4})([A-Za-z])")
_MOST = 2**32 - 1


class SprioOptions(NamedTuple):
    format: str | None = None
    jobs: frozenset[int] | None = None
    """None: all."""
    users: tuple[str, ...] | None = None
    partitions: frozenset[str] | None = None
    header: bool = True
    is_long: bool = False
    is_normalised: bool = False
    weights: bool = False
    sort: str = "i"
    clusters: str | None = None


class Ranking(NamedTuple):
    """A waiting job: factors from 0 to 1, the same times their weights, and their sum."""

    number: int
    user: str
    account: str
    partition: str
    factors: Factors
    parts: Factors
    priority: int


def read_options(argv: Sequence[str], uid_of: Callable[[str], int | None]) -> SprioOptions:
    """Raises SlurmUsageError for a bad option, SlurmAnswer for help and version."""
    given, operands = PARSER.parse(argv, permute=True)
    asked = {option.option.name: option.value for option in given}
    for name, text in (("help", SPRIO_HELP), ("usage", SPRIO_USAGE), ("version", VERSION_TEXT)):
        if name in asked:
            raise SlurmAnswer(text)
    rest = [argv[index] for index in operands]
    if "jobs" in asked and asked["jobs"] is None and rest:
        asked["jobs"] = rest.pop(0)
    if rest:
        raise UnknownOptionError(f"sprio: error: Unrecognized option: {rest[0]}")
    numbers = []
    for text in split_ids(asked.get("jobs") or ""):
        try:
            numbers.append(parse_id(text).number)
        except ValueError:
            raise SlurmUsageError(f"sprio: error: Invalid job id: {text}") from None
    users = tuple(filter(None, (asked.get("users") or "").split(",")))
    unknown = [name for name in users if not name.isdecimal() and uid_of(name) is None]
    partitions = asked.get("partition")
    options = SprioOptions(
        format=asked.get("format"),
        jobs=frozenset(numbers) if asked.get("jobs") else None,
        users=tuple(name for name in users if name not in unknown) if users else None,
        partitions=frozenset(partitions.split(",")) if partitions else None,
        header="noheader" not in asked,
        is_long="long" in asked,
        is_normalised="norm" in asked,
        weights="weights" in asked,
        sort=asked.get("sort") or "i",
        clusters=asked.get("clusters"),
    )
    if unknown:
        raise UnknownUsersError(options, "\n".join(f"sprio: error: Invalid user: {name}" for name in unknown))
    return options


class UnknownOptionError(SlurmUsageError):
    """The usage stands on standard output."""


class UnknownUsersError(SlurmUsageError):
    """Users that there are not: they are passed over."""

    def __init__(self, options: SprioOptions, text: str) -> None:
        super().__init__(text)
        self.options = options


def no_factors(text: str = "") -> SlurmUsageError:
    """What sprio says without priority/multifactor."""
    return SlurmUsageError("\n".join(filter(None, [text and f"{text}\n", _NO_FACTORS, _HERE])))


def format_rankings(rankings: Sequence[Ranking], options: SprioOptions, config: PriorityConfig, cluster: str) -> str:
    """The table, or the weights."""
    columns = _columns(options, config)
    lines = [_line(columns, _HEADINGS)] if options.header else []
    if options.weights:
        return "".join([*lines, _line(columns, _weights(config))])
    chosen = [each for each in rankings if _is_wanted(each, options)]
    values = [_values(each, cluster) for each in _sorted(chosen, options.sort)]
    return "".join([*lines, *(_line(columns, each) for each in values)])


def _is_wanted(each: Ranking, options: SprioOptions) -> bool:
    return (
        (options.jobs is None or each.number in options.jobs)
        and (options.users is None or each.user in options.users)
        and (options.partitions is None or each.partition in options.partitions)
    )


def _sorted(rankings: Sequence[Ranking], keys: str) -> Sequence[Ranking]:
    found = list(rankings)
    for key in reversed(keys.split(",")):
        letter = key.strip().lstrip("+-")[:1]
        value = _SORTS.get(letter, _SORTS["i"])
        found.sort(key=value, reverse=key.strip().startswith("-"))
    return found


_SORTS: Mapping[str, Callable[[Ranking], Any]] = {
    "i": lambda each: each.number,
    "u": lambda each: each.user,
    "r": lambda each: each.partition,
    "y": lambda each: each.priority,
    "Y": lambda each: each.priority,
    "a": lambda each: each.factors.age,
    "A": lambda each: each.parts.age,
    "f": lambda each: each.factors.fair_share,
    "F": lambda each: each.parts.fair_share,
    "j": lambda each: each.factors.job_size,
    "J": lambda each: each.parts.job_size,
    "q": lambda each: each.factors.qos,
    "Q": lambda each: each.parts.qos,
    "N": lambda each: each.parts.nice,
}
_HEADINGS: Mapping[str, str] = {
    **{"i": "JOBID", "r": "PARTITION", "u": "USER", "o": "ACCOUNT", "y": "PRIORITY", "Y": "PRIORITY", "S": "SITE"},
    **{"a": "AGE", "A": "AGE", "b": "ASSOC", "B": "ASSOC", "f": "FAIRSHARE", "F": "FAIRSHARE", "j": "JOBSIZE"},
    **{"J": "JOBSIZE", "p": "PARTITION", "P": "PARTITION", "q": "QOS", "Q": "QOS", "N": "NICE", "t": "TRES"},
    **{"T": "TRES", "c": "CLUSTER"},
}
_ACTIVE = (
    ("a", "weight_age"),
    ("b", "weight_assoc"),
    ("f", "weight_fair_share"),
    ("j", "weight_job_size"),
    ("p", "weight_partition"),
    ("q", "weight_qos"),
    ("t", "weight_tres"),
)


def _usual(options: SprioOptions, config: PriorityConfig) -> str:
    user = " %.8u" if options.is_long or options.users is not None else ""
    text = f"%.15i %9r{user}" + (" %10y" if options.is_normalised else " %.10Y %.10S")
    for letter, name in _ACTIVE:
        width = 20 if letter == "t" else 10
        if letter == "t" and options.is_long and not options.is_normalised:
            text += " %.11N"
        if options.is_long or getattr(config, name):
            text += f" %{width}{letter}" if options.is_normalised else f" %.{width}{letter.upper()}"
    return text


class _Column(NamedTuple):
    before: str
    letter: str
    width: int
    is_right: bool


def _columns(options: SprioOptions, config: PriorityConfig) -> list[_Column]:
    """Source: sprio.c: without a format only factors that have weights."""
    text = options.format if options.format is not None else _usual(options, config)
    columns, end = [], 0
    for match in _TOKEN.finditer(text):
        before, dot, width, letter = match.groups()
        if letter not in _HEADINGS:
            raise SlurmUsageError(f"sprio: error: Invalid job format specification: {letter}")
        columns.append(_Column(before, letter, int(width or 0), bool(dot)))
        end = match.end()
    columns.append(_Column(text[end:], "", 0, False))
    return columns


def _line(columns: Sequence[_Column], values: Mapping[str, str]) -> str:
    line = "".join(f"{column.before}{_cell(values.get(column.letter, ''), column)}" for column in columns)
    return f"{line}\n"


def _cell(text: str, column: _Column) -> str:
    if not column.width:
        return text
    text = text[: column.width]
    return text.rjust(column.width) if column.is_right else text.ljust(column.width)


def _weights(config: PriorityConfig) -> dict[str, str]:
    found = {"i": "Weights", "S": "1"}
    for letter, name in _ACTIVE[:-1]:
        found[letter] = found[letter.upper()] = str(getattr(config, name))
    found["t"] = found["T"] = ",".join(f"{name}={weight:.2f}" for name, weight in config.weight_tres.items())
    return found


def _values(each: Ranking, cluster: str) -> dict[str, str]:
    found = {
        "i": str(each.number),
        "r": each.partition,
        "u": each.user,
        "o": each.account,
        "c": cluster,
        "y": f"{each.priority / _MOST:16.14f}",
        "Y": str(each.priority),
        "S": str(each.parts.site),
        "N": str(each.parts.nice),
        "t": ",".join(f"{name}={value:.7f}" for name, value in each.factors.tres.items() if value),
        "T": ",".join(f"{name}={value:.0f}" for name, value in each.parts.tres.items() if value),
    }
    for letter, name in _ACTIVE[:-1]:
        field = name.removeprefix("weight_")
        found[letter] = f"{getattr(each.factors, field):.7f}"
        found[letter.upper()] = f"{getattr(each.parts, field):.0f}"
    return found
