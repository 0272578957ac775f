"""sinfo: partitions and nodes with their states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, tzinfo
from functools import partial
from itertools import chain

from hpcbatch.dataclass import dataclass, replace
from hpcbatch.dialects.slurm.clock import ctime
from hpcbatch.dialects.slurm.columns import ALL, Column, line, parse_format, parse_names
from hpcbatch.dialects.slurm.errors import VERSION_TEXT, SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.getopt import Option, Parser, Takes
from hpcbatch.dialects.slurm.help import SINFO_HELP, SINFO_USAGE
from hpcbatch.dialects.slurm.hostlist import expand
from hpcbatch.dialects.slurm.node_states import ASKED, features, node_state
from hpcbatch.dialects.slurm.sinfo_fields import LETTERS, NAMES, Group
from hpcbatch.dialects.slurm.values import leading_number
from hpcbatch.model.node_features import ACTIVE, AVAILABLE
from hpcbatch.model.row import NodeRow, QueueRow

DEFAULT_FORMAT = "%9P %.5a %.10l %.6D %.6t %N"
LONG_FORMAT = "%9P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N"
NODE_FORMAT = "%#9N %.6D %.#9P %6t"
NODE_LONG_FORMAT = "%#9N %.6D %.#9P %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E"
SUMMARY_FORMAT = "%9P %.5a %.10l %.16F %N"
REASON_FORMAT = "%20E %9u %19H %N"

PARSER = Parser(
    "sinfo",
    [
        Option(name=name, short=short_, takes=takes, aliases=aliases)
        for name, short_, takes, aliases in (
            ("all", "a", Takes.NOTHING, ()),
            ("clusters", "M", Takes.VALUE, ("cluster",)),
            ("dead", "d", Takes.NOTHING, ()),
            ("exact", "e", Takes.NOTHING, ()),
            ("federation", "", Takes.NOTHING, ()),
            ("format", "o", Takes.VALUE, ()),
            ("Format", "O", Takes.VALUE, ()),
            ("help", "", Takes.NOTHING, ()),
            ("hide", "", Takes.NOTHING, ()),
            ("iterate", "i", Takes.VALUE, ()),
            ("json", "", Takes.NOTHING, ()),
            ("list-reasons", "R", Takes.NOTHING, ()),
            ("local", "", Takes.NOTHING, ()),
            ("long", "l", Takes.NOTHING, ()),
            ("Node", "N", Takes.NOTHING, ()),
            ("nodes", "n", Takes.VALUE, ()),
            ("noconvert", "", Takes.NOTHING, ()),
            ("noheader", "h", Takes.NOTHING, ()),
            ("partition", "p", Takes.VALUE, ()),
            ("reservation", "T", Takes.NOTHING, ()),
            ("responding", "r", Takes.NOTHING, ()),
            ("sort", "S", Takes.VALUE, ()),
            ("states", "t", Takes.VALUE, ()),
            ("summarize", "s", Takes.NOTHING, ()),
            ("usage", "", Takes.NOTHING, ()),
            ("verbose", "v", Takes.NOTHING, ()),
            ("version", "V", Takes.NOTHING, ()),
            ("yaml", "", Takes.NOTHING, ()),
        )
    ],
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SinfoOptions:
    """The jobs or nodes that the command line selects. None: not restricted."""

    format: str = DEFAULT_FORMAT
    fields: str | None = None
    """Of -O; goes over `format`."""
    partitions: tuple[str, ...] | None = None
    nodes: frozenset[str] | None = None
    states: tuple[str, ...] | None = None
    """Keys of ASKED. None: not restricted."""
    every_state: bool = False
    """The nodes that have all these states, `down&drain`, and not those that have one of them."""
    responding: bool | None = None
    """-r: only those that answer; -d: only those that do not."""
    by_node: bool = False
    exact: bool = False
    reasons: bool = False
    long: bool = False
    shows_hidden: bool = False
    """-a: hidden partitions, too."""
    no_header: bool = False
    time_format: str = ""
    sort: str | None = None
    """Of -S; None: partitions in their order, nodes by state, or with -N by name."""
    clusters: str | None = None
    every_s: int = 0
    """-i: again after so many seconds; 0: once."""
    data: str = ""
    """`json` or `yaml`: all nodes, whatever else is selected."""
    reservations: bool = False
    """-T: reservations instead of nodes."""


_PER_STATE, _PER_HOST = frozenset({*"tTEHu", "statecomplete"}), frozenset("no")
_PER_REASON = frozenset("EHuU")
_PER_FEATURE = frozenset("fb")
_PER_GRES = frozenset({"G", "gresused"})
_PER_SIZE = frozenset("ceYmzX")


def read_options(argv: Sequence[str], environ: Mapping[str, str]) -> SinfoOptions:
    """Read sinfo's command line (without the program name). Raises SlurmAnswer for --help, --usage and --version."""
    given, _ = PARSER.parse(argv, permute=True)  # the real sinfo passes over operands
    asked = {option.option.name: option.value or "" for option in given}
    for name, text in (("help", SINFO_HELP), ("usage", SINFO_USAGE), ("version", VERSION_TEXT)):
        if name in asked:
            raise SlurmAnswer(text)
    if "iterate" in asked and leading_number(asked["iterate"]) <= 0:
        raise SlurmUsageError(f"sinfo: error: Error: invalid entry for --iterate={asked['iterate']}")
    partitions = _partitions(asked, environ)
    options = SinfoOptions(
        format=_default_format(asked),
        partitions=tuple(filter(None, partitions.split(","))) if partitions else None,
        nodes=frozenset(expand(asked["nodes"])) if asked.get("nodes") else None,
        states=_states(asked["states"]) if asked.get("states") else None,
        every_state="&" in asked.get("states", ""),
        responding=True if "responding" in asked else False if "dead" in asked else None,
        by_node="Node" in asked,
        exact="exact" in asked,
        reasons="list-reasons" in asked,
        long="long" in asked,
        no_header="noheader" in asked,
        shows_hidden=bool(partitions) or "all" in asked or ("SINFO_ALL" in environ and "hide" not in asked),
        time_format=environ.get("SLURM_TIME_FORMAT", ""),
        sort=asked.get("sort", environ.get("SINFO_SORT")),
        clusters=asked.get("clusters"),
        every_s=leading_number(asked.get("iterate", "0")),
        data="yaml" if "yaml" in asked else "json" if "json" in asked else "",
        reservations="reservation" in asked,
    )
    if "Format" in asked:
        return replace(options, fields=asked["Format"])
    plain = not {"long", "Node", "summarize", "list-reasons"} & asked.keys()
    form = asked.get("format", environ.get("SINFO_FORMAT") if plain else None)
    return options if form is None else replace(options, format=form)


def _partitions(asked: Mapping[str, str], environ: Mapping[str, str]) -> str | None:
    """Raises SlurmUsageError where both -a and -p are given. Source: parse_command_line(), 22.05."""
    conflict = "sinfo: error: Conflicting options, {} and {}, specified. Please choose one or the other."
    if "SINFO_ALL" in environ and "SINFO_PARTITION" in environ:
        raise SlurmUsageError(conflict.format("SINFO_ALL", "SINFO_PARTITION"))
    if "all" in asked and "partition" in asked:
        raise SlurmUsageError(conflict.format("-a", "-p"))
    return asked.get("partition", None if "all" in asked else environ.get("SINFO_PARTITION"))


def _default_format(asked: Mapping[str, str]) -> str:
    if "summarize" in asked:
        return SUMMARY_FORMAT
    if "list-reasons" in asked:
        return REASON_FORMAT
    if "Node" in asked:
        return NODE_LONG_FORMAT if "long" in asked else NODE_FORMAT
    return LONG_FORMAT if "long" in asked else DEFAULT_FORMAT


def _states(text: str) -> tuple[str, ...] | None:
    names = [name.strip().lower().rstrip("*") for name in text.replace("&", ",").split(",") if name.strip()]
    if "all" in names:
        return None
    for name in names:
        if name not in ASKED:
            raise SlurmUsageError(
                f'sinfo: error: Bad state string: "{name}"\nsinfo: error: valid states: {",".join(ASKED)}'
            )
    return tuple(names)


def shows_gres(options: SinfoOptions) -> bool:
    """Whether it prints the generic resources of nodes."""
    return any(column.key in _PER_GRES for column in columns_of(options))


def columns_of(options: SinfoOptions) -> list[Column]:
    form = parse_format(options.format if options.fields is None else ALL, LETTERS.__contains__, after_capital=" ")
    if options.fields is None:
        return form
    columns = parse_names(options.fields, lambda name: name == "all" or name in NAMES)
    each = (form if one.key == "all" else [one._replace(key=NAMES[one.key])] if one.key else [one] for one in columns)
    return list(chain.from_iterable(each))


def above_of(options: SinfoOptions, now: datetime, tz: tzinfo) -> str:
    return f"{ctime(now, tz)}\n" if (options.long or options.every_s) and not options.no_header else ""


def format_sinfo(
    nodes: Sequence[NodeRow], queues: Sequence[QueueRow], options: SinfoOptions, now: datetime, tz: tzinfo
) -> str:
    """What sinfo prints for these nodes and queues. Every line ends in a newline."""
    above = above_of(options, now, tz)
    columns = columns_of(options)
    groups = _groups(nodes, queues, {column.key for column in columns}, options, tz)
    columns = _grown(columns, groups)
    lines = [] if options.no_header else [line(columns, lambda key: LETTERS[key][0])]
    lines += [line(columns, partial(_value, group)) for group in groups]
    return above + "".join(f"{text}\n" for text in lines)


def below_time(text: str, heading: str, options: SinfoOptions) -> str:
    """`text` with the heading of a cluster, which stands below the time where there is one."""
    above, newline, rest = text.partition("\n") if options.long or options.every_s else ("", "", text)
    return f"{above}{newline}{heading}{rest}"


def _value(group: Group, key: str) -> str:
    return LETTERS[key][1](group)


def _grown(columns: Sequence[Column], groups: Sequence[Group]) -> list[Column]:
    return [
        column._replace(width=max([column.width, *(len(_value(group, column.key)) for group in groups)]))
        if column.grow
        else column
        for column in columns
    ]


def _groups(
    nodes: Sequence[NodeRow], queues: Sequence[QueueRow], keys: set[str], options: SinfoOptions, tz: tzinfo
) -> list[Group]:
    chosen = sorted((node for node in nodes if _is_selected(node, options)), key=lambda node: node.name)
    if options.reasons:
        chosen = [node for node in chosen if node.comment and not (node.ready and node.schedulable)]
    queues = [queue for queue in queues if queue.destinations is None]  # PBS's routing queues have no nodes
    queues = [queue for queue in queues if options.shows_hidden or not queue.is_hidden]
    kept = [queue for queue in queues if options.partitions is None or queue.name in options.partitions]
    groups: list[Group] = []
    for queue in kept:
        alike: dict[tuple[object, ...], list[NodeRow]] = {}
        for node in filter(queue.reaches, chosen):
            alike.setdefault(_likeness(node, keys, options), []).append(node)
        lines = [Group(queue, tuple(same), tz, options.time_format) for same in alike.values()]
        if not lines and not options.by_node and not options.reasons:
            lines = [Group(queue, (), tz, options.time_format)]
        groups += sorted(lines, key=lambda group: -(group.state.rank if group.state else 0))
    if not keys & _PARTITION_KEYS and not options.by_node:
        groups = _merged(groups)
    if options.by_node:
        groups.sort(key=lambda group: group.nodes[0].name)
    return groups if options.sort is None else _sorted(groups, options.sort, [queue.name for queue in kept])


def _least(value: Callable[[NodeRow], int]) -> Callable[[Group], float]:
    return lambda group: min((value(node) for node in group.nodes), default=0)


_NUMERIC: dict[str, Callable[[Group], float]] = {
    "A": lambda group: group.count()[0],
    "c": _least(lambda node: node.cpus),
    "D": lambda group: len(group.nodes),
    "e": _least(lambda node: node.mem_bytes - node.mem_used_bytes),
    "F": lambda group: group.count()[0],
    "l": lambda group: float("inf") if group.queue.max_walltime_s is None else group.queue.max_walltime_s,
    "m": _least(lambda node: node.mem_bytes),
    "s": lambda group: group.queue.max_nodes or float("inf"),
    "t": lambda group: group.state.rank if group.state else 0,
    "T": lambda group: group.state.rank if group.state else 0,
    "Y": _least(lambda node: node.cpus),
}


def _sorted(groups: Sequence[Group], sort: str, partitions: Sequence[str]) -> list[Group]:
    """By the letters of `sort`, the first the most important; a `-` before one turns it around, a `#` before P takes
    the order of the partitions. What is no letter is passed over, as in Slurm.
    """
    found = list(groups)
    for before, letter in reversed(list(zip(f" {sort}", sort, strict=False))):
        if letter in "PR" and before == "#":
            found.sort(key=lambda group: partitions.index(group.queue.name))
        elif letter in _NUMERIC:
            found.sort(key=_NUMERIC[letter], reverse=before == "-")
        elif letter in LETTERS and len(letter) == 1:
            found.sort(key=partial(_shown_text, letter), reverse=before == "-")
    return found


def _shown_text(letter: str, group: Group) -> str:
    return group.queue.name if letter in "PR" else _value(group, letter)


_PARTITION_KEYS = frozenset("aBghIlLMpPrRsS")


def _merged(groups: Sequence[Group]) -> list[Group]:
    """Without a field of the partition in the format, a node is listed once, however many partitions reach it."""
    seen: dict[tuple[NodeRow, ...], Group] = {}
    for group in groups:
        if group.nodes:
            seen.setdefault(group.nodes, group)
    return list(seen.values())


def _is_selected(node: NodeRow, options: SinfoOptions) -> bool:
    if options.nodes is not None and node.name not in options.nodes:
        return False
    if options.responding is not None and node.ready is not options.responding:
        return False
    if options.states is None:
        return True
    state = node_state(node)
    return (all if options.every_state else any)(ASKED[name](state) for name in options.states)


def _likeness(node: NodeRow, keys: set[str], options: SinfoOptions) -> tuple[object, ...]:
    """Nodes for which this is equal share a line."""
    if options.by_node or keys & _PER_HOST:
        return (node.name,)
    likeness: list[object] = []
    if keys & _PER_STATE:
        likeness.append(node_state(node).compact)
    if keys & _PER_REASON:
        likeness += [node.comment, node.comment_by, node.comment_time]
    if keys & _PER_FEATURE:
        likeness.append(features(node, ACTIVE, AVAILABLE))
        likeness.append(features(node, ACTIVE))
    if keys & _PER_GRES:
        likeness.append(node.gres)
    if options.exact and keys & _PER_SIZE:
        likeness += [node.cpus, node.mem_bytes]
    return tuple(likeness)
