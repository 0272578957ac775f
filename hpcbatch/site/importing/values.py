"""Values as Slurm, PBS and Maui write them. Each function returns None for a text that is no such value."""

from __future__ import annotations

import re
from itertools import product
from math import prod

from hpcbatch.typed import Final

MAX_HOSTS: Final = 64 * 1024
"""As Slurm's MAX_RANGE."""
LONGEST_S: Final = 99_999 * 86400
"""A longer time is no limit; site.yaml could not express it."""

_DAYS = re.compile(r"(\d{1,9})-(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?", re.ASCII)
_CLOCK = re.compile(r"(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?(?:\.\d+)?", re.ASCII)
_DAYS_CLOCK = re.compile(r"(\d{1,9}):(\d{1,9}):(\d{1,9}):(\d{1,9})", re.ASCII)
_SIZE = re.compile(r"(\d{1,18})\s*([kmgtp]?)([bw]?)", re.ASCII | re.IGNORECASE)
_POWER = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?", re.ASCII)
_COUNT = re.compile(r"\d{1,18}", re.ASCII)


def slurm_seconds(text: str) -> int | None:
    """`minutes`, `minutes:seconds`, `hours:minutes:seconds`, `days-hours[:minutes[:seconds]]`."""
    if match := _DAYS.fullmatch(text):
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if match := _CLOCK.fullmatch(text):
        parts = [int(part) for part in match.groups() if part is not None]
        return parts[0] * 60 if len(parts) == 1 else _seconds(parts)
    return None


def pbs_seconds(text: str) -> int | None:
    """`[[hours:]minutes:]seconds`; Maui's `days:hours:minutes:seconds` too."""
    if match := _DAYS_CLOCK.fullmatch(text):
        return int(match[1]) * 86400 + _seconds([int(part) for part in match.groups()[1:]])
    if match := _CLOCK.fullmatch(text):
        return _seconds([int(part) for part in match.groups() if part is not None])
    return None


def _seconds(parts: list[int]) -> int:
    total = 0
    for part in parts:
        total = total * 60 + part
    return total


def pbs_bytes(text: str) -> int | None:
    """`4gb`, `500mb`, `1000` (bytes), `2mw` (words of eight bytes)."""
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    return _times_1024(int(match[1]) * (8 if match[3].lower() == "w" else 1), _POWER[match[2].lower()])


def slurm_bytes(text: str) -> int | None:
    """Megabytes, or with a suffix K, M, G, T."""
    match = _SIZE.fullmatch(text)
    if match is None or match[3]:
        return None
    return _times_1024(int(match[1]), _POWER[match[2].lower()] if match[2] else 2)


def _times_1024(number: int, power: int) -> int:
    return number << 10 * power


def whole(text: str) -> int | None:
    return int(text) if _COUNT.fullmatch(text) else None


def hosts(text: str) -> list[str] | None:
    """The names of a host list `n[01-20,30],login1`; None for one that is none or has too many hosts."""
    names: list[str] = []
    for part in split(text):
        pieces = _BRACKETS.split(part)
        if any(c in piece for piece in pieces[::2] for c in "[]"):
            return None
        choices = [[piece] if i % 2 == 0 else _numbers(piece) for i, piece in enumerate(pieces)]
        if len(names) + prod(len(choice) for choice in choices) > MAX_HOSTS or not all(choices):
            return None
        names += ["".join(parts) for parts in product(*choices)]
    return names


def split(text: str) -> list[str]:
    """The parts between commas outside of brackets and parentheses; empty ones fall away."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "[(") - (c in "])")
        if depth <= 0 and c == ",":
            parts.append(text[start:i])
            start = i + 1
    return [part.strip() for part in (*parts, text[start:]) if part.strip()]


def _numbers(ranges: str) -> list[str]:
    names: list[str] = []
    for part in ranges.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None or not 0 <= int(match[2] or match[1]) - int(match[1]) < MAX_HOSTS - len(names):
            return []
        low, high = match[1], match[2] or match[1]
        names += [str(number).zfill(len(low)) for number in range(int(low), int(high) + 1)]
    return names
