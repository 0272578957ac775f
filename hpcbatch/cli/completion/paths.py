"""The commands as a list, each with those within it behind it, by the words that lead there: `hpcbatch user add`."""

from __future__ import annotations

from collections.abc import Iterator

from hpcbatch.cli.own_lines import known_commands
from hpcbatch.model.command_line import CommandLine, Word
from hpcbatch.typed import NamedTuple


class At(NamedTuple):
    path: str
    dialect: str
    line: CommandLine


def all_paths() -> list[At]:
    return [at for name, known in known_commands().items() for at in _below(name, known.dialect, known.line)]


def _below(path: str, dialect: str, line: CommandLine) -> Iterator[At]:
    yield At(path, dialect, line)
    for within in line.commands:
        yield from _below(f"{path} {within.name}", dialect, within)


def kind(word: Word, choices: tuple[str, ...]) -> str:
    """As one word of a shell script: `job`, `one-of:oe,eo`."""
    return f"{word}:{','.join(choices)}" if word in (Word.ONE_OF, Word.DEPENDENCY) else str(word)


def operand_kinds(line: CommandLine) -> list[str]:
    return [kind(word, line.choices) for word in line.operands]


def quoted(text: str) -> str:
    """For all three shells: in single quotes. fish alone reads backslashes there, so that there are none."""
    return "'" + text.replace("\\", "/").replace("'", "’") + "'"
