"""Slurm's host lists: `n[1-3,7],m01` to names and back. The order is kept, as `scontrol show hostlist` keeps it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from math import prod

from hpcbatch.dialects.slurm.errors import SlurmUsageError

MAX_HOSTS = 64 * 1024
"""MAX_RANGE of hostlist.c: more than that in one range is refused there too."""

_NUMBERED = r"(.*?)([0-9]{1,18})"
_RANGE = r"([0-9]{1,18})(?:-([0-9]{1,18}))?"
_BRACKETS = r"\[([^\[\]]*)\]"


def compress(hosts: Sequence[str]) -> str:
    """Write names as a host list. Neighbours with the same prefix share brackets; widths are kept: `n[09-11]`."""
    groups: list[tuple[str, list[list[str]]]] = []
    plain: list[str | None] = []
    for host in hosts:
        match = re.fullmatch(_NUMBERED, host)
        prefix, number = (match[1], match[2]) if match else (host, None)
        if number is not None and groups and plain[-1] is None and groups[-1][0] == prefix:
            ranges = groups[-1][1]
            if _follows(ranges[-1][-1], number):
                ranges[-1] = [ranges[-1][0], number]
            else:
                ranges.append([number])
            continue
        groups.append((prefix, [] if number is None else [[number]]))
        plain.append(host if number is None else None)
    parts = []
    for (prefix, ranges), name in zip(groups, plain, strict=True):
        text = ",".join("-".join(run) for run in ranges)
        single = len(ranges) == 1 and len(ranges[0]) == 1
        parts.append(name if name is not None else f"{prefix}{text}" if single else f"{prefix}[{text}]")
    return ",".join(parts)


def _follows(low: str, high: str) -> bool:
    """Whether `high` is the next number and written with the same width: 9 and 10 are, 9 and 010 are not."""
    return int(high) == int(low) + 1 and str(int(low) + 1).zfill(len(low)) == high


def compress_sorted(hosts: Sequence[str]) -> str:
    """`scontrol show hostlistsorted`: in order of name and number."""
    return compress(sorted(hosts, key=_order))


def _order(host: str) -> tuple[str, int, str]:
    match = re.fullmatch(_NUMBERED, host)
    return (match[1], int(match[2]), host) if match else (host, -1, host)


def expand(text: str) -> list[str]:
    """The names of a host list, in order. Raises SlurmUsageError for one that is none, or for too many hosts."""
    hosts: list[str] = []
    for part in _split(text):
        pieces = re.split(_BRACKETS, part)
        if any(c in piece for piece in pieces[::2] for c in "[]"):
            raise _invalid(text)
        choices = [[piece] if i % 2 == 0 else _numbers(piece, text) for i, piece in enumerate(pieces)]
        if len(hosts) + prod(len(choice) for choice in choices) > MAX_HOSTS:
            raise _invalid(text, f"Too many hosts in `{text}'")
        # the last brackets run fastest, of those before them the first. Source: recorded from scontrol show hostnames
        before = ("".join(reversed(names)) for names in product(*reversed(choices[:-2])))
        hosts += ["".join((names, *last)) for names in before for last in product(*choices[-2:])]
    return hosts


def _split(text: str) -> list[str]:
    """Split at the commas and blanks outside of brackets; empty parts fall away."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "[") - (c == "]")
        if depth <= 0 and c in ", \t\n":
            parts.append(text[start:i])
            start = i + 1
    return [part for part in (*parts, text[start:]) if part]


def _numbers(ranges: str, text: str) -> list[str]:
    names: list[str] = []
    for part in ranges.split(","):
        match = re.fullmatch(_RANGE, part)
        low, high = (match[1], match[2] or match[1]) if match else ("1", "0")
        if int(high) < int(low):
            raise _invalid(text, f"_parse_single_range: Invalid range: `{part}'")
        if int(high) - int(low) >= MAX_HOSTS or len(names) >= MAX_HOSTS:
            raise _invalid(text, f"_parse_single_range: Too many hosts in range `{part}'")
        names += [str(number).zfill(len(low)) for number in range(int(low), int(high) + 1)]
    return names


def _invalid(text: str, detail: str = "") -> SlurmUsageError:
    first = f"scontrol: error: {detail}\n" if detail else ""
    return SlurmUsageError(f"{first}Invalid hostlist: {text}")
