"""Reads a Fortran namelist file as far as WRF's are written, and says by line what a compiler's reader would not take.

A reader of our own, because f90nml keeps no line numbers and passes over a lost `/`, an unclosed string and stray text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_%]*")
_SUBSCRIPT = re.compile(r"[ \t]*\(([^)\n]*)\)")
_GROUP = re.compile(r"[&$]([A-Za-z_][A-Za-z0-9_]*)")
_BLANK = re.compile(r"(?:[ \t\r\n]|![^\n]*)*")
_SPACE = re.compile(r"[ \t\r]*")
_TOKEN = re.compile(r"[^\s,/!=&$'\"();]+")
_REPEATED = re.compile(r"([0-9]+)\*(.*)", re.DOTALL)
_INDEX = re.compile(r"\s*([0-9]+)\s*(?::\s*[0-9]*\s*)?")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:(?:[EeDdQq][+-]?|[+-])[0-9]+)?")
_LOGICAL = re.compile(r"\.?[TtFf][A-Za-z]*\.?")
_MOST_VALUES = 10_000  # of one key; WRF's longest list has 1,001


@dataclass(frozen=True, slots=True)
class Value:
    text: str
    is_string: bool = False
    """Was in quotes."""

    def fits(self, kind: str) -> bool:
        """Whether a Fortran program reads it into a variable of that type: character, integer, logical or real."""
        pattern = {"integer": _INTEGER, "real": _REAL, "logical": _LOGICAL}.get(kind)
        return pattern is None or (not self.is_string and pattern.fullmatch(self.text) is not None)

    def number(self) -> float | None:
        """None if it is no number."""
        if self.is_string or not _REAL.fullmatch(self.text):
            return None
        text = re.sub(r"[DdQq]", "e", self.text)
        return float(re.sub(r"(?<=[0-9.])([+-])", r"e\1", text) if "e" not in text.lower() else text)

    def __str__(self) -> str:
        return f"'{self.text}'" if self.is_string else self.text


@dataclass(frozen=True, slots=True)
class Entry:
    """One `key = values`, or a part of it where the file has it in several places."""

    key: str
    first: int
    """Index of its first value, from 1."""
    values: tuple[Value | None, ...]
    """None stands for a null value, which keeps the default."""
    line: int


@dataclass(frozen=True, slots=True)
class Problem:
    line: int
    group: str
    """"" outside of any."""
    seen: str
    expected: str


@dataclass(slots=True)
class Group:
    name: str
    line: int
    entries: list[Entry] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Namelist:
    """Groups by their names in lower case; of a name that comes twice the first counts, as for a Fortran READ."""

    groups: Mapping[str, Group]
    problems: tuple[Problem, ...] = ()

    def value(self, group: str, key: str, index: int = 1) -> tuple[Value | None, int | None]:
        """Value `index` (from 1) of a key and its line; (None, line of the key or None) where it is not set."""
        found: Value | None = None
        line: int | None = None
        for entry in self._entries(group, key):
            line = entry.line if line is None else line
            place = index - entry.first
            if 0 <= place < len(entry.values) and entry.values[place] is not None:
                found, line = entry.values[place], entry.line
        return found, line

    def has(self, group: str, key: str) -> bool:
        return any(True for _ in self._entries(group, key))

    def _entries(self, group: str, key: str) -> Iterator[Entry]:
        if group in self.groups:
            yield from (entry for entry in self.groups[group].entries if entry.key == key)


def parse(text: str) -> Namelist:
    """Reads everything that can be read; what cannot is among the problems."""
    reader = _Reader(text)
    reader.run()
    return Namelist(reader.groups, tuple(reader.problems))


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at, self._line, self._counted = text, 0, 1, 0
        self.groups: dict[str, Group] = {}
        self.problems: list[Problem] = []
        self.group: Group | None = None

    @property
    def line(self) -> int:
        """Of `at`, which only grows."""
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line

    def run(self) -> None:
        while self._skip_blank():
            if self.group is None:
                self._outside()
            else:
                self._inside(self.group)
        if self.group is not None:
            self._not_closed(self.group, "the end of the file")

    def _skip_blank(self) -> bool:
        match = _BLANK.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.at < len(self.text)

    def _skip_line(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def _problem(self, seen: str, expected: str, line: int | None = None) -> None:
        group = "" if self.group is None else self.group.name
        self.problems.append(Problem(self.line if line is None else line, group, seen, expected))

    def _outside(self) -> None:
        """A Fortran READ passes over what stands between groups."""
        match = _GROUP.match(self.text, self.at)
        if match is None:
            self._skip_line()
        else:
            self._open(match)

    def _open(self, match: re.Match[str]) -> None:
        name = match[1].lower()
        self.group = Group(name, self.line)
        self.groups.setdefault(name, self.group)
        self.at = match.end()

    def _not_closed(self, group: Group, before: str) -> None:
        self._problem(f"&{group.name} of line {group.line} is not closed before {before}", "a line with `/`")
        self.group = None

    def _inside(self, group: Group) -> None:
        text = self.text
        if text[self.at] == "/":
            self.at += 1
            self.group = None
            return
        match = _GROUP.match(text, self.at)
        if match is not None:
            if match[1].lower() == "end":
                self.at = match.end()
                self.group = None
            else:
                self._not_closed(group, match[0])
                self._open(match)
            return
        line = self.line
        named = self._key()
        if named is None:
            stray = text[self.at :].split("\n", 1)[0].strip()
            self._problem(stray[:60], "`key = value`")
            self._skip_line()
            return
        key, first = named
        group.entries.append(Entry(key, first, tuple(islice(self._values(), _MOST_VALUES)), line))

    def _key(self) -> tuple[str, int] | None:
        """Reads `key =` or `key(2) =` and goes behind it; None, and goes nowhere, if that is not what stands here."""
        name = _NAME.match(self.text, self.at)
        if name is None:
            return None
        at, first = name.end(), 1
        subscript = _SUBSCRIPT.match(self.text, at)
        if subscript is not None:
            index = _INDEX.fullmatch(subscript[1])
            if index is None:
                return None
            at, first = subscript.end(), int(index[1])
        space = _SPACE.match(self.text, at)
        at = space.end() if space else at
        if not self.text.startswith("=", at):
            return None
        self.at = at + 1
        return name[0].lower(), first

    def _values(self) -> Iterator[Value | None]:
        """Up to the next key, group, `/` or the end of the file."""
        is_comma_due = False
        while self._skip_blank():
            char = self.text[self.at]
            if char in "/&$":
                return
            if char == ",":
                if not is_comma_due:
                    yield None
                is_comma_due = False
                self.at += 1
                continue
            start = self.at
            if self._key() is not None:
                self.at = start
                return
            if char in "'\"":
                yield Value(self._string(char), is_string=True)
            else:
                match = _TOKEN.match(self.text, self.at)
                if match is None:
                    return  # stray text, which the caller reports
                self.at = match.end()
                yield from self._token(match[0])
            is_comma_due = True

    def _token(self, token: str) -> Iterator[Value | None]:
        repeated = _REPEATED.fullmatch(token)
        if repeated is None:
            yield Value(token)
            return
        count = min(int(repeated[1][:9]), _MOST_VALUES)
        if repeated[2]:
            yield from [Value(repeated[2])] * count
        elif self.text[self.at : self.at + 1] in {"'", '"'}:
            yield from [Value(self._string(self.text[self.at]), is_string=True)] * count
        else:
            yield from [None] * count

    def _string(self, quote: str) -> str:
        """A quote inside is written twice. One that is not closed in its line ends there, and is a problem."""
        end = self.at + 1
        while True:
            end = self.text.find(quote, end)
            stop = self.text.find("\n", self.at)
            stop = len(self.text) if stop < 0 else stop
            if end < 0 or end > stop:
                seen = self.text[self.at : stop].strip()
                self._problem(seen[:60], f"a closing {quote} in the same line")
                self.at, found = stop, seen[1:]
                return found
            if self.text.startswith(quote * 2, end):
                end += 2
                continue
            found = self.text[self.at + 1 : end].replace(quote * 2, quote)
            self.at = end + 1
            return found
