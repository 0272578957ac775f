"""#PBS and #BSUB lines in a script that is given to sbatch: what options of sbatch the real one makes of them.

Source: xlate.c of sbatch, 22.05. Lines are read beyond the first command, until 100 others that are no comments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from hpcbatch.dialects.slurm import values
from hpcbatch.dialects.slurm.directives import Word, split_line
from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.typed import NamedTuple

_OTHER_LINES = 100
_BSUB_LONG = {
    "cwd": "c",
    "error_file": "e",
    "job_name": "J",
    "hostname": "m",
    "memory_limit": "M",
    "output_file": "o",
    "queue_name": "q",
    "time": "W",
    "exclusive": "x",
}
_PBS_LONG = {
    "start_time": "a",
    "account": "A",
    "checkpoint": "c",
    "working_dir": "C",
    "error": "e",
    "hold": "h",
    "interactive": "I",
    "join": "j",
    "job_array": "J",
    "keep": "k",
    "resource_list": "l",
    "mail_options": "m",
    "mail_user_list": "M",
    "job_name": "N",
    "out": "o",
    "priority": "p",
    "destination": "q",
    "rerunable": "r",
    "script_path": "S",
    "array": "t",
    "running_user": "u",
    "variable_list": "v",
    "all_env": "V",
    "attributes": "W",
    "no_std": "z",
}
_BSUB_SAME = {"c": "chdir", "e": "error", "J": "job-name", "o": "output", "q": "partition", "W": "time"}
_PBS_SAME = {
    "a": "begin",
    "A": "account",
    "e": "error",
    "J": "array",
    "M": "mail-user",
    "N": "job-name",
    "o": "output",
    "p": "nice",
    "q": "partition",
    "t": "array",
}
_PASSED_OVER = "the real sbatch passes over it, too"
_BLANKS = " \t\n\v\f\r"


class Foreign(NamedTuple):
    """One option of #PBS or #BSUB: what sbatch's options it becomes, none: it is passed over."""

    text: str
    line: int
    column: int
    becomes: tuple[tuple[str, str], ...] = ()
    """Long names with values."""
    error: SlurmUsageError | None = None

    @property
    def meaning(self) -> str:
        if not self.becomes:
            return _PASSED_OVER
        return "; ".join(f"--{name}={value}" if value else f"--{name}" for name, value in self.becomes)


def foreign_options(script: bytes, path: str) -> list[Foreign]:
    """The options of all #BSUB lines, or else of all #PBS lines."""
    for magic, flags, long, read in (
        ("#BSUB", "x", _BSUB_LONG, _bsub),
        ("#PBS", "hIVz", _PBS_LONG, _pbs),
    ):
        words, is_found = _words(script, magic, path)
        if is_found:
            return list(_options(words, flags, long, magic, read))
    return []


def _words(script: bytes, magic: str, path: str) -> tuple[list[Word], bool]:
    words: list[Word] = []
    is_found, others = False, 0
    for number, raw in enumerate(script.split(b"\n"), start=1):
        line = raw.decode("utf-8", "surrogateescape")
        if not line.startswith(magic):
            others += not line.startswith("#")
            if others > _OTHER_LINES:
                break
            continue
        is_found = True
        words += split_line(line, len(magic), number, path)
    return words, is_found


def _options(
    words: list[Word], flags: str, long: dict[str, str], magic: str, read: Callable[[Foreign, str, str], Foreign]
) -> Iterator[Foreign]:
    """getopt over the words; it ends with the first that it does not know."""
    letters = set(long.values()) | ({"n"} if magic == "#BSUB" else set())
    at = 0
    while at < len(words):
        word = words[at]
        if not word.text.startswith("-") or word.text == "-":
            yield _wrong(word, f"Invalid argument: {word.text}")
            return
        letter, value, at_once = _split(word.text, long)
        if letter not in letters:
            yield _wrong(
                word, f"invalid option -- '{letter}'" if len(letter) == 1 else f"unrecognized option '{word.text}'"
            )
            return
        text = word.text
        at += 1
        if letter in flags:
            rest = value
            yield read(Foreign(f"{magic} -{letter}", word.line, word.column), letter, "")
            if rest and not at_once:
                words = [*words[:at], word._replace(text=f"-{rest}"), *words[at:]]
            continue
        if not value and not at_once:
            if at >= len(words):
                yield _wrong(word, f"option requires an argument -- '{letter}'")
                return
            value = words[at].text
            text = f"{text} {value}"
            at += 1
        yield read(Foreign(f"{magic} {text}", word.line, word.column), letter, value)


def _split(text: str, long: dict[str, str]) -> tuple[str, str, bool]:
    """Letter, value, and whether the value was given with `=`."""
    if text == "-cwd" and long is _BSUB_LONG:
        return "c", "", False
    if not text.startswith("--"):
        return text[1], text[2:], False
    name, equals, value = text[2:].partition("=")
    fits = [full for full in long if full.startswith(name)]
    full = name if name in long else fits[0] if len(fits) == 1 else ""
    return long.get(full, text), value, bool(equals)


def _wrong(word: Word, text: str) -> Foreign:
    prefix = "sbatch: error: " if text.startswith("Invalid argument") else "sbatch: "
    more = "" if text.startswith("Invalid argument") else "\nsbatch: error: Unrecognized command line parameter ?"
    return Foreign(word.text, word.line, word.column, error=SlurmUsageError(f"{prefix}{text}{more}"))


def _bsub(option: Foreign, letter: str, value: str) -> Foreign:
    match letter:
        case "m":
            becomes = ("nodelist", value.replace(" ", ","))
        case "M":
            becomes = ("mem-per-cpu", f"{value}K" if value[-1:].isdigit() else value)
        case "n":
            least, comma, most = value.partition(",")
            if comma and not most:
                return option._replace(
                    error=SlurmUsageError(f"sbatch: error: #BSUB -n format not correct given: '{value}'")
                )
            becomes = ("ntasks", most or least)
        case "x":
            becomes = ("exclusive", "")
        case _:
            becomes = (_BSUB_SAME[letter], value)
    return option._replace(becomes=(becomes,))


def _pbs(option: Foreign, letter: str, value: str) -> Foreign:
    if letter in _PBS_SAME:
        return option._replace(becomes=((_PBS_SAME[letter], value),))
    match letter:
        case "h":
            return option._replace(becomes=(("hold", ""),))
        case "l":
            return option._replace(becomes=tuple(_resources(value)))
        case "m":
            return option._replace(becomes=tuple(("mail-type", types) for types in _mail_types(value)))
        case "v":
            return option._replace(becomes=(("export", value),))
        case "W" if value.lower().startswith("umask="):
            return option._replace(becomes=(("umask", value[6:]),))
        case "W" if value.lower().startswith("depend="):
            return option._replace(becomes=(("dependency", value[7:]),))
        case _:
            return option


def _mail_types(value: str) -> Iterator[str]:
    letters = value.lower()
    if "n" in letters:
        yield "NONE"
        return
    types = [name for letter, name in (("b", "BEGIN"), ("e", "END"), ("a", "FAIL")) if letter in letters]
    if types:
        yield ",".join(types)


_RESOURCE = re.compile(
    r"(accelerator|naccelerators|mpiprocs|ncpus|select)=|(cput|pcput|file|mem|nice|nodes|proc|walltime)=|"
    r"(arch|host|opsys|other|pmem|pvmem|software|vmem)=",
    re.IGNORECASE,
)
_OF_CHUNK = {"mpiprocs": "ntasks-per-node", "ncpus": "mincpus", "select": "nodes"}


def _resources(text: str) -> Iterator[tuple[str, str]]:
    """A -l list. A name counts wherever it stands; those of PBS Pro end at a colon, the others at a comma."""
    at, gpus = 0, 0
    pro: dict[str, str] = {}
    while at < len(text):
        match = _RESOURCE.match(text, at)
        if match is None:
            at += 1
            continue
        name = match[0][:-1].lower()
        at = match.end()
        if name == "accelerator":
            gpus = max(gpus, int(text[at : at + 4].lower() == "true"))
            continue
        stop = ":" if name in _OF_CHUNK else ","
        value, _, _ = text[at:].partition(stop)
        at += len(value) + 1
        if name in _OF_CHUNK:
            pro[name] = value
            yield _OF_CHUNK[name], value
        elif name == "naccelerators":
            gpus = values.leading_number(value)
        elif name in {"cput", "pcput", "walltime"}:
            yield "time", value
        elif name in {"file", "mem"}:
            yield {"file": "tmp", "mem": "mem"}[name], value[:-1] if value[-1:] in {"b", "B"} else value
        elif name == "nice":
            yield "nice", value
        elif name == "proc":
            yield "constraint", value
        elif name == "nodes":
            yield from _nodes(value)
    if len(pro) == len(_OF_CHUNK):
        cpus, ranks = (values.leading_number(pro[name]) for name in ("ncpus", "mpiprocs"))
        if cpus > ranks > 0:
            yield "cpus-per-task", str(cpus // ranks)
    if gpus > 0:
        yield "gres", f"gpu:{gpus}"


def _nodes(text: str) -> Iterator[tuple[str, str]]:
    """`nodes=2:ppn=4+n7`: numbers add up, and what begins with a letter is the name of a node."""
    count, ppn = 0, 0
    hosts: list[str] = []
    for part in re.split("[+:]", text):
        if part.startswith("gpus="):
            yield "gpus-per-node", part[5:]
        elif part.startswith("ppn="):
            ppn += values.leading_number(part[4:])
        elif part[:1].isdigit():
            count += int(re.match("[0-9]{1,9}", part)[0])  # type: ignore[index]
        elif part[:1].isalpha():
            hosts.append(part)
    if count:
        yield "nodes", str(count)
    if ppn:
        yield "ntasks", str(ppn * (count or 1))
    if hosts:
        yield "nodelist", ",".join(hosts)
