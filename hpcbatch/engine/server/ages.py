"""Ages as kubectl shows them: `5s`, `2m1s`, `3h`, `8d`."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Any

from hpcbatch.errors import HpcBatchError
from hpcbatch.units import parse_rfc3339

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_YEAR = 365 * _DAY
_parsed = lru_cache(maxsize=4096)(parse_rfc3339)  # of many objects a second


def age(seconds: int) -> str:
    """Whole seconds as kubectl's duration. Source: HumanDuration in k8s.io/apimachinery/pkg/util/duration."""
    if seconds < 0:
        return "<invalid>"

    def pair(large: int, large_word: str, small: int, small_word: str) -> str:
        rest = seconds % large // small
        return f"{seconds // large}{large_word}" + (f"{rest}{small_word}" if rest else "")

    if seconds < 2 * _MINUTE:
        return f"{seconds}s"
    if seconds < 10 * _MINUTE:
        return pair(_MINUTE, "m", 1, "s")
    if seconds < 3 * _HOUR:
        return f"{seconds // _MINUTE}m"
    if seconds < 8 * _HOUR:
        return pair(_HOUR, "h", _MINUTE, "m")
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR}h"
    if seconds < 8 * _DAY:
        return pair(_DAY, "d", _HOUR, "h")
    if seconds < 2 * _YEAR:
        return f"{seconds // _DAY}d"
    if seconds < 8 * _YEAR:
        return pair(_YEAR, "y", _DAY, "d")
    return f"{seconds // _YEAR}y"


def age_of(timestamp: Any, now: datetime, unknown: str | None = "<unknown>") -> str | None:
    """The age of an RFC 3339 time; `unknown` without one."""
    if not isinstance(timestamp, str) or not timestamp:
        return unknown
    try:
        seconds = (now - _parsed(timestamp)).total_seconds()
    except HpcBatchError:
        return unknown
    # The clock that wrote the time may be a little ahead: kubectl forgives two seconds.
    return age(0 if -2 <= seconds < 0 else int(seconds))
