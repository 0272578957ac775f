"""#SBATCH lines: which lines are read, and how a line is split into words. Source: sbatch's opt.c and its answers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hpcbatch.model.unread import UnreadLine

DIRECTIVE, OLD_DIRECTIVE = "#SBATCH", "#SLURM"
_OLD_NOTE = "sbatch: error: Change from #SLURM to #SBATCH in your script and verify the options are valid in sbatch"
_PACK_NOTE = 'sbatch: Warning: the "packjob" component separator is being deprecated. Please, use "hetjob" instead.'
_SEPARATOR = re.compile(r"[ \t\v\f\r]*(packjob|hetjob)(?=[ \t\v\f\r]|$)", re.IGNORECASE)
_BLANK = " \t\n\v\f\r"  # C's isspace(); Python's str.isspace() knows more, U+00A0 among them


class Word(NamedTuple):
    """One word of a directive, unquoted, with the place where it starts (both from 1)."""

    text: str
    line: int
    column: int
    is_cut: bool = False
    """Whether a `#` ended it, and the line with it."""


class Directives(NamedTuple):
    """All directive words of a script, in order: one tuple for each component of a heterogeneous job."""

    components: tuple[tuple[Word, ...], ...]
    separators: tuple[Word, ...] = ()
    """What stands between them: `hetjob`."""
    notes: tuple[str, ...] = ()
    problems: tuple[SlurmUsageError, ...] = ()
    """Lines that cannot be split into words."""
    first_command: int | None = None
    """Its line, from 1; of a script without one the line behind the last. None: no lines were read."""

    @property
    def words(self) -> tuple[Word, ...]:
        return tuple(word for words in self.components for word in words)


def check_script(script: bytes) -> None:
    """Raise SlurmUsageError, exit 1, for what sbatch does not take for a batch script."""
    if not script:
        raise _refused("Batch script is empty!")
    if not script.strip(b" \t\n\v\f\r"):
        raise _refused("Batch script contains only whitespace!")
    if not script.startswith(b"#!"):
        raise _refused(
            "This does not look like a batch script.  The first",
            "line must start with #! followed by the path to an interpreter.",
            "For instance: #!/bin/sh",
        )
    if b"\0" in script:
        raise _refused("The Slurm controller does not allow scripts that", "contain a NULL character '\\0'.")
    if b"\r\n" in script:
        raise _refused("Batch script contains DOS line breaks (\\r\\n)", "instead of expected UNIX line breaks (\\n).")


def _refused(*lines: str) -> SlurmUsageError:
    return SlurmUsageError("\n".join(f"sbatch: error: {line}" for line in lines))


def read_directives(script: bytes, path: str) -> Directives:
    """The words of all #SBATCH lines up to the first command. `path` is for messages.

    Bytes that are not UTF-8 come through as surrogates; who keeps a value has to refuse them.
    """
    components: list[list[Word]] = [[]]
    separators: list[Word] = []
    notes: list[str] = []
    problems: list[SlurmUsageError] = []
    lines = script.split(b"\n")
    first_command = len(lines) + 1
    for number, raw in enumerate(lines, start=1):
        line = raw.decode("utf-8", "surrogateescape")
        text = line.lstrip(_BLANK)
        if text and not text.startswith("#"):
            first_command = number
            break
        if line.startswith(DIRECTIVE):
            start = len(DIRECTIVE)
        elif line.startswith(OLD_DIRECTIVE):
            start = len(OLD_DIRECTIVE)
            if _OLD_NOTE not in notes:
                notes.append(_OLD_NOTE)
        else:
            continue
        if match := _SEPARATOR.match(line, start):
            components.append([])
            separators.append(Word(match[1], number, match.start(1) + 1))
            start = match.end()
            if match[1].lower() == "packjob" and _PACK_NOTE not in notes:
                notes.append(_PACK_NOTE)
        try:
            components[-1] += split_line(line, start, number, path)
        except SlurmUsageError as error:
            problems.append(error)
    return Directives(
        tuple(map(tuple, components)), tuple(separators), tuple(notes), tuple(problems), first_command=first_command
    )


def unread(script: bytes, directives: Directives) -> Iterator[UnreadLine]:
    """The lines that look like directives and that sbatch does not read."""
    if directives.first_command is None:
        return
    from hpcbatch.model.unread import unread_lines

    lines = script.decode("utf-8", "surrogateescape").split("\n")
    yield from unread_lines(lines, DIRECTIVE, "sbatch", first_command=directives.first_command, only_in_column_1=True)


def split_line(line: str, start: int, number: int, path: str) -> list[Word]:
    """Split the rest of `line` from `start` on into words, as sbatch does.

    Quotes group, a backslash makes the next character literal, an unquoted `#` ends the line, even within a word.
    An empty word ("") ends the line too. Raises SlurmUsageError for a quote without its partner.
    """
    words: list[Word] = []
    at = start
    while at < len(line):
        if line[at] in _BLANK:
            at += 1
            continue
        if line[at] == ":":
            raise SlurmUsageError(
                f"sbatch: fatal: {path}: line {number}: Unexpected `:` in [{line[start:]}]",
                path=path,
                line=number,
                column=at + 1,
            )
        text, end, over = _next_word(line, at, start, number, path)
        if text:
            words.append(Word(text, number, at + 1, is_cut=line[end : end + 1] == "#"))
        if over or not text:
            break
        at = end
    return words


def _next_word(line: str, at: int, start: int, number: int, path: str) -> tuple[str, int, bool]:
    """The word at `at`, where it ends, and whether the line ends with it."""
    text: list[str] = []
    quote = ""
    while at < len(line):
        c = line[at]
        if not quote and c in _BLANK:  # a backslash does not save a blank outside of quotes
            return "".join(text), at, False
        if c == "\\":
            following = line[at + 1 : at + 2]
            literal = "" if not quote and following and following in _BLANK else following
            text.append(literal)
            at += 1 + len(literal)
            continue
        if not quote and c == "#":
            return "".join(text), at, True
        if quote == c:
            quote = ""
        elif not quote and c in "'\"":
            quote = c
        else:
            text.append(c)
        at += 1
    if quote:
        rest = line[start:]
        raise SlurmUsageError(
            f"sbatch: fatal: {path}: line {number}: Unmatched `{quote}` in [{rest}]",
            path=path,
            line=number,
            column=line.index(quote, start) + 1,
        )
    return "".join(text), at, True
