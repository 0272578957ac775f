"""The command lines of Slurm's commands, for completion and the manual: the options that each command reads by, with
what its own --help says of them, or the table of sbatch's options.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from textwrap import wrap

from hpcbatch.dialects.slurm import (
    allocation,
    help,
    options,
    sacct_help,
    sacct_options,
    sacctmgr_options,
    sattach,
    sbcast,
    scancel,
    scontrol_command,
    sdiag,
    seff,
    sinfo,
    sprio,
    squeue_options,
    sreport_options,
    sshare,
    sstat,
    strigger,
)
from hpcbatch.dialects.slurm.dependency import KINDS
from hpcbatch.dialects.slurm.getopt import Option, Parser, Takes
from hpcbatch.dialects.slurm.option_abouts import ABOUTS, OF_COMMANDS
from hpcbatch.dialects.slurm.options import SbatchOption, Support
from hpcbatch.model.command_line import CommandLine, Flag, Word, value_of
from hpcbatch.typed import Final, NamedTuple


class _Of(NamedTuple):
    about: str
    parser: Parser
    usage: str
    help: str = ""
    operands: tuple[Word, ...] = ()


def _first_lines(text: str) -> str:
    """The usage at the beginning of a help page."""
    return text.partition("\n\n")[0]


COMMANDS: Final[Mapping[str, _Of]] = {
    "sacct": _Of("show what became of jobs", sacct_options.PARSER, sacct_help.SACCT_USAGE, sacct_help.SACCT_HELP),
    "sacctmgr": _Of(
        "show and change accounts, users and qualities of service",
        sacctmgr_options.PARSER,
        help.SACCTMGR_USAGE,
        help.SACCTMGR_HELP,
    ),
    "salloc": _Of(
        "an allocation, and a shell or command for as long as that runs",
        allocation.SALLOC,
        allocation.USAGE.format("salloc"),
        operands=(Word.COMMAND, Word.FILE),
    ),
    "sattach": _Of("come back to a job of srun", sattach.PARSER, sattach.USAGE, operands=(Word.JOB,)),
    "sbatch": _Of("submit a Slurm script", options.PARSER, help.SBATCH_USAGE, help.SBATCH_HELP, operands=(Word.FILE,)),
    "sbcast": _Of("copy a file to each host of an allocation", sbcast.PARSER, sbcast.USAGE, operands=(Word.FILE,)),
    "scancel": _Of(
        "cancel jobs, or send them a signal",
        scancel.PARSER,
        help.SCANCEL_USAGE,
        help.SCANCEL_HELP,
        (Word.JOB,),
    ),
    "scontrol": _Of(
        "show and change jobs, nodes and partitions",
        scontrol_command.PARSER,
        _first_lines(help.SCONTROL_USAGE),
        help.SCONTROL_USAGE,
    ),
    "sdiag": _Of(
        "count the jobs that were submitted, started and ended today", sdiag.PARSER, help.SDIAG_USAGE, help.SDIAG_HELP
    ),
    "seff": _Of(
        "show how much of its CPUs and memory a job used",
        Parser("seff", ()),
        _first_lines(seff.HELP).partition("\n")[0],
        operands=(Word.JOB,),
    ),
    "sinfo": _Of("show partitions and nodes", sinfo.PARSER, help.SINFO_USAGE, help.SINFO_HELP),
    "sprio": _Of("show the factors of priorities", sprio.PARSER, help.SPRIO_USAGE, help.SPRIO_HELP),
    # squeue takes `-j 12`, although the value of -j may be missing
    "squeue": _Of("show jobs", squeue_options.PARSER, help.SQUEUE_USAGE, help.SQUEUE_HELP, (Word.JOB,)),
    "sreport": _Of(
        "sum up the CPU time that jobs held",
        sreport_options.PARSER,
        _first_lines(help.SREPORT_HELP),
        help.SREPORT_HELP,
    ),
    "srun": _Of(
        "run a program in an allocation, or as a step of one",
        allocation.SRUN,
        allocation.USAGE.format("srun"),
        operands=(Word.COMMAND, Word.FILE),
    ),
    "sshare": _Of(
        "show the shares of accounts and users",
        sshare.PARSER,
        _first_lines(help.SSHARE_HELP),
        help.SSHARE_HELP,
    ),
    "sstat": _Of("show what the steps of running jobs use", sstat.PARSER, help.SSTAT_USAGE, help.SSTAT_HELP),
    "strigger": _Of(
        "say that no triggers are set, and can be", strigger.PARSER, help.STRIGGER_USAGE, help.STRIGGER_HELP
    ),
}
_WORDS: Final[Mapping[str, Word]] = {
    "chdir": Word.DIRECTORY,
    "container-workdir": Word.DIRECTORY,
    **dict.fromkeys(("error", "export-file", "input", "nodefile", "output", "prolog", "epilog"), Word.FILE),
    **dict.fromkeys(("exclude", "nodelist", "nodes", "node"), Word.NODE),
    **dict.fromkeys(("jobs", "jobid", "job"), Word.JOB),
    **dict.fromkeys(("partition", "partitions"), Word.QUEUE),
    **dict.fromkeys(("uid", "user", "users", "mail-user"), Word.USER),
    "dependency": Word.DEPENDENCY,
}
"""What values of options stand for, by the long name."""
_OTHERWISE: Final = {(command, "nodes"): Word.TEXT for command in ("sbatch", "salloc", "srun")}
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "dependency": tuple(KINDS),
    "open-mode": ("append", "truncate"),
    "kill-on-invalid-dep": ("yes", "no"),
    "hint": ("compute_bound", "memory_bound", "multithread", "nomultithread"),
    "mail-type": ("NONE", "BEGIN", "END", "FAIL", "REQUEUE", "ALL", "TIME_LIMIT", "ARRAY_TASKS"),
    "units": ("K", "M", "G", "T", "P"),
}
_STATES: Final = ("PENDING", "RUNNING", "SUSPENDED")
_LISTED: Final = (*_STATES, "COMPLETING", "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")
_OF_STATES: Final = {("scancel", "state"): _STATES, ("squeue", "states"): _LISTED, ("sacct", "state"): _LISTED}
_NOT_OF_JOBS: Final = frozenset({"update", "ping", "version", "completing", "pidinfo", "write"})
_TAKES: Final = {Takes.NOTHING: "", Takes.VALUE: "=", Takes.OPTIONAL: "?"}
_WORKS: Final = "Options:"
_KEPT: Final = "Kept with the job, and shown, without another effect:"
_NOTHING: Final = "Refused, or ignored with a message:"
_SAID = re.compile(r"^ {2,}((?:-\w|--[\w-]+)[^\s,]*(?:, (?:-\w|--[\w-]+)[^\s,]*)*)(?: +(.*))?$")


def command_lines() -> dict[str, CommandLine]:
    return {
        name: CommandLine(
            name=name,
            about=of.about,
            usage=of.usage,
            flags=tuple(_seff_flags() if name == "seff" else _flags(name, of)),
            operands=of.operands,
            commands=tuple(_commands(name)),
            variables=tuple(_variables(of.parser)),
            text=_text(name),
        )
        for name, of in COMMANDS.items()
    }


def said_in_help(text: str) -> dict[str, tuple[str, str]]:
    """Of each option name of a help page, `-p` and `--partition`, what its value is called, and what it does."""
    found: dict[str, tuple[str, str]] = {}
    for line, following in pairwise([*text.splitlines(), ""]):
        match = _SAID.match(line)
        if match is None:
            continue
        about = (match[2] or "").strip()
        names = re.findall(r"(--[\w-]+|-\w)(?:\[=([^,\s]+)\]|=([^,\s]+))?", match[1])
        value = next((optional or needed for _, optional, needed in names if optional or needed), "")
        if not about and following.startswith(" " * 9):  # sacct's layout
            word, colon, rest = following.strip().partition(": ")
            value, about = (word, rest) if colon and word.strip("[]").isupper() else ("", following.strip())
        found |= {name: (value, about) for name, *_ in names}
    return found


def about(command: str, option: Option, said: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    """What an option's value is called, and what it does; "" for what nobody says."""
    longs = [f"--{name}" for name in (option.name, *option.aliases)]
    names = [*longs, *(name for name in said if any(long.startswith(name) for long in longs) and len(name) > 4)]
    value, text = next((said[name] for name in names if name in said), ("", ""))
    if isinstance(option, SbatchOption):
        ignored = option.support is Support.IGNORED
        return value, f"ignored: {option.meaning}" if ignored else option.meaning
    return value, text or OF_COMMANDS.get(command, {}).get(option.name, "") or ABOUTS.get(option.name, "")


def full_help(command: str) -> str:
    """What --help prints of salloc and srun: the usage, the options, and the names of those without effect."""
    line = command_lines()[command]
    rows: dict[str, list[str]] = {_WORKS: [], _KEPT: [], _NOTHING: []}
    for flag in sorted(line.flags, key=lambda flag: flag.names[-1]):
        if re.match(r"ignored|refused|kept with the job\b|--\w+ only permitted", flag.about):
            rows[_KEPT if flag.about.startswith("kept") else _NOTHING].append(flag.names[-1])
            continue
        short, name = (f"{flag.names[0]}, ", flag.names[1]) if len(flag.names[0]) == 2 else ("    ", flag.names[0])
        shown = name + value_of(Flag((name,), flag.takes, value=flag.value or "value"))
        rows[_WORKS].append(f"  {short}{shown:<26} {flag.about}")
    names = [(title, ", ".join(rows[title])) for title in (_KEPT, _NOTHING) if rows[title]]
    lists = [wrap(text, 100, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False) for _, text in names]
    rest = [part for (title, _), lines in zip(names, lists, strict=True) for part in ("", title, *lines)]
    return "\n".join([line.usage, "", _WORKS, *rows[_WORKS], *rest, "", f"The manual page {command}(1) says more."])


def _flags(command: str, of: _Of) -> Iterator[Flag]:
    said, of_sbatch = said_in_help(of.help), said_in_help(help.SBATCH_HELP)
    for option in of.parser.options:
        value, text = about(command, option, of_sbatch if isinstance(option, SbatchOption) else said)
        names = (f"-{option.short}",) if option.short else ()
        longs = dict.fromkeys((option.name, *option.aliases))
        choices = _OF_STATES.get((command, option.name)) or _CHOICES.get(option.name, ())
        takes = _TAKES[option.takes]
        word = _OTHERWISE.get((command, option.name)) or _WORDS.get(option.name, Word.TEXT)
        if not takes:
            word, choices = Word.TEXT, ()
        yield Flag(
            (*names, *(f"--{name}" for name in longs)),
            takes,
            text,
            value.rstrip(":"),
            Word.ONE_OF if choices and word is Word.TEXT else word,
            choices,
        )


def _seff_flags() -> Iterator[Flag]:
    """It has letters alone, and says itself what each is."""
    for letter, text in re.findall(r"^ +-(\w) +(.*)$", seff.HELP, re.MULTILINE):
        yield Flag((f"-{letter}",), about=text)


def _variables(parser: Parser) -> Iterator[tuple[str, str]]:
    for option in parser.options:
        if parser.command == "sbatch" and isinstance(option, SbatchOption):
            for name in option.environment:
                yield name, f"--{option.name}"


def _commands(command: str) -> Iterator[CommandLine]:
    """The requests of scontrol, sacctmgr and sreport."""
    if command == "scontrol":
        for keyword in scontrol_command.KEYWORDS:
            if keyword != "show":
                yield CommandLine(keyword, "", operands=(Word.TEXT if keyword in _NOT_OF_JOBS else Word.JOB,))
        words = {"jobs": Word.JOB, "jobid": Word.JOB, "steps": Word.JOB, "nodes": Word.NODE, "partitions": Word.QUEUE}
        shown = (
            CommandLine(name.removesuffix("s") if name in words else name, "", operands=(words.get(name, Word.TEXT),))
            for name in scontrol_command.ENTITIES
        )
        yield CommandLine("show", "", commands=tuple(shown))
    elif command == "sacctmgr":
        entities_of = {
            **dict.fromkeys(("show", "list"), sacctmgr_options.ENTITIES),
            **{verb: sacctmgr_options.CHANGEABLE for forms in sacctmgr_options.ACTIONS.values() for verb, _ in forms},
        }
        for verb, rows in entities_of.items():
            entities = dict.fromkeys(str(row[2]) for row in rows)
            yield CommandLine(verb, "", operands=(Word.ONE_OF,), choices=tuple(entities))
    elif command == "sreport":
        for kind, reports in sreport_options.REPORTS.items():
            yield CommandLine(kind, "", operands=(Word.ONE_OF,), choices=tuple(name for name, _, _ in reports))


def _text(command: str) -> str:
    """What the help page of a command says of its requests."""
    of = COMMANDS[command]
    if command not in {"scontrol", "sacctmgr", "sreport"}:
        return ""
    paragraphs = of.help.split("\n\n")[1:]
    return "\n\n".join(
        "\n".join(f"    {line.strip()}" if line.startswith("  ") else line for line in paragraph.splitlines())
        for paragraph in paragraphs
        if not paragraph.lstrip().startswith("-")
    )
