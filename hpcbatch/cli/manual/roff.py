"""Text as man(7) has it."""

from __future__ import annotations

import re
from collections.abc import Iterable

SECTION_BREAK = ".PP\n"


def escaped(text: str) -> str:
    """One line of plain text. A hyphen stays the character that is typed, and no line begins with a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def heading(name: str, section: int, *, day: str, version: str) -> str:
    return f'.TH "{escaped(name.upper())}" "{section}" "{day}" "hpcbatch {version}" "hpcbatch manual"\n.nh\n.ad l\n'


def part(title: str, body: str) -> str:
    """A section; none without a body."""
    return f'.SH "{escaped(title.upper())}"\n{body}' if body else ""


def below(title: str, body: str) -> str:
    """A section within one."""
    return f'.SS "{escaped(title)}"\n{body}'


def verbatim(lines: Iterable[str]) -> str:
    return ".nf\n" + "".join(f"{escaped(line.expandtabs(8)) or '.sp'}\n" for line in lines) + ".fi\n"


def tagged(tag: str, text: str) -> str:
    """A term, which is roff already, and what it means."""
    return f".TP\n{tag}\n{escaped(text) or chr(92) + '&'}\n"


def bold(text: str) -> str:
    return f"\\fB{escaped(text)}\\fR"


def italic(text: str) -> str:
    return f"\\fI{escaped(text)}\\fR" if text else ""


def paragraphs(text: str) -> str:
    """Paragraphs parted by empty lines; lines that begin with four blanks stay as they are."""
    found = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        lines = [line for line in paragraph.splitlines() if line.strip()]
        plain = [line for line in lines if not line.startswith("    ")]
        laid_out = [line[4:] for line in lines if line.startswith("    ")]
        if plain:
            found.append(SECTION_BREAK + escaped(" ".join(line.strip() for line in plain)) + "\n")
        if laid_out:
            found.append(SECTION_BREAK + ".RS 4\n" + verbatim(laid_out) + ".RE\n")
    return "".join(found).removeprefix(SECTION_BREAK)
