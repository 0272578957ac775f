"""slurm.conf with the files that it includes. Keys in any case, `\\` at the end of a line, DEFAULT rows, NodeSet.

Source of the grammar: slurm.conf(5); Slurm, src/common/parse_config.c.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator

from hpcbatch.site.importing import names, slurm_keys, slurm_preemption, slurm_priority, slurm_rows
from hpcbatch.site.importing.found import Found, Place, Setting
from hpcbatch.site.importing.values import hosts, split, whole
from hpcbatch.typed import Final, NamedTuple

_PAIR = re.compile(r'\s*([A-Za-z0-9_.]+)[^\S\n]*[-*+/]?=[^\S\n]*(?:"([^"]*)"|(\S*))')
_INCLUDE = re.compile(r"\s*include\s+(\S+)\s*", re.IGNORECASE)
_COMMENT = re.compile(r"(?<!\\)#.*", re.DOTALL)
_DEEPEST = 20

Include = Callable[[str, Place], list[tuple[str, str]]]
"""The names and texts of the files that an Include line means. Raises HpcBatchError if there is none."""
IGNORED_ROWS: Final = frozenset({"downnodes", "frontendname", "switchname", "slurmdbd"})


class _State(NamedTuple):
    nodes: dict[str, Setting]
    partitions: dict[str, Setting]
    node_sets: list[dict[str, Setting]]
    rows: list[dict[str, Setting]]
    """Partitions. They are read when all nodes are known, and the sets of nodes too."""


def read(text: str, file: str, found: Found, include: Include) -> None:
    state = _State({}, {}, [], [])
    _read((file,), text, found, include, state)
    node_sets = {row["nodeset"].value: _node_set(row, found) for row in state.node_sets}
    for row in state.rows:
        slurm_rows.partition(row, found, node_sets)


def _read(files: tuple[str, ...], text: str, found: Found, include: Include, state: _State) -> None:
    """Read the last of `files`, which the one before it includes."""
    file = files[-1]
    for place, line, at in lines(text, file):
        if match := _INCLUDE.fullmatch(line):
            for name, included in include(match[1], place):
                if name in files or len(files) >= _DEEPEST:
                    found.wrong(place, f"Include {match[1]}: files include each other")
                    return
                _read((*files, name), included, found, include, state)
            continue
        row = settings(line, file, at, found, place)
        if row:
            _row(row, found, state)


def lines(text: str, file: str) -> Iterator[tuple[Place, str, Callable[[int], int]]]:
    """Logical lines without comments: the place, the text, and the line in which a character of it stands."""
    starts: list[int] = []
    numbers: list[int] = []
    joined = ""
    for number, physical in enumerate(text.split("\n"), 1):
        starts.append(len(joined))
        numbers.append(number)
        stripped = physical.rstrip()
        if stripped.endswith("\\"):
            joined += stripped[:-1] + " "
            continue
        joined = _COMMENT.sub("", joined + stripped).replace("\\#", "#")
        if joined.strip():
            yield Place(file, numbers[0]), joined, _line_of(starts, numbers)
        starts, numbers, joined = [], [], ""
    if joined.strip():
        yield Place(file, numbers[0]), _COMMENT.sub("", joined), _line_of(starts, numbers)


def _line_of(starts: list[int], numbers: list[int]) -> Callable[[int], int]:
    return lambda at: numbers[max(bisect_right(starts, at) - 1, 0)]


def settings(line: str, file: str, at: Callable[[int], int], found: Found, place: Place) -> dict[str, Setting]:
    """The `Key=Value` pairs of a logical line by their keys in lower case, in their order."""
    row: dict[str, Setting] = {}
    end = 0
    while line[end:].strip():
        match = _PAIR.match(line, end)
        if match is None:
            word = line[end:].split(maxsplit=1)[0]
            found.wrong(place, f"{word[:60]!r} is no setting: expected Key=Value, a comment, or Include FILE")
            return row
        value = match[2] if match[2] is not None else match[3]
        row[match[1].lower()] = Setting(Place(file, at(match.start(1))), match[1], value)
        end = match.end()
    return row


def _row(row: dict[str, Setting], found: Found, state: _State) -> None:
    first = next(iter(row))
    if first == "nodename":
        if _is_default(row[first]):
            state.nodes.update(row)
        else:
            slurm_rows.node({**state.nodes, **row}, found)
    elif first == "partitionname":
        if _is_default(row[first]):
            state.partitions.update(row)
        else:
            state.rows.append({**state.partitions, **row})
    elif first == "nodeset":
        state.node_sets.append(row)
    elif first in IGNORED_ROWS:
        for setting in row.values():
            found.own(setting)
    else:
        for key, setting in row.items():
            site_setting(key, setting, found)


def _is_default(setting: Setting) -> bool:
    return setting.value.lower() == "default"


def _node_set(row: dict[str, Setting], found: Found) -> list[str]:
    members: list[str] = []
    for key, setting in row.items():
        if key == "nodes":
            more = hosts(setting.value)
            if more is None:
                found.wrong(setting.place, f"{setting}: expected a host list such as n[01-20]")
            members += more or []
        elif key == "feature":
            members += [node.name for node in found.nodes.values() if setting.value in node.features]
        elif key != "nodeset":
            found.leave(setting, "this key of node sets is not known here")
            continue
        found.carried(setting)
    return members


def site_setting(key: str, setting: Setting, found: Found) -> None:
    """A setting of the whole cluster."""
    value = setting.value.lower()
    if key in _CARRIED:
        _CARRIED[key](setting, found)
    elif key in slurm_keys.LEFT:
        harmless, why = slurm_keys.LEFT[key]
        if value in harmless:
            found.carried(setting)
        else:
            found.leave(setting, why)
    elif key in slurm_keys.OWN:
        found.own(setting)
    else:
        found.leave(setting, "this key of slurm.conf is not known here")


def cluster_name(setting: Setting, found: Found) -> None:
    name = setting.value.lower().replace("_", "-")
    if names.is_node(name):
        found.value("server_name", name, setting)
        if name != setting.value:
            found.leave(setting, f"serverName is a host name in lower case: {name}")
    else:
        found.leave(setting, "serverName is a host name in lower case")


def _array_size(setting: Setting, found: Found) -> None:
    size = whole(setting.value)
    if size is None:
        found.wrong(setting.place, f"{setting}: expected a whole number")
    elif not 1 < size <= 10**6:
        found.leave(setting, "maxArraySize is from 1 to 1000000")
    else:
        found.value("max_array_size", size - 1, setting)  # MaxArraySize is one more than the highest index


def _kill_wait(setting: Setting, found: Found) -> None:
    seconds = whole(setting.value)
    if seconds is None or seconds > 10**6:
        found.wrong(setting.place, f"{setting}: expected seconds")
    else:
        found.value("kill_delay_s", seconds, setting)


def licenses(setting: Setting, found: Found) -> None:
    """`matlab:10,fluent*5,intel@server:3`"""
    found.carried(setting)
    for part in split(setting.value.replace(";", ",")):
        name, _, count = part.replace("*", ":").rpartition(":")
        if not name:
            name, count = part, "1"
        amount = whole(count)
        if amount is None or not 0 <= amount <= 10**6:
            found.wrong(setting.place, f"{setting}: expected licences such as matlab:10")
        elif not names.is_license(name):
            found.leave(setting, f"{name!r} cannot be the name of a licence")
        else:
            found.licenses.setdefault(name, amount)


def _gres_types(setting: Setting, found: Found) -> None:
    found.carried(setting)
    for name in split(setting.value):
        found.gres.setdefault(name, setting)


_CARRIED: Final = {
    "clustername": cluster_name,
    "maxarraysize": _array_size,
    "killwait": _kill_wait,
    "licenses": licenses,
    "grestypes": _gres_types,
    "defmempernode": slurm_rows.everywhere,
    "maxmempernode": slurm_rows.everywhere,
    **slurm_priority.READERS,
    **slurm_preemption.READERS,
}
