"""Selectors of labels: Kubernetes' label selectors, and the lines of its node selectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hpcbatch.dataclass import dataclass

Object = Mapping[str, Any]
_OF_LABELS = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})


@dataclass(frozen=True, slots=True)
class Expression:
    """One line of a label selector, node selector or matchFields."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt" if len(self.values) == 1:
                (bound,) = self.values
                try:
                    number, limit = int(value or ""), int(bound)
                except ValueError:
                    return False
                return number > limit if self.operator == "Gt" else number < limit
        return False  # an operator or values that the API's validation rejects


Selector = tuple[Expression, ...]
"""All of the lines have to match."""


def expressions(entries: Iterable[Object] | None) -> Selector:
    """The lines of a node selector's matchExpressions or matchFields."""
    return tuple(Expression(e["key"], e["operator"], frozenset(e.get("values") or ())) for e in entries or ())


def label_selector(selector: Object | None) -> Selector | None:
    """None for an absent selector. A line with an operator that only node selectors have matches nothing."""
    if selector is None:
        return None
    exact = [Expression(key, "In", frozenset({text})) for key, text in (selector.get("matchLabels") or {}).items()]
    lines = expressions(selector.get("matchExpressions"))
    known = (line if line.operator in _OF_LABELS else Expression(line.key, "") for line in lines)
    return (*exact, *known)
