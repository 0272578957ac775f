"""PBS's job_sort_formula: an arithmetic expression over numbers of a job, read here and by nobody else.

`+ - * / // % **`, parentheses, numbers, names, and the functions abs, ceil, floor, max, min, pow, sqrt. PBS gives the
text to Python; this knows nothing but arithmetic.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.tokens import Tokens
from hpcbatch.typed import Final

_NUMBER = r"[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+"
_TOKEN = re.compile(rf"{_NUMBER}|[A-Za-z_]\w*|\*\*|//|[-+*/%(),]", re.ASCII)
_MOST_TOKENS, _DEEPEST = 1000, 50
_FUNCTIONS: Final[Mapping[str, tuple[int, Callable[..., float]]]] = {
    "abs": (1, abs),
    "ceil": (1, math.ceil),
    "floor": (1, math.floor),
    "sqrt": (1, math.sqrt),
    "pow": (2, math.pow),
    "max": (0, max),
    "min": (0, min),
}
"""With the number of arguments; 0: two or more."""


NAMES: Final = (
    *("ncpus", "mem", "walltime", "nodect", "ngpus", "queue_priority", "job_priority", "eligible_time"),
    *("fairshare_factor", "fairshare_perc", "accrue_type"),
)
"""Of a job."""


def check_formula(formula: str) -> None:
    """Raise HpcBatchError, with the place, for what is no formula over these names."""
    evaluate(formula, dict.fromkeys(NAMES, 1.0))


def evaluate(formula: str, names: Mapping[str, float]) -> float:
    """The value; 0.0 where it divides by zero or is no number, as PBS gives it. Raises HpcBatchError, with the place,
    for what is no formula or a name that there is not.
    """
    reader = _Reader(formula, names)
    try:
        value = float(reader.whole())
    except (ZeroDivisionError, OverflowError, ValueError):
        return 0.0
    return value if math.isfinite(value) else 0.0


class _Reader(Tokens):
    """Reads and computes in one go."""

    place = "formula, "

    def __init__(self, text: str, names: Mapping[str, float]) -> None:
        super().__init__(text, _TOKEN, most=_MOST_TOKENS, unknown="is no part of a formula")
        self._names, self._depth = names, 0

    def whole(self) -> float:
        value = self._sum()
        if not self._is_over:
            raise self._unexpected()
        return value

    def _sum(self) -> float:
        value = self._product()
        while sign := self._take("+", "-"):
            other = self._product()
            value = value + other if sign == "+" else value - other
        return value

    def _product(self) -> float:
        value = self._signed()
        while sign := self._take("*", "//", "/", "%"):
            other = self._signed()
            match sign:
                case "*":
                    value *= other
                case "/":
                    value /= other
                case "//":
                    value //= other
                case _:
                    value %= other
        return value

    def _signed(self) -> float:
        if sign := self._take("+", "-"):
            value = self._deeper(self._signed)
            return -value if sign == "-" else value
        return self._power()

    def _power(self) -> float:
        base = self._atom()
        return math.pow(base, self._deeper(self._signed)) if self._take("**") else base

    def _atom(self) -> float:
        token = self._next()
        if self._take("("):
            value = self._deeper(self._sum)
            if not self._take(")"):
                raise self._unexpected()
            return value
        if token[:1].isdigit() or token[:1] == ".":
            self._at += 1
            return float(token)
        if token in _FUNCTIONS:
            self._at += 1
            return self._call(token)
        if token[:1].isalpha() or token[:1] == "_":
            if token not in self._names:
                known = ", ".join(sorted(self._names))
                raise self._wrong(self._column, f"there is no {token!r}; there are {known}")
            self._at += 1
            return self._names[token]
        raise self._unexpected()

    def _call(self, name: str) -> float:
        if not self._take("("):
            raise self._unexpected()
        values = [self._deeper(self._sum)]
        while self._take(","):
            values.append(self._deeper(self._sum))
        if not self._take(")"):
            raise self._unexpected()
        count, function = _FUNCTIONS[name]
        if len(values) != count if count else len(values) < 2:
            raise self._wrong(self._tokens[self._at - 1][1], f"{name} takes {count or 'two or more'} values")
        return float(function(*values))

    def _deeper(self, read: Callable[[], float]) -> float:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._wrong(self._tokens[self._at - 1][1], "nested too deeply")
        value = read()
        self._depth -= 1
        return value

    def _unexpected(self) -> HpcBatchError:
        token = self._next()
        return self._wrong(
            self._column, f"{token!r} is not expected here" if token else "something is missing at the end"
        )
