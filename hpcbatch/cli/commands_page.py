"""The commands as Markdown, from the lines that they are read by: tables of names, and what may stand on each line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import fill

from hpcbatch.cli import PACKAGES
from hpcbatch.cli.own_lines import known_commands
from hpcbatch.dialects.registry import DIALECTS
from hpcbatch.model.command_line import CommandLine, Flag, value_of
from hpcbatch.model.outcome import Fate

Rows = Sequence[Sequence[str]]


def tables() -> dict[str, Rows]:
    """By its name each table of names: `commands of slurm`, and `without effect: options of sbatch`."""
    found: dict[str, Rows] = {}
    for dialect, names in PACKAGES.items():
        lines = DIALECTS[dialect].command_lines()
        order = sorted(names, key=lambda name: name.startswith("pbs_"))  # what fewer people use comes last
        found[f"commands of {dialect}"] = [("Command", "What it does"), *(_row(name, lines[name]) for name in order)]
    own = known_commands()["hpcbatch"].line
    rows = [(f"`hpcbatch {each.name}`", each.about, each.group) for each in own.commands]
    found["commands of hpcbatch"] = [("Command", "What it does", "Group"), *rows]
    for door in DIALECTS.values():
        for name, (heading, *options) in door.option_tables().items():
            place = heading.index("")
            rest = [row for row in options if row[place] not in (Fate.HONOURED.value, Fate.TRANSLATED.value)]
            found[f"without effect: {name}"] = [heading, *rest]
    return found


def texts() -> dict[str, str]:
    """`lines of slurm`: a section for each command."""
    known = known_commands()
    found = {
        f"lines of {dialect}": "\n".join(_section(name, known[name].line, 3) for name in names)
        for dialect, names in PACKAGES.items()
    }
    own = known["hpcbatch"].line.commands
    return {**found, "lines of hpcbatch": "\n".join(_section(f"hpcbatch {line.name}", line, 3) for line in own)}


def markdown(rows: Rows) -> str:
    heading, *rest = rows
    lines = [heading, ["---"] * len(heading), *rest]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def _row(name: str, line: CommandLine) -> tuple[str, str]:
    return f"[`{name}`](commands.md#{name})", line.about


def _section(path: str, line: CommandLine, level: int) -> str:
    """The heading, what it does, its usage, its options; behind them the commands within it."""
    about = _wrapped(f"{line.about[:1].upper()}{line.about[1:]}.") if line.about else ""
    usage = "".join(f"{text.rstrip()}\n" for text in line.usage.splitlines())
    flags = [_flag(flag) for flag in line.flags if flag.names[-1] not in ("--help", "--version")]
    parts = [
        f"{'#' * level} {path}\n",
        about,
        f"```text\n{usage}```\n" if usage else "",
        markdown([("Option", "What it does"), *flags]) if flags else "",
        _requests(line),
        *(_section(f"{path} {within.name}", within, level) for within in line.commands if within.usage),
    ]
    return "\n".join(part for part in parts if part)


def _flag(flag: Flag) -> tuple[str, str]:
    return ", ".join(f"`{name}`" for name in flag.names[:-1]) + (", " if flag.names[1:] else "") + (
        f"`{flag.names[-1]}{value_of(flag)}`"
    ), flag.about or "–"


def _requests(line: CommandLine) -> str:
    """Words such as those of scontrol, which have no usage of their own."""
    words: Iterator[CommandLine] = (within for within in line.commands if not within.usage)
    listed = ", ".join(f"`{within.name}`" for within in words)
    return _wrapped(f"Requests: {listed}.") if listed else ""


def _wrapped(text: str) -> str:
    return fill(text, 100, break_long_words=False, break_on_hyphens=False) + "\n"


def known_tables() -> Mapping[str, Rows]:
    """Those of directives and of names together."""
    directives = {name: rows for door in DIALECTS.values() for name, rows in door.option_tables().items()}
    return {**directives, **tables()}
