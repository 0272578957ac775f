"""Tokens and the place among them: what the parsers of -w and of select[] share."""

from __future__ import annotations

from collections.abc import Iterable


class Tokens:
    """Each token with its kind; those of kind "op" are operators and brackets."""

    def __init__(self, tokens: Iterable[tuple[str, str]]) -> None:
        self._tokens = list(tokens)
        self._at = 0

    @property
    def _is_over(self) -> bool:
        return self._at >= len(self._tokens)

    def _next(self) -> tuple[str, str]:
        """The one at this place; at the end one of nothing."""
        return ("", "") if self._is_over else self._tokens[self._at]

    def _is(self, op: str) -> bool:
        """Whether it is this operator, which is then passed."""
        if self._next() == ("op", op):
            self._at += 1
            return True
        return False
