"""The formats and patterns of texts and numbers in a CRD's schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from typing import Final


def matches(text: str, pattern: str) -> bool:
    """`$` as Kubernetes reads it: Python's own also matches before a newline that ends the text."""
    return _compiled(pattern).search(text) is not None


def conforms(value: object, name: str) -> bool:
    """Whether a value has this format. One that is not known is no constraint."""
    check = FORMATS.get(name)
    try:
        return check is None or check(value)
    except ValueError:
        return False


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"(?<!\\)\$$", r"\\Z", pattern))


def _is_date_time(value: object) -> bool:
    if not isinstance(value, str):
        return True
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})", value):
        return False
    datetime.fromisoformat(re.sub(r"\.\d+", "", value).upper().replace("Z", "+00:00"))
    return True


def _is_date(value: object) -> bool:
    if isinstance(value, str):
        datetime.strptime(value, "%Y-%m-%d")
    return True


def _is_uuid(value: object) -> bool:
    return not isinstance(value, str) or bool(
        re.fullmatch(r"[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}", value)
    )


def _is_int32(value: object) -> bool:
    return not isinstance(value, int) or isinstance(value, bool) or -(2**31) <= value < 2**31


def _is_int64(value: object) -> bool:
    return not isinstance(value, int) or isinstance(value, bool) or -(2**63) <= value < 2**63


FORMATS: Final[Mapping[str, Callable[[object], bool]]] = {
    "date-time": _is_date_time,
    "date": _is_date,
    "uuid": _is_uuid,
    "int32": _is_int32,
    "int64": _is_int64,
}
"""They may raise ValueError for one that does not have it."""
