"""`make wrap`: the prose of Markdown pages, wrapped at 100 columns. Tables, blocks, headings and comments stay.

Of two branches that changed one paragraph, take the other one's text and wrap it again.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

WIDTH = 100
_AS_IT_IS = re.compile(r"#|\||<|>|!!!")
_ITEM = re.compile(r"( *)(?:[-*]|\d+\.) +")
_NO_FIRST_WORD = re.compile(r"[-+*]|#+|\d+[.)]|>.*|\|.*|```.*")
"""Words that would be a mark at the beginning of a line."""


def wrapped(page: str) -> str:
    return "\n".join([*_lines([*page.split("\n"), ""])][:-1])


def _lines(lines: list[str]) -> Iterator[str]:
    """The last line must be empty."""
    paragraph: list[str] = []
    first = rest = ""
    is_block = False
    for line in lines:
        item = _ITEM.match(line)
        is_fence = line.lstrip().startswith("```")
        stays = is_block or is_fence or not line.strip() or _AS_IT_IS.match(line)
        is_code = line.startswith("    ") and not paragraph
        if paragraph and (stays or item):
            yield from _paragraph(" ".join(paragraph), first, rest)
            paragraph = []
        is_block ^= is_fence
        if stays or is_code:
            yield line
        elif item:
            first, rest, paragraph = item[0], " " * len(item[0]), [line[item.end() :]]
        else:
            if not paragraph:
                first = rest = line[: len(line) - len(line.lstrip())]
            paragraph.append(line.strip())


def _paragraph(text: str, first: str, rest: str) -> Iterator[str]:
    line, is_empty = first, True
    for word in _words(text):
        if not is_empty and len(line) + 1 + len(word) > WIDTH:
            yield line
            line, is_empty = rest, True
        line += word if is_empty else f" {word}"
        is_empty = False
    yield line


def _words(text: str) -> list[str]:
    """What is not divided: words, code between backticks, and a mark with the word before it."""
    whole = re.sub(r"(`+)(.+?)\1", lambda code: code[0].replace(" ", "\0"), " ".join(text.split()))
    found: list[str] = []
    for word in whole.split(" "):
        if found and _NO_FIRST_WORD.fullmatch(word):
            found[-1] += f"\0{word}"
        else:
            found.append(word)
    return [word.replace("\0", " ") for word in found]


def main(paths: list[str]) -> None:
    for path in map(Path, paths):
        path.write_text(wrapped(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
