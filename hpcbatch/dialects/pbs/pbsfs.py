"""pbsfs: the tree of fair shares. Source of options and lines: pbsfs(8B) of OpenPBS.

PBS's groups are the accounts here; a user in several accounts is an entity in each, named `user` and, where that is not
one alone, `account/user`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from getopt import GetoptError, getopt

from hpcbatch.dialects.pbs.errors import PbsError
from hpcbatch.typed import NamedTuple

LETTERS = "sgptdceI:"
_UNITS = "ncpus*walltime"
USAGES = {
    "p": (0, "Usage: pbsfs -[ptdgcs] [-I sched_name]"),
    "t": (0, "Usage: pbsfs -[ptdgcs] [-I sched_name]"),
    "g": (1, "Usage: pbsfs [-I sched_name] -g <fairshare_entity>"),
    "s": (2, "Usage: pbsfs [-I sched_name] -s <fairshare_entity> <usage>"),
    "c": (2, "Usage: pbsfs [-I sched_name] -c <entity1> <entity2>"),
    "d": (0, "Usage: pbsfs -[ptdgcs] [-I sched_name]"),
    "e": (0, "Usage: pbsfs -[ptdgcs] [-I sched_name]"),
}
_COMPUTED = "hpcbatch: usage is computed from the records of jobs at each call: there is nothing to set, decay or trim"


class PbsfsOptions(NamedTuple):
    mode: str = "p"
    entities: tuple[str, ...] = ()


class Entity(NamedTuple):
    """A group or a user in the tree."""

    name: str
    number: int
    """cresgroup; 0 of the root."""
    parent: int
    """resgroup; -1 of the root."""
    shares: int
    """-1 of the root."""
    percentage: float
    """Of the whole tree, from 0 to 1."""
    usage: float
    tree_usage: float
    depth: int

    @property
    def ratio(self) -> float:
        return self.usage / self.percentage if self.percentage else -1.0


def read_options(argv: Sequence[str]) -> PbsfsOptions:
    """Raises PbsError with the usage, and for what would change something."""
    try:
        given, operands = getopt(list(argv), LETTERS)
    except GetoptError:
        raise PbsError(USAGES["p"][1], 1) from None
    mode = next((name[1:] for name, _ in reversed(given) if name != "-I"), "p")
    scheduler = dict(given).get("-I", "default")
    count, usage = USAGES[mode]
    if len(operands) != count:
        raise PbsError(usage, 1)
    if scheduler != "default":
        raise PbsError(f"Scheduler {scheduler} does not exist", 1)
    if mode in {"s", "d", "e"}:
        raise PbsError(_COMPUTED, 1)
    return PbsfsOptions(mode, tuple(operands))


def format_tree(entities: Sequence[Entity], options: PbsfsOptions) -> Iterator[str]:
    """The lines; `entities` are each before those below it. Raises PbsError for a name that there is not."""
    if options.mode == "p":
        yield f"Fairshare usage units are in: {_UNITS}\n"
        for one in entities:
            yield (
                f"{one.name:<10}: Grp: {one.parent:<5d}  cgrp: {one.number:<5d}"
                f"Shares: {one.shares:<6d} Usage: {one.usage:<6.0f} Perc: {one.percentage * 100:6.3f}%\n"
            )
    elif options.mode == "t":
        for one in entities:
            yield f"{'':>{max(1, 5 * one.depth)}}{one.name}({one.number})\n"
    elif options.mode == "g":
        yield from _entity(_path(entities, options.entities[0]))
    else:
        first, second = (_path(entities, name) for name in options.entities)
        yield f"{_better(first, second)}\n"


def _path(entities: Sequence[Entity], name: str) -> list[Entity]:
    """From the root to the entity."""
    one = next((each for each in entities if each.name == name), None)
    if one is None:
        raise PbsError(f"Fairshare Entity {name} does not exist.", 1)
    numbers = {each.number: each for each in entities}
    found = [one]
    while found[0].parent in numbers:
        found.insert(0, numbers[found[0].parent])
    return found


def _entity(path: Sequence[Entity]) -> Iterator[str]:
    one = path[-1]
    yield f"fairshare entity: {one.name}\n"
    yield f"Resgroup\t\t: {one.parent}\n"
    yield f"cresgroup\t\t: {one.number}\n"
    yield f"Shares\t\t\t: {one.shares}\n"
    yield f"Percentage\t\t: {one.percentage * 100:f}%\n"
    yield f"fairshare_tree_usage\t: {one.tree_usage:f}\n"
    yield f"usage\t\t\t: {one.usage:.0f} ({_UNITS})\n"
    yield f"usage/perc\t\t: {one.ratio:.0f}\n"
    yield "Path from root: \n"
    for each in path:
        yield f"{each.name:<10}: {each.number:5d} {each.usage:10.0f} / {each.percentage:5.3f} = {each.ratio:.0f}\n"


def _better(one: Sequence[Entity], other: Sequence[Entity]) -> str:
    """Who comes first: where the paths part, who has used less of the share."""
    for mine, theirs in zip(one, other, strict=False):
        if mine.ratio != theirs.ratio:
            return one[-1].name if mine.ratio < theirs.ratio else other[-1].name
    return f"{one[-1].name} == {other[-1].name}"
