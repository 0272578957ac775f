"""Values of limits as sacctmgr reads and writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hpcbatch.dialects.slurm.clock import full
from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.values import parse_time_s

_ORDER = ("cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages")
"""By the ids of slurmdbd."""
_UNITS = "KMGTPE"
_SIZES = frozenset({"mem", "vmem"})
_NAME = re.compile(r"(?:gres|license|bb|ic|fs)/[\w.:+@-]+", re.ASCII)


def parse_tres(text: str) -> dict[str, int | None]:
    """Read `cpu=4,mem=8G,gres/gpu=2`, sizes in MiB; -1 is None: no limit. Raises SlurmUsageError with the real text."""
    found: dict[str, int | None] = {}
    for item in text.strip("\"'").removeprefix(",").split(","):
        name, equals, value = item.partition("=")
        if not equals:
            raise _wrong(f"no TRES id found for {item}")
        name = name.lower()
        if name not in _ORDER and not _NAME.fullmatch(name):
            raise _wrong(f"no TRES known by type {name}")
        match = re.fullmatch(r"(-?[0-9]+)([kmgtpe]?)b?", value.strip().lower(), re.ASCII)
        if match is None:
            raise _wrong("no value given as TRES type/id.")
        amount = int(match[1])
        if match[2] and amount > 0:
            power = _UNITS.index(match[2].upper()) + (0 if name in _SIZES else 1)
            amount = amount * 1024**power // 1024 if name in _SIZES else amount * 1024**power
        found[name] = None if amount < 0 else amount
    return found


def _wrong(why: str) -> SlurmUsageError:
    return SlurmUsageError(f"sacctmgr: error: slurmdb_format_tres_str: {why}")


def parse_count(text: str, word: str) -> int | None:
    """-1, or less, is None. Raises SlurmUsageError with the real text."""
    meat = text.strip("\"'")
    match = re.match(r"\s*([+-]?[0-9]+)", meat, re.ASCII)
    if match is None:
        raise SlurmUsageError(f"sacctmgr: error: Invalid value for {word} ({meat})")
    number = int(match[1])
    return None if number < 0 else min(number, 2**32 - 3)


def parse_minutes(text: str, option: str, name: str) -> int | None:
    """A time limit in whole minutes; -1 is None. Raises SlurmUsageError with the real text."""
    try:
        seconds = parse_time_s(text.strip("\"'"))
    except ValueError:
        raise SlurmUsageError(f" Bad {name} time format: {option}") from None
    return None if seconds is None else seconds // 60


def format_tres(amounts: Mapping[str, int]) -> str:
    """`cpu=4,mem=8G,gres/gpu=2`."""
    names = sorted(amounts, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))
    return ",".join(f"{name}={_size(amounts[name]) if name in _SIZES else amounts[name]}" for name in names)


def _size(mib: int) -> str:
    """In the largest unit that it is a whole number of."""
    unit = 1
    while mib and mib % 1024 == 0 and unit + 1 < len(_UNITS):
        mib, unit = mib // 1024, unit + 1
    return f"{mib}{_UNITS[unit]}"


def format_minutes(minutes: int) -> str:
    return full(minutes * 60)
