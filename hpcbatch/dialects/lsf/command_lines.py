"""The command lines of LSF's commands, for completion and the manual, from the tables by which these read them."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.dialects.lsf.commands import COMMANDS, usage
from hpcbatch.dialects.lsf.help import USAGE
from hpcbatch.dialects.lsf.table import OPTIONS, Rule
from hpcbatch.model.command_line import CommandLine, Flag, Word
from hpcbatch.model.outcome import Fate
from hpcbatch.typed import Final

_WORDS: Final[Mapping[str, Word]] = {
    **dict.fromkeys(("o", "oo", "e", "eo", "i", "is"), Word.FILE),
    **dict.fromkeys(("cwd", "outdir"), Word.DIRECTORY),
    "m": Word.NODE,
    "q": Word.QUEUE,
    "u": Word.USER,
}
_VARIABLES: Final = (
    ("LSB_DEFAULTQUEUE", "-q"),
    ("LSB_DEFAULTPROJECT", "-P"),
    ("LSB_DEFAULT_JOBGROUP", "-g"),
    ("LSB_DEFAULT_USERGROUP", "-G"),
    ("BSUB_QUIET", "the id is not printed"),
    ("BSUB_STDERR", "the id is printed on standard error"),
    ("HPCBATCH_IMAGE", "the container image"),
)


def command_lines() -> dict[str, CommandLine]:
    bsub = CommandLine(
        name="bsub",
        about="submit an LSF script or a command",
        usage=USAGE.partition("\nThe manual")[0],
        flags=tuple(_flag(name, rule) for name, rule in OPTIONS.items()),
        operands=(Word.COMMAND, Word.FILE),
        variables=_VARIABLES,
    )
    others = {
        name: CommandLine(
            name=name,
            about=command.about,
            usage=usage(name),
            flags=tuple(
                Flag((f"-{option}",), each.takes, each.about, each.value, each.word)
                for option, each in command.options.items()
            ),
            operands=() if command.operand is None else (command.operand,),
        )
        for name, command in COMMANDS.items()
    }
    return {"bsub": bsub, **others}


def _flag(name: str, rule: Rule) -> Flag:
    about = f"ignored: {rule.meaning}" if rule.fate is Fate.IGNORED else rule.meaning
    names = (name if name.startswith("-") else f"-{name}",)
    return Flag(names, rule.takes, about, rule.value, _WORDS.get(name, Word.TEXT) if rule.takes else Word.TEXT)
