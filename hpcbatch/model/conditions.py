"""Conditions that go together, as text: `a,(b?c)`. `,` is and, `?` is or; within one pair of parentheses it is one of
the two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from hpcbatch.typed import Final, NamedTuple

MAX_DEPTH: Final = 60
"""Parentheses within each other."""
_TOKEN: Final = re.compile(r"[,?()]|[^,?()]+")


class Group(NamedTuple):
    """Conditions and groups of them. Of all of them each counts, or with `is_any` one is enough."""

    parts: tuple[str | Group, ...]
    is_any: bool = False

    @property
    def leaves(self) -> Iterator[str]:
        """The conditions, in order."""
        for part in self.parts:
            if isinstance(part, Group):
                yield from part.leaves
            else:
                yield part


def written(group: Group, shown: Callable[[str], str] = str, *, all_word: str = ",", any_word: str = "?") -> str:
    """The text of a group; with other words for and and or, and other texts for the conditions, that of another
    system.
    """
    texts = []
    for part in group.parts:
        if isinstance(part, Group):
            inner = written(part, shown, all_word=all_word, any_word=any_word)
            texts.append(f"({inner})" if len(part.parts) > 1 else inner)
        else:
            texts.append(shown(part))
    return (any_word if group.is_any else all_word).join(texts)


def parse_group(text: str) -> Group:
    """The inverse of `written`; no text is a group of nothing. Raises ValueError."""
    tokens = _TOKEN.findall(text)
    if not tokens:
        return Group(())
    group, end = _group(text, tokens, 0, 0)
    if end != len(tokens):
        raise ValueError(text)
    return group


def _group(text: str, tokens: list[str], at: int, depth: int) -> tuple[Group, int]:
    """The group from this token on, and the token behind it."""
    if depth > MAX_DEPTH:
        raise ValueError(text)
    parts: list[str | Group] = []
    words = set()
    while True:
        first = tokens[at] if at < len(tokens) else ""
        if first == "(":
            part, at = _group(text, tokens, at + 1, depth + 1)
            if tokens[at : at + 1] != [")"]:
                raise ValueError(text)
            parts.append(part)
        elif first in {"", ",", "?", ")"}:
            raise ValueError(text)
        else:
            parts.append(first)
        at += 1
        if tokens[at : at + 1] not in ([","], ["?"]):
            break
        words.add(tokens[at])
        at += 1
    if len(words) > 1:
        raise ValueError(text)
    return Group(tuple(parts), "?" in words), at
