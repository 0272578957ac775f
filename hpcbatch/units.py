"""Kubernetes quantities and the clock formats that all dialects share: plain ints in bytes, millicores, seconds."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from functools import lru_cache

from hpcbatch.errors import HpcBatchError
from hpcbatch.typed import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fractions import Fraction

YEARS: Final = range(1970, 5000)
"""Those of a job's times: with a walltime added, in whatever time zone, they can still be shown."""
FIRST_TIME, LAST_TIME = datetime(YEARS[0], 1, 1, tzinfo=UTC), datetime(YEARS[-1] + 1, 1, 1, tzinfo=UTC)
MAX_WALLTIME_S = 2**31 * 60
"""Slurm's longest."""
_QUANTITY = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?\d{1,3})?")
_POWER = {"": (10, 0), "m": (10, -3), "k": (10, 3), "M": (10, 6), "G": (10, 9), "T": (10, 12), "P": (10, 15)} | {
    "E": (10, 18),
    "Ki": (2, 10),
    "Mi": (2, 20),
    "Gi": (2, 30),
    "Ti": (2, 40),
    "Pi": (2, 50),
    "Ei": (2, 60),
}
_LONGEST = 100
"""Characters of a quantity. Of the real ones, which fit into 64 bits, none comes near."""


@lru_cache(maxsize=1024, typed=True)
def parse_quantity(text: str | int | float) -> Fraction:
    """Read a Kubernetes quantity, `500m`, `2`, `1.5Gi`, `1e3`, as an exact number of its base unit.
    Raises HpcBatchError if `text` is anything else. Source: Kubernetes, resource.Quantity.
    """
    return _parsed(str(text))


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Fraction:
    """Cached: thousands of nodes and pods have a few quantities."""
    from fractions import Fraction  # 5 ms that only some commands need

    match = _QUANTITY.fullmatch(text)
    if match is None or match.end() > _LONGEST:
        shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
        raise HpcBatchError(f"{shown!r} is not a quantity: expected a number, with a suffix such as m, k, Mi or Gi")
    number, suffix = match[1], match[2] or ""
    base, power = _POWER[suffix] if suffix in _POWER else (10, int(suffix[1:]))
    return Fraction(number) * Fraction(base) ** power


def cpu_milli(text: str | int | float) -> int:
    """Read a CPU quantity as millicores, rounded up."""
    return _milli(str(text))


def memory_bytes(text: str | int | float) -> int:
    """Read a memory quantity as bytes, rounded up."""
    return _whole(str(text))


@lru_cache(maxsize=4096)
def _milli(text: str) -> int:
    return math.ceil(_parsed(text) * 1000)


@lru_cache(maxsize=4096)
def _whole(text: str) -> int:
    return math.ceil(_parsed(text))


def format_bytes(count: int) -> str:
    """Write bytes as a Kubernetes quantity in the largest binary unit that divides them: 1073741824 is `1Gi`."""
    for suffix in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki"):
        base, power = _POWER[suffix]
        unit = base**power
        if count and count % unit == 0:
            return f"{count // unit}{suffix}"
    return str(count)


def hms(seconds: int) -> str:
    """Write seconds as `HH:MM:SS`, hours growing beyond two digits."""
    return f"{seconds // 3600:02d}:{seconds % 3600 // 60:02d}:{seconds % 60:02d}"


def hm(seconds: int) -> str:
    """Write seconds as `H:MM`, rounded up to whole minutes."""
    minutes = -(-seconds // 60)
    return f"{minutes // 60}:{minutes % 60:02d}"


def rfc3339(when: datetime) -> str:
    """Write an aware time as Kubernetes does: whole seconds, UTC, `2026-11-21T10:17:35Z`."""
    return f"{when.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"


def parse_rfc3339(text: str) -> datetime:
    """Read a Kubernetes time, with or without fractions of a second, as an aware datetime."""
    try:
        return datetime.fromisoformat(text.upper().replace("Z", "+00:00")).astimezone(UTC)
    except (ValueError, OverflowError):
        raise HpcBatchError(f"{text!r} is not a time: expected 2026-11-21T10:17:35Z") from None


def check_time(when: datetime) -> datetime:
    """`when`. Raises HpcBatchError unless it is one that a job can have."""
    if not FIRST_TIME <= when < LAST_TIME:
        raise HpcBatchError(f"{when:%d %b} {when.year} is no time for a job: expected one from 1970 to 4999")
    return when


def counted(number: int, what: str) -> str:
    """`1 node`, `2 nodes`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
