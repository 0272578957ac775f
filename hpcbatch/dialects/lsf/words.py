"""Lines of `#BSUB` options taken apart into words, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hpcbatch.typed import Final, NamedTuple

DIRECTIVE: Final = "#BSUB"
_LINE = re.compile(r"[ \t]*#[ \t]*BSUB(?=[ \t\r]|$)(.*)", re.DOTALL)
_BLANKS = " \t\r\n\f\v"


class Word(NamedTuple):
    text: str
    source: str = "command line"
    line: int | None = None
    column: int | None = None

    @property
    def path(self) -> str | None:
        """The script's name; None for the command line."""
        return None if self.line is None else self.source


class Line(NamedTuple):
    """One line of options, joined with those that it goes on in."""

    words: tuple[Word, ...]
    text: str
    number: int


def lines_of(script: bytes, name: str) -> Iterator[Line]:
    """The lines of options of a script, wherever they stand. They end at the first that has no option.
    Source: OpenLava, parseScript(): comments behind the first command are read, too.
    """
    lines = script.decode("utf-8", "surrogateescape").split("\n")
    at = 0
    while at < len(lines):
        number, text = at + 1, lines[at]
        at += 1
        match = _LINE.fullmatch(text)
        if match is None:
            continue
        while text.rstrip("\r").endswith("\\") and at < len(lines):
            text = f"{text.rstrip(chr(13))[:-1]} {lines[at]}"
            at += 1
        words = tuple(split(text, match.start(1), name, number))
        if not words or not words[0].text.startswith("-"):
            return
        yield Line(words, text.strip(), number)


def split(text: str, start: int, source: str, line: int | None) -> Iterator[Word]:
    """Blanks part words, quotes group; what stands behind a word that begins with `#` is a comment."""
    at = start
    while at < len(text):
        if text[at] in _BLANKS:
            at += 1
            continue
        if text[at] == "#":
            return
        begin, word = at, ""
        while at < len(text) and text[at] not in _BLANKS:
            if text[at] in "\"'":
                end = text.find(text[at], at + 1)
                end = len(text) if end < 0 else end
                word += text[at + 1 : end]
                at = end + 1
            else:
                word += text[at]
                at += 1
        yield Word(word, source, line, begin + 1)
