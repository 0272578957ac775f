"""Memory limits of containers where control groups cannot be had: what their processes hold is looked at once a second.

As in Kubernetes with control groups, a container that holds more than its limit is killed. Processes that have left
the session of the main one go first, with a word to it in a file: that is what a batch job runs, and its runner lives
to tell.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_PERIOD_S: Final = 1.0
_SHARE: Final = 50
"""A walk that takes longer than one such part of the period makes it longer: it costs at most 2 % of a CPU."""
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    session: int
    started: int
    held_bytes: int


class Sampler:
    """When to look, and the processes of the last look."""

    def __init__(self) -> None:
        self.next_look = time.monotonic()
        self._children: dict[int, list[Process]] = {}

    def is_due(self) -> bool:
        return time.monotonic() >= self.next_look

    def look(self) -> None:
        began = time.monotonic()
        self._children = {}
        for process in _processes():
            self._children.setdefault(process.parent, []).append(process)
        ended = time.monotonic()
        self.next_look = ended + max(_PERIOD_S, _SHARE * (ended - began))

    def below(self, init: int) -> list[Process]:
        """All processes of the container with this init."""
        found: list[Process] = []
        parents = [init]
        while parents:
            children = self._children.get(parents.pop(), [])
            found += children
            parents += [child.pid for child in children]
        return found

    def outside_main_session(self, init: int) -> list[Process]:
        """Those that are not in the session of the init's first child, the main process."""
        main = min(self._children.get(init, []), key=lambda one: one.started, default=None)
        return [] if main is None else [one for one in self.below(init) if one.session != main.pid]


def held_bytes(processes: list[Process], limit: int) -> int:
    """What they hold together. Pages that several of them share are counted once where it matters: at the limit."""
    held = sum(process.held_bytes for process in processes)
    return held if held <= limit else sum(_share_of(process) for process in processes)


def _share_of(process: Process) -> int:
    """Its memory, of pages shared with others its part: what resident memory is to all when all are added up."""
    with contextlib.suppress(OSError), open(f"/proc/{process.pid}/smaps_rollup") as file:
        for line in file:
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return process.held_bytes


def _processes() -> Iterator[Process]:
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat") as file:
                # the name of the command, in parentheses, may hold anything
                fields = file.read().rpartition(")")[2].split()
                held = int(fields[21]) * _PAGE
                yield Process(int(name), int(fields[1]), int(fields[3]), int(fields[19]), held)
