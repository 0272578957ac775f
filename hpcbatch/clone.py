"""Copies of JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def clone(value: Any) -> Any:
    """A deep copy of a JSON value; several times as fast as copy.deepcopy."""
    if isinstance(value, (dict, Mapping)):  # `dict` first: an abstract class takes its time
        return {key: clone(item) if isinstance(item, (dict, list)) else item for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clone(item) if isinstance(item, (dict, list)) else item for item in value]
    return value
