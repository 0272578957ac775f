"""--constraint: features joined by &, | and commas, in parentheses and brackets, with numbers of nodes.

Source: build_feature_list() of job_scheduler.c, 22.05, and the manual page.
"""

from __future__ import annotations

import re

from hpcbatch.dialects.slurm.request import Features
from hpcbatch.typed import NamedTuple, TypeAlias

MAX_SETS = 64
_FEATURE = r"[A-Za-z0-9_][A-Za-z0-9_.:=+/-]{0,252}"
_PART = r"\*[0-9]{1,9}|[&|()\[\]]|[^&|()\[\]*]+"

Sets: TypeAlias = tuple[frozenset[str], ...]
"""A node must have all features of one of these."""


class _Found(NamedTuple):
    sets: Sets = (frozenset(),)
    is_same: bool = False
    counted: tuple[tuple[frozenset[str], int], ...] = ()


def parse_constraint(text: str) -> Features:
    """Read what --constraint asks for. Raises ValueError for what Slurm refuses, NotImplementedError for what it takes
    and a job here cannot ask for.
    """
    # A comma counts as &, as to slurmctld; & and | go from left to right.
    tokens = re.findall(_PART, text.replace(",", "&"))
    if "".join(tokens) != text.replace(",", "&"):
        raise ValueError(text)
    reader = _Reader(tokens)
    found = reader.joined(end="")
    common = frozenset.intersection(*found.sets)
    rest = [part - common for part in dict.fromkeys(found.sets)]
    return Features(
        properties=tuple(sorted(common)),
        alternatives=() if len(rest) == 1 else tuple(tuple(sorted(part)) for part in rest),
        is_same=found.is_same and len(rest) > 1,
        counted=tuple((tuple(sorted(names)), count) for names, count in found.counted),
    )


class _Reader:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._brackets = 0

    def joined(self, end: str) -> _Found:
        """Terms joined by & and |, up to and with the token `end`."""
        found = self._term(end)
        while self._tokens:
            token = self._tokens.pop(0)
            if token == end:
                return found
            if token not in {"&", "|"}:
                raise ValueError(token)
            found = _joined(token, found, self._term(end))
        if end:
            raise ValueError(f"no {end}")
        return found

    def _term(self, end: str) -> _Found:
        word = self._next()
        if word == "(":
            if end == ")":
                raise ValueError("parentheses in parentheses")
            found = self.joined(")")
        elif word == "[":
            if end or self._brackets:
                raise ValueError("more than one set of brackets")
            self._brackets += 1
            return self._bracketed()
        elif re.fullmatch(_FEATURE, word):
            found = _Found((frozenset({word}),))
        else:
            raise ValueError(word)
        if self._tokens and self._tokens[0].startswith("*"):
            count = int(self._tokens.pop(0)[1:])
            if count < 1 or end == ")":
                raise ValueError(f"*{count}")
            if found.counted or len(found.sets) > 1:
                raise NotImplementedError("a number of nodes with one of several features")
            return _Found(counted=((found.sets[0], count),))
        return found

    def _bracketed(self) -> _Found:
        """`[a|b]`: all nodes the same; `[a*2&b*4]`: so many of each."""
        found = self._term("]")
        operators = set()
        has_counts = {bool(found.counted)}
        while (operator := self._next()) != "]":
            if operator not in {"&", "|"}:
                raise ValueError(operator)
            operators.add(operator)
            term = self._term("]")
            has_counts.add(bool(term.counted))
            if operator == "|" and has_counts != {False}:
                raise ValueError("numbers of nodes")
            found = _joined(operator, found, term)
        if operators == {"&", "|"}:
            raise NotImplementedError("& and | in one pair of brackets")
        # Source: _valid_feature_list(): with & each has a number, with | none
        if "&" in operators and has_counts != {True}:
            raise ValueError("numbers of nodes")
        return found._replace(is_same=len(found.sets) > 1)

    def _next(self) -> str:
        if not self._tokens:
            raise ValueError("a feature is missing")
        return self._tokens.pop(0)


def _joined(operator: str, left: _Found, right: _Found) -> _Found:
    if operator == "|":
        if left.counted or right.counted or left.is_same or right.is_same:
            raise NotImplementedError("numbers of nodes or brackets beside |")
        sets = left.sets + right.sets
    else:
        sets = tuple(dict.fromkeys(one | other for one in left.sets for other in right.sets))
        if (left.is_same, right.is_same) != (False, False) and len(left.sets) > 1 and len(right.sets) > 1:
            raise NotImplementedError("brackets beside another choice")
    if len(sets) > MAX_SETS:
        raise NotImplementedError(f"more than {MAX_SETS} choices")
    return _Found(sets, left.is_same or right.is_same, left.counted + right.counted)
