"""sinfo: partitions and nodes with their states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, tzinfo
from functools import partial
from itertools import chain

from hpcbatch.dataclass import dataclass, replace
from hpcbatch.dialects.slurm.clock import ctime, short, stamp
from hpcbatch.dialects.slurm.columns import ALL, Column, line, parse_format, parse_names
from hpcbatch.dialects.slurm.errors import SLURM_VERSION, VERSION_TEXT, SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.getopt import Option, Parser, Takes
from hpcbatch.dialects.slurm.help import SINFO_HELP, SINFO_USAGE
from hpcbatch.dialects.slurm.hostlist import compress_sorted, expand
from hpcbatch.dialects.slurm.memory import MIB
from hpcbatch.dialects.slurm.node_states import ASKED, NodeState, availability, features, node_state
from hpcbatch.dialects.slurm.preemption import preempt_mode
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


@dataclass(frozen=True, slots=True)
class _Group:
    """One line: some nodes of a partition that are alike."""

    queue: QueueRow
    nodes: tuple[NodeRow, ...]
    tz: tzinfo
    time_format: str

    @property
    def state(self) -> NodeState | None:
        return node_state(self.nodes[0]) if self.nodes else None

    def common(self, value: Callable[[NodeRow], int]) -> str:
        """The least value, with a `+` where nodes have more."""
        found = {value(node) for node in self.nodes}
        return f"{min(found, default=0)}{'+' if len(found) > 1 else ''}"

    def count(self) -> tuple[int, int, int, int]:
        """Nodes that are allocated, idle, other, and all of them."""
        states = [node_state(node) for node in self.nodes]
        other = sum(state.is_other for state in states)
        idle = sum(state.compact == "idle" for state in states)
        return len(states) - other - idle, idle, other, len(states)

    def cpus(self) -> tuple[int, int, int, int]:
        """CPUs that are allocated, idle, other, and all of them."""
        used = sum(node.cpus_used for node in self.nodes)
        total = sum(node.cpus for node in self.nodes)
        idle = sum(node.cpus - node.cpus_used for node in self.nodes if node.ready and node.schedulable)
        return used, max(0, idle), max(0, total - used - idle), total


def _slashed(counts: Sequence[int]) -> str:
    return "/".join(str(count) for count in counts)


def _sct(group: _Group) -> str:
    return f"1:{group.common(lambda node: node.cpus)}:1"


def _since(group: _Group) -> str:
    shown = group.nodes[0].comment_time if group.nodes else None
    if shown is None and group.nodes and group.state is not None and group.state.is_other:
        shown = group.nodes[0].since
    return stamp(shown, group.tz, group.time_format, none="Unknown")


_Value = Callable[[_Group], str]


def _fixed(text: str) -> _Value:
    return lambda _group: text


def _node_list(group: _Group) -> str:
    return compress_sorted([node.name for node in group.nodes])


def _host_names(group: _Group) -> str:
    return ",".join(node.name for node in group.nodes)


def _limit(group: _Group) -> str:
    return "infinite" if group.queue.max_walltime_s is None else short(group.queue.max_walltime_s)


def _default_time(group: _Group) -> str:
    return "n/a" if group.queue.default_walltime_s is None else short(group.queue.default_walltime_s)


def _job_size(group: _Group) -> str:
    least, most = group.queue.min_nodes or 1, group.queue.max_nodes
    return str(least) if most == least else f"{least}-{'infinite' if most is None else most}"


LETTERS: dict[str, tuple[str, _Value]] = {
    "a": ("AVAIL", lambda g: availability(g.queue)[1]),
    "A": ("NODES(A/I)", lambda g: _slashed(g.count()[:2])),
    "b": ("ACTIVE_FEATURES", lambda g: features(g.nodes[0], ACTIVE) if g.nodes else "(null)"),
    "B": ("MAX_CPUS_PER_NODE", _fixed("UNLIMITED")),
    "c": ("CPUS", lambda g: g.common(lambda node: node.cpus)),
    "C": ("CPUS(A/I/O/T)", lambda g: _slashed(g.cpus())),
    "d": ("TMP_DISK", _fixed("0")),
    "D": ("NODES", lambda g: str(len(g.nodes))),
    "e": ("FREE_MEM", lambda g: g.common(lambda node: max(0, node.mem_bytes - node.mem_used_bytes) // MIB)),
    "E": ("REASON", lambda g: (g.nodes[0].comment if g.nodes else "") or "none"),
    "f": ("AVAIL_FEATURES", lambda g: features(g.nodes[0], ACTIVE, AVAILABLE) if g.nodes else "(null)"),
    "F": ("NODES(A/I/O/T)", lambda g: _slashed(g.count())),
    "g": ("GROUPS", lambda g: "all" if g.queue.allow_groups is None else ",".join(g.queue.allow_groups)),
    "G": ("GRES", _fixed("(null)")),
    "h": ("OVERSUBSCRIBE", _fixed("NO")),
    "H": ("TIMESTAMP", _since),
    "I": ("PRIO_JOB_FACTOR", lambda g: str(g.queue.priority_job_factor)),
    "l": ("TIMELIMIT", _limit),
    "L": ("DEFAULTTIME", _default_time),
    "m": ("MEMORY", lambda g: g.common(lambda node: node.mem_bytes // MIB)),
    "M": ("PREEMPT_MODE", lambda g: preempt_mode(g.queue)),
    "n": ("HOSTNAMES", _host_names),
    "N": ("NODELIST", _node_list),
    "o": ("NODE_ADDR", _host_names),
    "O": ("CPU_LOAD", _fixed("N/A")),
    "p": ("PRIO_TIER", lambda g: str(g.queue.priority_tier)),
    "P": ("PARTITION", lambda g: g.queue.name + "*" * g.queue.is_default),
    "r": ("ROOT", lambda g: "yes" if g.queue.root_only else "no"),
    "R": ("PARTITION", lambda g: g.queue.name),
    "s": ("JOB_SIZE", _job_size),
    "S": ("ALLOCNODES", _fixed("all")),
    "t": ("STATE", lambda g: g.state.compact if g.state else "n/a"),
    "T": ("STATE", lambda g: g.state.long if g.state else "n/a"),
    "u": ("USER", lambda g: (g.nodes[0].comment_by if g.nodes else "") or "Unknown"),
    "U": ("USER", lambda g: (g.nodes[0].comment_by if g.nodes else "") or "Unknown"),
    "v": ("VERSION", _fixed(SLURM_VERSION)),
    "V": ("CLUSTER", _fixed("N/A")),
    "w": ("WEIGHT", _fixed("1")),
    "X": ("SOCKETS", _fixed("1")),
    "Y": ("CORES", lambda g: g.common(lambda node: node.cpus)),
    "z": ("S:C:T", _sct),
    "Z": ("THREADS", _fixed("1")),
    # Fields that only -O has.
    "allocmem": ("ALLOCMEM", lambda g: g.common(lambda node: node.mem_used_bytes // MIB)),
    "comment": ("COMMENT", _fixed("(null)")),
    "extra": ("EXTRA", _fixed("(null)")),
    "gresused": ("GRES_USED", _fixed("(null)")),
    "statecomplete": ("STATECOMPLETE", lambda g: g.state.long if g.state else "n/a"),
}

NAMES = {
    "allocmem": "allocmem",
    "allocnodes": "S",
    "available": "a",
    "cpus": "c",
    "cpusload": "O",
    "cpusstate": "C",
    "cores": "Y",
    "defaulttime": "L",
    "disk": "d",
    "features": "f",
    "features_act": "b",
    "freemem": "e",
    "gres": "G",
    "groups": "g",
    "gresused": "gresused",
    "maxcpuspernode": "B",
    "memory": "m",
    "nodeai": "A",
    "nodeaiot": "F",
    "nodeaddr": "o",
    "nodehost": "n",
    "nodelist": "N",
    "nodes": "D",
    "oversubscribe": "h",
    "partition": "P",
    "partitionname": "R",
    "preemptmode": "M",
    "priorityjobfactor": "I",
    "prioritytier": "p",
    "reason": "E",
    "root": "r",
    "size": "s",
    "sockets": "X",
    "socketcorethread": "z",
    "statecompact": "t",
    "statelong": "T",
    "threads": "Z",
    "time": "l",
    "timestamp": "H",
    "user": "u",
    "userlong": "U",
    "version": "v",
    "weight": "w",
    "cluster": "V",
    "comment": "comment",
    "extra": "extra",
    "statecomplete": "statecomplete",
}
"""-O names of sinfo, and the key of the field in LETTERS."""

_PER_STATE, _PER_HOST = frozenset({*"tTEHu", "statecomplete"}), frozenset("no")
_PER_REASON = frozenset("EHuU")
_PER_FEATURE = frozenset("fb")
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


def _value(group: _Group, key: str) -> str:
    return LETTERS[key][1](group)


def _grown(columns: Sequence[Column], groups: Sequence[_Group]) -> list[Column]:
    return [
        column._replace(width=max([column.width, *(len(_value(group, column.key)) for group in groups)]))
        if column.grow
        else column
        for column in columns
    ]


def _groups(
    nodes: Sequence[NodeRow], queues: Sequence[QueueRow], keys: set[str], options: SinfoOptions, tz: tzinfo
) -> list[_Group]:
    chosen = sorted((node for node in nodes if _is_selected(node, options)), key=lambda node: node.name)
    if options.reasons:
        chosen = [node for node in chosen if node.comment and not (node.ready and node.schedulable)]
    queues = [queue for queue in queues if queue.destinations is None]  # PBS's routing queues have no nodes
    queues = [queue for queue in queues if options.shows_hidden or not queue.is_hidden]
    kept = [queue for queue in queues if options.partitions is None or queue.name in options.partitions]
    groups: list[_Group] = []
    for queue in kept:
        alike: dict[tuple[object, ...], list[NodeRow]] = {}
        for node in filter(queue.reaches, chosen):
            alike.setdefault(_likeness(node, keys, options), []).append(node)
        lines = [_Group(queue, tuple(same), tz, options.time_format) for same in alike.values()]
        if not lines and not options.by_node and not options.reasons:
            lines = [_Group(queue, (), tz, options.time_format)]
        groups += sorted(lines, key=lambda group: -(group.state.rank if group.state else 0))
    if not keys & _PARTITION_KEYS and not options.by_node:
        groups = _merged(groups)
    if options.by_node:
        groups.sort(key=lambda group: group.nodes[0].name)
    return groups if options.sort is None else _sorted(groups, options.sort, [queue.name for queue in kept])


def _least(value: Callable[[NodeRow], int]) -> Callable[[_Group], float]:
    return lambda group: min((value(node) for node in group.nodes), default=0)


_NUMERIC: dict[str, Callable[[_Group], float]] = {
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


def _sorted(groups: Sequence[_Group], sort: str, partitions: Sequence[str]) -> list[_Group]:
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


def _shown_text(letter: str, group: _Group) -> str:
    return group.queue.name if letter in "PR" else _value(group, letter)


_PARTITION_KEYS = frozenset("aBghIlLMpPrRsS")


def _merged(groups: Sequence[_Group]) -> list[_Group]:
    """Without a field of the partition in the format, a node is listed once, however many partitions reach it."""
    seen: dict[tuple[NodeRow, ...], _Group] = {}
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
    if options.exact and keys & _PER_SIZE:
        likeness += [node.cpus, node.mem_bytes]
    return tuple(likeness)
