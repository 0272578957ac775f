"""Values of sbatch's options: times, memory, counts, export lists. What is none of them is a ValueError."""

from __future__ import annotations

import re

from hpcbatch.model.text import HIDDEN

_TIME = r"([0-9]+)(?::([0-9]+))?(?::([0-9]+))?"
_DAYS = r"([0-9]+)-(?:([0-9]+)(?::([0-9]+))?(?::([0-9]+))?)?"
_MEMORY = r"\+?([0-9]+)(?:([kmgt])(?:i?b)?)?"
_NODES = r"\s*([+-]?[0-9]+)([km]?)\s*"
_POSITIVE = r"\s*\+?([0-9]+)"
_INTEGER = r"\s*[+-]?[0-9]+\s*"

MAX_MINUTES = 2**31
_INT64 = 2**63 - 1
MAX_COUNT = 2**31 - 1
MAX_NICE = 2147483645
MAX_PRIORITY = 2**32 - 3


def parse_time_s(text: str) -> int | None:
    """Read a time limit, `M`, `M:S`, `H:M:S`, `D-H`, `D-H:M`, `D-H:M:S`, as seconds rounded up to whole minutes.
    0, -1, INFINITE and UNLIMITED are None: no limit. Raises ValueError if it is anything else.
    """
    if (exact := parse_wait_s(text)) is None:
        return None
    total = -(-exact // 60)
    if total > MAX_MINUTES:
        raise ValueError(text)
    return total * 60 or None


def parse_wait_s(text: str) -> int | None:
    """Read a time in the same forms, as exact seconds. -1, INFINITE and UNLIMITED are None. Raises ValueError if it is
    anything else.
    """
    if text == "-1" or text.lower() in {"infinite", "unlimited"}:
        return None
    if match := re.fullmatch(_DAYS, text):
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    elif match := re.fullmatch(_TIME, text):
        parts = [int(part) for part in match.groups() if part is not None]
        days = 0
        hours, minutes, seconds = {1: [0, *parts, 0], 2: [0, *parts], 3: parts}[len(parts)]
    else:
        raise ValueError(text)
    return (days * 24 + hours) * 3600 + minutes * 60 + seconds


def parse_memory_mb(text: str) -> int:
    """Read a size as MiB: an integer with K, M, G or T, default M; K is rounded up. No fractions.
    Newer releases also take the `iB` that this one accepts. Raises ValueError if it is anything else.
    """
    match = re.fullmatch(_MEMORY, text, re.IGNORECASE)
    if match is None:
        raise ValueError(text)
    number, unit = int(match[1]), (match[2] or "m").lower()
    size = -(-number // 1024) if unit == "k" else number * {"m": 1, "g": 1024, "t": 1024**2}[unit]
    if size > 2**40:
        raise ValueError(text)
    return size


def parse_positive(text: str) -> int:
    """Read a count of at least 1. Raises ValueError if it is none."""
    match = re.fullmatch(_POSITIVE, text, re.ASCII)
    if match is None or not 1 <= int(match[1]) <= MAX_COUNT:
        raise ValueError(text)
    return int(match[1])


def parse_nodes(text: str) -> tuple[int, int]:
    """Read `min`, `min-max` or `-max`, each with an optional k or m (1024, 1024²), as (min, max); a max of 0 is none.
    Raises ValueError with the part that is no node count. max may be less than min: the caller refuses that.
    Source: verify_node_count(), by which a part that is left out is -1.
    """
    low, dash, high = text.partition("-")
    if not dash:
        return (_node_count(low),) * 2
    least, most = (_node_count(part) if part.strip() else -1 for part in (low, high))
    return (1 if least < 0 else least), most


def _node_count(text: str) -> int:
    match = re.fullmatch(_NODES, text, re.IGNORECASE | re.ASCII)
    if match is None:
        raise ValueError(text)
    count = int(match[1]) * {"": 1, "k": 1024, "m": 1024**2}[match[2].lower()]
    if count > MAX_COUNT:
        raise ValueError(text)
    return count


def parse_nice(text: str) -> int:
    """Read a nice value. Raises ValueError for one that is no number, OverflowError for one out of range."""
    if not re.fullmatch(_INTEGER, text, re.ASCII):
        raise ValueError(text)
    nice = int(text)
    if abs(nice) > MAX_NICE:
        raise OverflowError(text)
    return nice


def leading_number(text: str) -> int:
    """The whole number that `text` begins with, 0 if it does with none; beyond 64 bits the greatest or least of these.
    Source: strtoll(3).
    """
    match = re.match(_INTEGER, text, re.ASCII)
    if match is None:
        return 0
    word = match[0].strip()
    digits = word.lstrip("+-").lstrip("0")
    size = int(digits or 0) if len(digits) < 20 else _INT64
    return max(-_INT64 - 1, -size) if word[0] == "-" else min(_INT64, size)


def split_export(text: str) -> list[str]:
    """Split an --export list at its commas; single and double quotes protect them and fall away.
    Raises ValueError for a quote without its partner.
    """
    items: list[str] = []
    item: list[str] = []
    quote = ""
    for c in text:
        if quote:
            if c == quote:
                quote = ""
            else:
                item.append(c)
        elif c in "'\"":
            quote = c
        elif c == ",":
            items.append("".join(item))
            item = []
        else:
            item.append(c)
    if quote:
        raise ValueError(text)
    return [part for part in (*items, "".join(item)) if part]


def names_only(text: str) -> str:
    """An --export list without the values that it gives."""
    items = (item.partition("=") for item in split_export(text))
    return ",".join(f"{name}{equals}{HIDDEN if equals else ''}" for name, equals, _ in items)


MAIL_TYPES = (
    "NONE",
    "INVALID_DEPEND",
    "ARRAY_TASKS",
    "BEGIN",
    "END",
    "FAIL",
    "REQUEUE",
    "STAGE_OUT",
    "TIME_LIMIT",
    "TIME_LIMIT_90",
    "TIME_LIMIT_80",
    "TIME_LIMIT_50",
)
_MAIL_ALL = ("INVALID_DEPEND", "BEGIN", "END", "FAIL", "REQUEUE", "STAGE_OUT")


def parse_mail_types(text: str) -> tuple[str, ...]:
    """Read --mail-type as the names that `scontrol show job` prints, in its order; NONE takes all others away.
    Names that Slurm does not know are passed over, as it does, unless none is left: ValueError.
    """
    asked = [name.strip().upper() for name in text.split(",")]
    if "NONE" in asked:
        return ()
    names = {n for name in asked for n in (_MAIL_ALL if name == "ALL" else (name,))} & set(MAIL_TYPES)
    if not names:
        raise ValueError(text)
    return tuple(name for name in MAIL_TYPES if name in names)
