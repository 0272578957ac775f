"""pbsnodes: its command line, and nodes as text, JSON, delimiter-separated values and in short."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo

from hpcbatch.dataclass import dataclass
from hpcbatch.dialects.pbs import options, usage
from hpcbatch.dialects.pbs.cjson import Json, dump, parsed
from hpcbatch.dialects.pbs.custom_resources import node_amounts
from hpcbatch.dialects.pbs.errors import PBS_VERSION, PBSE_INTERNAL, PBSE_PERM, PbsError, PbsUsageError
from hpcbatch.dialects.pbs.qstat_options import Format
from hpcbatch.dialects.pbs.states import ctime
from hpcbatch.model.custom_resource import CustomResource
from hpcbatch.model.row import NodeRow

_SHORT_HEADER = """\
vnode           state           OS       hardware host            queue        mem     ncpus   nmics   ngpus  comment
--------------- --------------- -------- -------- --------------- ---------- -------- ------- ------- ------- ---------
"""
_JOBS_HEADER = """\
                                                        mem       ncpus   nmics   ngpus
vnode           state           njobs   run   susp      f/t        f/t     f/t     f/t   jobs
--------------- --------------- ------ ----- ------ ------------ ------- ------- ------- -------
"""


_GPUS = "ngpus"
_MOST_COMMENT = 79
"""Source: marknode() of pbsnodes.c."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PbsnodesOptions:
    """What to show: `names`, or all nodes; `marked` (-l) only those that are down or offline."""

    names: tuple[str, ...] = ()
    all: bool = False
    marked: bool = False
    summary: bool = False
    """-S: a line for each node."""
    jobs: bool = False
    """-j, with -S: its jobs and what is free."""
    long: bool = False
    """-L, with -S: nothing is cut."""
    quiet: bool = False
    """-q: no messages."""
    server: str = ""
    """-s."""
    format: Format = Format.DEFAULT
    delimiter: str = "|"
    offline: bool | None = None
    """-o and -r: the nodes are taken out of use, or back; None: they are shown, or only get a comment."""
    comment: str | None = None
    """-C."""

    @property
    def is_change(self) -> bool:
        return self.offline is not None or self.comment is not None


def parse_pbsnodes(argv: Sequence[str]) -> PbsnodesOptions:
    """Read pbsnodes's command line. PbsUsageError (exit 1) for what it does not understand; PbsError for the options
    that only a kubelet can carry out.
    """
    parsed = options.getopt(options.words(argv), options.PBSNODES)
    letters = {option.name for option in parsed.options}
    values = {option.name: option.value for option in parsed.options}
    names = tuple(word.text for word in parsed.operands)
    form = values.get("F", "default").lower()
    listings = letters & set("aHl")
    is_wrong = (
        bool(parsed.errors)
        or form not in set(Format)
        or len(listings) > 1
        or ("l" in letters and (names or "S" in letters))
        or ("v" in letters and listings - {"a"})
    )
    is_change = bool(letters & set("cCdor"))
    if is_change:
        is_wrong = is_wrong or len(letters & set("cdor")) > 1 or bool(letters & set("aHlSjLDF")) or not names
        is_wrong = is_wrong or bool(letters & set("cd") and "C" in letters)
    if "d" in letters and not is_wrong:
        raise PbsError("Unauthorized Request\nwhether a node is down is for its kubelet to say", PBSE_PERM & 0xFF)
    if is_wrong or not (letters & set("al") or names):
        raise PbsUsageError("\n".join(parsed.errors), usage.PBSNODES, code=1)
    return PbsnodesOptions(
        names=() if "a" in letters else names,
        all="a" in letters,
        marked="l" in letters,
        summary="S" in letters,
        jobs="j" in letters,
        long="L" in letters,
        quiet="q" in letters,
        server=values.get("s", ""),
        format=Format(form),
        delimiter=values.get("D", "|"),
        offline=True if "o" in letters else False if letters & set("cr") else None,
        comment=values["C"][:_MOST_COMMENT] if "C" in values else None,
    )


def unreachable(server: str) -> str:
    """What is said of a server that there is not. Source: pbsnodes.c."""
    return f"Unknown Host.\npbsnodes: cannot connect to server {server}, error={PBSE_INTERNAL}"


def node_state(node: NodeRow) -> str:
    """`free`, `job-busy`, or `down` and `offline`, joined by a comma where both hold; one that fails is offline."""
    is_offline = node.is_drained or "fail" in node.marks
    marks = ["down"] * node.is_down + ["offline"] * is_offline
    if marks:
        return ",".join(marks)
    return "job-busy" if node.cpus and node.cpus_used >= node.cpus else "free"


def format_nodes(
    nodes: Sequence[NodeRow],
    *,
    server: str = "",
    timezone: tzinfo | None = None,
    resources: Sequence[CustomResource] = (),
) -> str:
    """`pbsnodes -a`, or of some nodes by name."""
    blocks = []
    for node in nodes:
        lines = [f"     {name} = {value}\n" for name, value in node_attributes(node, server, timezone, resources)]
        blocks.append(f"{node.name}\n{''.join(lines)}\n")
    return "".join(blocks)


def format_nodes_dsv(
    nodes: Sequence[NodeRow],
    *,
    server: str = "",
    delimiter: str = "|",
    timezone: tzinfo | None = None,
    resources: Sequence[CustomResource] = (),
) -> str:
    """`pbsnodes -F dsv`."""
    lines = []
    for node in nodes:
        values = [f"{name}={value}" for name, value in node_attributes(node, server, timezone, resources)]
        lines.append(delimiter.join([f"Name={node.name}", *values]).replace(", ", ",") + "\n")
    return "".join(lines)


def format_nodes_json(
    nodes: Sequence[NodeRow],
    *,
    now: datetime,
    server: str,
    unknown: Sequence[str] = (),
    summary: bool = False,
    jobs: bool = False,
    resources: Sequence[CustomResource] = (),
) -> str:
    """`pbsnodes -F json`; `unknown` are names that were requested and are no nodes."""
    found: dict[str, Json] = {}
    for node in nodes:
        found[node.name] = (
            _short_json(node, server, resources, jobs=jobs) if summary else _json(node, server, resources)
        )
    found |= {name: {name: "Unknown node "} for name in unknown}
    return dump(_root(now, server) | {"nodes": found}) + "\n"


def format_marked(nodes: Sequence[NodeRow]) -> str:
    """`pbsnodes -l`: the nodes that are down or offline."""
    marked = [node for node in nodes if not (node.ready and node.schedulable)]
    return "".join(f"{node.name:<20} {node_state(node)} {node.comment}\n" for node in marked)


def format_summary(
    nodes: Sequence[NodeRow],
    *,
    jobs: bool = False,
    long: bool = False,
    header: bool = True,
    resources: Sequence[CustomResource] = (),
) -> str:
    """`pbsnodes -aS` and, with `jobs`, `-aSj`; `long` (-L) cuts nothing."""
    lines = [_JOBS_HEADER if jobs else _SHORT_HEADER] if header else []
    for node in nodes:
        gpus, gpus_used = _gpus(node, resources)
        state = node_state(node) if long else node_state(node).partition(",")[0]
        if jobs:
            widths: tuple[int, ...] = (-15, -15, 6, 5, 6, 12, 7, 7, 7)
            count = str(len(node.jobs))
            free = (_free_mem(node), f"{node.cpus - node.cpus_used}/{node.cpus}", "0/0")
            gpus_free = f"{max(0, gpus - gpus_used)}/{gpus}"
            cells: tuple[str, ...] = (node.name, state, count, count, "0", *free, gpus_free)
            last = ",".join(node.jobs) or "--"
        else:
            widths = (-15, -15, -8, -8, -15, -10, 8, 7, 7, 7)
            mem = _scaled(node.mem_bytes >> 10)
            cells = (node.name, state, "--", "--", node.name, "--", mem, str(node.cpus), "0", str(gpus))
            last = node.comment or "--"
        lines.append(" ".join(_fit(c, w, long) for c, w in zip(cells, widths, strict=True)) + f" {last}\n")
    return "".join(lines)


def unknown_node(name: str) -> str:
    """What pbsnodes says on stderr of a name that is no node; its exit code is 1."""
    return f"Node: {name},  Error: Unknown node "


def refusal_of(name: str, text: str = "Unauthorized Request ") -> str:
    """What is said where a node is not changed; the real one does not put its own name before it."""
    return f"Error marking node {name} - {text}"


def node_attributes(
    node: NodeRow, server: str, timezone: tzinfo | None, resources: Sequence[CustomResource] = ()
) -> list[tuple[str, str]]:
    """In PBS's order; without those that have no value. `resources`: the site's, beside PBS's own."""
    amounts = node_amounts(resources, node)
    jobs = ", ".join(f"{job}/{slot}" for slot, job in enumerate(_job_ids(node, server)))
    attributes = [
        ("Mom", node.name),
        ("ntype", "PBS"),
        ("state", node_state(node)),
        ("pcpus", str(node.cpus)),
        ("jobs", jobs),
        *_by_name(
            "resources_available",
            {
                **{name: has for name, (has, _) in amounts.items()},
                "arch": "linux",
                "host": node.name.partition(".")[0],
                "mem": f"{node.mem_bytes >> 10}kb",
                "ncpus": str(node.cpus),
                "vnode": node.name,
            },
        ),
        *_by_name(
            "resources_assigned",
            {
                **{name: used for name, (_, used) in amounts.items()},
                "accelerator_memory": "0kb",
                "hbmem": "0kb",
                "mem": f"{node.mem_used_bytes >> 10}kb",
                "naccelerators": "0",
                "ncpus": str(node.cpus_used),
                "vmem": "0kb",
            },
        ),
        ("comment", node.comment),
        ("resv_enable", "True"),
        ("sharing", "default_shared"),
        ("license", "l"),
        ("last_state_change_time", ctime(node.since, timezone) if node.since is not None else ""),
    ]
    return [(name, value) for name, value in attributes if value]


def _by_name(attribute: str, values: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(f"{attribute}.{name}", values[name]) for name in sorted(values)]


def _gpus(node: NodeRow, resources: Sequence[CustomResource]) -> tuple[int, int]:
    """How many GPUs a node has, and how many jobs hold there: those that jobs ask for as `ngpus`."""
    has, used = node_amounts(resources, node).get(_GPUS, ("0", "0"))
    return (int(has), int(used)) if has.isdecimal() and used.isdecimal() else (0, 0)


def _job_ids(node: NodeRow, server: str) -> list[str]:
    return [f"{job}.{server}" if server and "." not in job else job for job in node.jobs]


def _json(node: NodeRow, server: str, resources: Sequence[CustomResource]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    groups: dict[str, dict[str, Json]] = {}
    for name, value in node_attributes(node, server, None, resources):
        group, dot, inner = name.partition(".")
        if dot:
            found.setdefault(group, groups.setdefault(group, {}))
            if group != "resources_assigned" or not value.startswith("0"):  # only what is in use
                groups[group][inner] = parsed(value)
        elif name == "jobs":
            found[name] = list(dict.fromkeys(_job_ids(node, server)))
        elif name == "last_state_change_time" and node.since is not None:
            found[name] = int(node.since.timestamp())
        else:
            found[name] = parsed(value)
    return found


def _short_json(node: NodeRow, server: str, resources: Sequence[CustomResource], *, jobs: bool) -> dict[str, Json]:
    gpus, gpus_used = _gpus(node, resources)
    state = node_state(node).partition(",")[0]
    if jobs:
        count = len(node.jobs)
        return {
            "State": state,
            "Total Jobs": count,
            "Running Jobs": count,
            "Suspended Jobs": 0,
            "mem f/t": _free_mem(node),
            "ncpus f/t": f"{node.cpus - node.cpus_used}/{node.cpus}",
            "nmics f/t": "0/0",
            "ngpus f/t": f"{max(0, gpus - gpus_used)}/{gpus}",
            "jobs": _job_ids(node, server),
        }
    return {
        "State": state,
        "OS": "--",
        "hardware": "--",
        "host": node.name,
        "queue": "--",
        "Memory": _scaled(node.mem_bytes >> 10),
        "ncpus": node.cpus,
        "nmics": 0,
        "ngpus": gpus,
        "comment": node.comment or "--",
    }


def _root(now: datetime, server: str) -> dict[str, Json]:
    return {"timestamp": int(now.timestamp()), "pbs_version": PBS_VERSION, "pbs_server": server}


def _free_mem(node: NodeRow) -> str:
    return f"{_scaled(max(0, node.mem_bytes - node.mem_used_bytes) >> 10)}/{_scaled(node.mem_bytes >> 10)}"


def _scaled(kilobytes: int) -> str:
    """At most three digits, rounded as pbsnodes does: 24684092 kB is `24gb`."""
    letters = "kmgtp?"
    index = 0
    while kilobytes > 999:
        kilobytes, index = ((kilobytes % 1024) + kilobytes) >> 10, index + 1
    return f"{kilobytes}{letters[min(index, 5)]}b"


def _fit(text: str, width: int, long: bool) -> str:
    """`text` in a column: to the left where `width` is negative, and cut unless `long`."""
    cut = text if long else text[: abs(width)]
    return f"{cut:<{-width}}" if width < 0 else f"{cut:>{width}}"
