"""The command lines of `hpcbatch`, as click has them, and those of all other commands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from inspect import cleandoc

import click

from hpcbatch.cli.groups import group_of
from hpcbatch.dialects.registry import DIALECTS
from hpcbatch.model.command_line import CommandLine, Flag, Word
from hpcbatch.typed import NamedTuple


class Known(NamedTuple):
    """A command's line. `dialect` is "" for hpcbatch's own."""

    dialect: str
    line: CommandLine


def known_commands() -> dict[str, Known]:
    """All commands by their names."""
    from hpcbatch.cli.hpcbatch import group

    found = {
        name: Known(dialect, line) for dialect, door in DIALECTS.items() for name, line in door.command_lines().items()
    }
    return {**found, "hpcbatch": Known("", own_line(group, "hpcbatch"))}


def own_line(command: click.Command, name: str, parent: click.Context | None = None) -> CommandLine:
    context = click.Context(command, info_name=name, parent=parent)
    params = [param for param in command.get_params(context) if not getattr(param, "hidden", False)]
    arguments = [param for param in params if isinstance(param, click.Argument)]
    within = _within(command, context) if isinstance(command, click.Group) else {}
    choices = [choice for argument in arguments if (choice := _choices(argument))]
    return CommandLine(
        name=name,
        about=command.get_short_help_str(limit=200).rstrip("."),
        usage=" ".join([f"Usage: {context.command_path}", *command.collect_usage_pieces(context)]),
        flags=tuple(_flag(param) for param in params if isinstance(param, click.Option)),
        operands=tuple(word for argument in arguments for word in _operands(argument)),
        choices=choices[0] if choices else (),
        commands=tuple(own_line(each, key, context) for key, each in within.items()),
        group=group_of(name) if parent is not None and parent.parent is None else "",
        text=_text(command),
    )


def _within(command: click.Group, context: click.Context) -> Mapping[str, click.Command]:
    """In the order of the help. Of `hpcbatch new`, the templates that come with hpcbatch: those of a user or of a site
    are not in pages and scripts that are made for all.
    """
    found = ((name, command.get_command(context, name)) for name in command.list_commands(context))
    return {name: each for name, each in found if each is not None and not each.hidden}


def _flag(option: click.Option) -> Flag:
    takes_none = option.is_flag or option.count
    value = option.metavar or ("" if takes_none or _choices(option) else (option.name or "").upper())
    return Flag(
        names=tuple(sorted((*option.opts, *option.secondary_opts), key=lambda name: name.startswith("--"))),
        takes="" if takes_none else "=",
        about=" ".join((option.help or "").split()),
        value=value,
        word=Word.TEXT if takes_none else _word(option),
        choices=_choices(option),
    )


def _choices(param: click.Parameter) -> tuple[str, ...]:
    """Those of the type, or of a value that is shown as `pbs|slurm`."""
    if isinstance(param.type, click.Choice):
        return tuple(str(choice) for choice in param.type.choices)
    is_list = isinstance(param, click.Option) and re.fullmatch(r"[a-z]+(\|[a-z]+)+", param.metavar or "")
    return tuple((param.metavar or "").split("|")) if is_list else ()


def _operands(argument: click.Argument) -> tuple[Word, ...]:
    """Of a program and its words: behind it stand files."""
    return (Word.COMMAND, Word.FILE) if argument.name in ("program", "command") else (_word(argument),)


def _word(param: click.Parameter) -> Word:
    """By the type of the value, or else by the parameter's name."""
    if _choices(param):
        return Word.ONE_OF
    if isinstance(param.type, click.Path):
        return Word.FILE if param.type.file_okay else Word.DIRECTORY
    names = {
        "job_id": Word.JOB,
        "job_ids": Word.JOB,
        "job_or_dir": Word.JOB,
        "files": Word.FILE,
        "script": Word.FILE,
        "what": Word.FILE,  # a script, or a job
        "user": Word.USER,
        "users": Word.USER,
        "queue": Word.QUEUE,
        "node": Word.NODE,
    }
    by_value = {"FILE": Word.FILE, "FILE|-": Word.FILE, "DIR": Word.DIRECTORY}
    return names.get(param.name or "", by_value.get(param.metavar or "", Word.TEXT))


def _text(command: click.Command) -> str:
    """The help's paragraphs behind the first, which is the summary, and the examples below the options."""
    help_text = cleandoc(command.help or "")
    summary = command.get_short_help_str(limit=200).rstrip(".")
    text = " ".join(help_text.partition("\n\n")[0].split()).removeprefix(summary).lstrip(". ")
    paragraphs = [text, *help_text.split("\n\n")[1:], *(command.epilog or "").split("\n\n")]
    found = []
    for paragraph in paragraphs:
        is_laid_out = paragraph.startswith("\b\n")
        lines = [line.rstrip() for line in paragraph.removeprefix("\b\n").splitlines()]
        found.append("\n".join(f"    {line}" if is_laid_out else line.strip() for line in lines))
    return "\n\n".join(part for part in found if part.strip())
