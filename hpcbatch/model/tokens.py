"""The tokens of an expression with their columns, and the place among them: what readers of expressions share."""

from __future__ import annotations

import re

from hpcbatch.errors import HpcBatchError
from hpcbatch.typed import ClassVar


class Tokens:
    """Columns count from 1. Raises HpcBatchError, with the column, for what is no token or too long."""

    place: ClassVar[str] = ""
    """Stands before the column in what is said of an error."""

    def __init__(self, text: str, token: re.Pattern[str], *, most: int, unknown: str) -> None:
        """`token` matches one token; `unknown` is said of a word that begins with none."""
        self._text, self._at = text, 0
        self._tokens: list[tuple[str, int]] = []
        at = 0
        while rest := text[at:].lstrip():
            at = len(text) - len(rest)
            match = token.match(text, at)
            if match is None:
                raise self._wrong(at + 1, f"{rest.split(maxsplit=1)[0][:20]!r} {unknown}")
            self._tokens.append((match[0], at + 1))
            at = match.end()
            if len(self._tokens) > most:
                raise self._wrong(at, "too long")

    @property
    def _is_over(self) -> bool:
        return self._at >= len(self._tokens)

    @property
    def _column(self) -> int:
        """Of the token at this place; at the end the one behind the text."""
        return len(self._text) + 1 if self._is_over else self._tokens[self._at][1]

    def _next(self) -> str:
        """The token at this place; "" at the end."""
        return "" if self._is_over else self._tokens[self._at][0]

    def _take(self, *wanted: str) -> str:
        """The token at this place, which is then passed, if it is one of those; else ""."""
        token = self._next()
        if token and token in wanted:
            self._at += 1
            return token
        return ""

    def _wrong(self, column: int, why: str) -> HpcBatchError:
        return HpcBatchError(f"{self.place}column {column}: {why}")
