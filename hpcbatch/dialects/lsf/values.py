"""The values of bsub's options: times, sizes, numbers of slots, arrays. A ValueError says what was expected."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.array import Array
from hpcbatch.model.indices import MAX_INDEX, Indices
from hpcbatch.typed import Final
from hpcbatch.units import MAX_WALLTIME_S

KIB: Final = 1024
MIB: Final = 1024**2
GIB: Final = 1024**3
_UNIT: Final = {letter: 1024**power for power, letter in enumerate("KMGTPE", 1)}
_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)\s*(?:([KMGTPE])(?:I?B)?|B)?", re.IGNORECASE | re.ASCII)
_LIMIT = re.compile(r"(?:([0-9]{1,9}):)?([0-9]{1,9})(?:/.*)?", re.ASCII)
_ARRAY = re.compile(r"([^\[\]]*)(?:\[([0-9:,\s-]*)\]\s*(?:%\s*([0-9]{1,9}))?)?", re.ASCII)
_SLOTS = re.compile(r"([0-9]{1,9})?\s*(,)?\s*([0-9]{1,9})?", re.ASCII)
SMALLEST: Final = 32 * MIB
"""No program runs in less: a limit of memory below that is meant in the next larger unit."""


def minutes(text: str) -> int:
    """Read `[hours:]minutes[/host]` as seconds; minutes may be more than 59. The host's speed is not looked at."""
    match = _LIMIT.fullmatch(text.strip())
    if match is None:
        raise ValueError("[hours:]minutes")
    seconds = (int(match[1] or 0) * 60 + int(match[2])) * 60
    if not 0 < seconds <= MAX_WALLTIME_S:
        raise ValueError(f"[hours:]minutes, above 0 and at most {MAX_WALLTIME_S // 60} minutes")
    return seconds


def size(text: str, unit: int) -> int:
    """Read a size in bytes; `unit` counts where the text has none."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError("a number with KB, MB, GB or TB")
    number = float(match[1])
    suffix = match[2].upper() if match[2] else ""
    if not suffix and text.strip()[-1:].upper() == "B":
        return round(number)
    return round(number * (_UNIT[suffix] if suffix else unit))


def memory_limit(text: str) -> tuple[int, bool]:
    """-M in bytes, in KB where it has no unit; and whether it was read in MB, since no program runs in so few KB.
    Sites choose the unit (LSF_UNIT_FOR_LIMITS), and of real scripts as many mean MB.
    """
    amount = size(text, KIB)
    if amount < SMALLEST and text.strip()[-1:].isdigit():
        return size(text, MIB), True
    return amount, False


def slots(text: str) -> tuple[int, int]:
    """Least and most number of slots: `4`, `2,8`, `,8`."""
    match = _SLOTS.fullmatch(text.strip())
    if match is None or not (match[1] or match[3]):
        raise ValueError("min[,max]")
    least = int(match[1] or 1)
    most = int(match[3]) if match[3] else least
    if not 1 <= least <= most:
        raise ValueError("min[,max], at least 1, and max not below min")
    return least, most


def name_and_array(text: str) -> tuple[str, Array | None]:
    """Read `name` or `name[1-10:2,15]%5`."""
    match = _ARRAY.fullmatch(text.strip())
    if match is None:
        raise ValueError('name["[start-end:step,…]%limit"]')
    name = match[1].strip()
    if match[2] is None:
        return name, None
    shown = re.sub(r"\s", "", match[2])
    try:
        indices = Indices.parse(shown)
    except HpcBatchError:
        raise ValueError("indices such as 1-10:2,15") from None
    if not indices or indices.first < 1 or indices.last > MAX_INDEX:
        raise ValueError("indices from 1 on")
    limit = int(match[3]) if match[3] else None
    if limit == 0:
        raise ValueError("a limit of at least 1")
    return name, Array(indices=indices, limit=limit, text=f"{shown}%{limit}" if limit else shown)


def moment(text: str, now: datetime) -> datetime:
    """Read `[[[year:]month:]day:]hour:minute`: the next such time from `now` on."""
    parts = text.strip().split(":")
    if not 2 <= len(parts) <= 5 or not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError("[[[year:]month:]day:]hour:minute")
    numbers = [int(part) for part in parts]
    hour, minute = numbers[-2:]
    rest = numbers[:-2]
    try:
        when = now.replace(hour=hour, minute=minute, second=0, microsecond=0, fold=0)
        if len(rest) == 3:
            return when.replace(year=rest[0], month=rest[1], day=rest[2])
        if len(rest) == 2:
            when = when.replace(month=rest[0], day=rest[1])
            return when if when > now else when.replace(year=when.year + 1)
        if len(rest) == 1:
            when = when.replace(day=rest[0])
            if when > now:
                return when
            return when.replace(year=when.year + when.month // 12, month=when.month % 12 + 1)
        return when if when > now else when + timedelta(days=1)
    except (ValueError, OverflowError):
        raise ValueError("[[[year:]month:]day:]hour:minute, a time that there is") from None
