"""What may stand on the line of a command, for people: completion, manual pages and help are made from it.

Commands read their lines by tables of their own; those are where this is taken from.
"""

from __future__ import annotations

from enum import StrEnum

from hpcbatch.typed import NamedTuple


class Word(StrEnum):
    """What a word stands for, and so what completes it."""

    TEXT = "text"
    FILE = "file"
    DIRECTORY = "directory"
    COMMAND = "command"
    JOB = "job"
    QUEUE = "queue"
    NODE = "node"
    USER = "user"
    ONE_OF = "one-of"
    DEPENDENCY = "dependency"
    """`afterok:12,afterany:13`: a choice, a colon, and jobs."""


class Flag(NamedTuple):
    """An option. `names` are as they are written, `-p` and `--partition`."""

    names: tuple[str, ...]
    takes: str = ""
    """"" for no value, "=" for one, "?" for one that may be missing."""
    about: str = ""
    """One line."""
    value: str = ""
    """What the value is called in the manual."""
    word: Word = Word.TEXT
    choices: tuple[str, ...] = ()
    """All values, with Word.ONE_OF; with Word.DEPENDENCY, what may stand before the colon."""


class CommandLine(NamedTuple):
    name: str
    """Of a command within another the word that stands there: `add` of `hpcbatch user add`."""
    about: str
    """One line."""
    usage: str = ""
    """As the command itself prints it, without a final newline."""
    flags: tuple[Flag, ...] = ()
    operands: tuple[Word, ...] = ()
    """The last one may be repeated."""
    choices: tuple[str, ...] = ()
    """What an operand may be, with Word.ONE_OF."""
    commands: tuple[CommandLine, ...] = ()
    """Those within this one."""
    group: str = ""
    """The heading below which it stands among those within another."""
    variables: tuple[tuple[str, str], ...] = ()
    """Of the environment: the name, and what it stands for."""
    text: str = ""
    """More of the manual, paragraphs parted by empty lines; lines that begin with four blanks stay as they are."""


def value_of(flag: Flag) -> str:
    """What stands behind the flag's name in the manual: `=FILE`, `[=FILE]`, ` FILE`."""
    if not flag.takes:
        return ""
    name = flag.value or (flag.word.upper() if flag.word is not Word.ONE_OF else "|".join(flag.choices))
    if not flag.names[-1].startswith("--"):
        return f" {name}"
    return f"[={name}]" if flag.takes == "?" else f"={name}"


def help_page(line: CommandLine) -> str:
    """What --help prints of a command whose originals print their usage alone: the usage, and what each option does."""
    rows = []
    for flag in line.flags:
        names = ", ".join(flag.names) + value_of(flag)
        about = f"  {names:<24} {flag.about}"
        rows.append(about if len(names) <= 24 else f"  {names}\n{'':<26} {flag.about}")
    return "\n".join([line.usage, "", f"{line.name}: {line.about}", *([""] if rows else ()), *rows])
