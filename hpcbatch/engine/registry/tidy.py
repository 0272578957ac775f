"""A quick answer to whether a value needs neither pruning nor defaults by a CRD's schema: one walk, and no copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

FREE: Final = "x-kubernetes-preserve-unknown-fields"

Tidy = Callable[[Any], bool]
_SCALARS: Final = frozenset({str, int, bool})


def tidy(schema: Mapping[str, Any]) -> Tidy:
    """For a structural schema. No is only "not surely": nulls and floats are left to those who look closely."""
    properties = schema.get("properties") or {}
    parts = {name: tidy(part) for name, part in properties.items()}
    defaulted = frozenset(name for name, part in properties.items() if "default" in part)
    other = schema.get("additionalProperties")
    is_whole = schema.get("x-kubernetes-embedded-resource") and not properties
    is_open = bool(other is True or schema.get(FREE) or is_whole)
    rest = tidy(other) if isinstance(other, Mapping) else None
    items = tidy(schema["items"]) if isinstance(schema.get("items"), Mapping) else None

    def test(value: Any) -> bool:
        kind = type(value)
        if kind in _SCALARS:
            return True
        if kind is dict:
            if not defaulted <= value.keys():
                return False
            for name, one in value.items():
                part = parts.get(name, rest)
                if part is None:
                    if not is_open:
                        return False
                elif type(one) not in _SCALARS and not part(one):
                    return False
            return True
        return kind is list and (items is None or all(map(items, value)))

    return test
