"""Command lines as they stand in texts: the commands of ours in them, and options that these do not have."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

import click

from hpcbatch.cli.new import new
from hpcbatch.cli.own_lines import known_commands, own_line
from hpcbatch.model.command_line import CommandLine, Flag

_KNOWN = known_commands()
_BEFORE = frozenset({"do", "then", "else", "exec", "time", "nohup", "sudo", "!", "{"})
"""Words behind which a command begins."""
_STOP = frozenset({"qsub", "sbatch", "srun", "salloc"})
"""Commands behind whose first operand all words are somebody else's."""


def unknown_options(text: str) -> list[str]:
    """`command: option` for each option in shell text that the command does not have."""
    found = []
    for words in _simple_commands(text):
        name = words[0].rpartition("/")[2]
        if name in _KNOWN:
            line, rest = _within(_KNOWN[name].line, words[1:])
            found += [f"{' '.join(words)}: {option}" for option in _unknown(line, rest, stops=name in _STOP)]
    return found


def _simple_commands(text: str) -> Iterator[list[str]]:
    """The words of each command, without the assignments before it. Raises ValueError for a quote that stays open."""
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";|&()<>")
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if not set(word) <= set(";|&()"):
                if words or not (word in _BEFORE or re.match(r"\w+=", word)):
                    words.append(word)
            else:
                if words:
                    yield words
                words = []


def _within(line: CommandLine, words: Sequence[str]) -> tuple[CommandLine, list[str]]:
    """The innermost command that the words name, and what stands behind its name."""
    path = [line.name]
    rest = list(words)
    while rest:
        inner = next((each for each in line.commands if each.name == rest[0] and each.usage), None)
        if path == ["hpcbatch", "new"] and inner is None:
            template = new.get_command(click.Context(new), rest[0])
            inner = own_line(template, rest[0]) if template else None
        if inner is None:
            break
        line, rest = inner, rest[1:]
        path.append(line.name)
    return line, rest


def _unknown(line: CommandLine, words: Sequence[str], *, stops: bool) -> Iterator[str]:
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return
        if word.startswith("--"):
            name, given, _ = word.partition("=")
            flags = _long(line, name)
            if not flags:
                yield word
            elif flags[0].takes == "=" and not given and rest:
                rest.pop(0)
        elif word.startswith("-") and word != "-":
            yield from _letters(line, word, rest)
        elif stops:
            return


def _long(line: CommandLine, name: str) -> list[Flag]:
    exact = [flag for flag in line.flags if name in flag.names]
    return exact or [flag for flag in line.flags if any(each.startswith(name) for each in flag.names)]


def _letters(line: CommandLine, word: str, rest: list[str]) -> Iterator[str]:
    for place, letter in enumerate(word[1:], 1):
        flag = next((flag for flag in line.flags if f"-{letter}" in flag.names), None)
        if flag is None:
            yield f"-{letter}"
            return
        if flag.takes:
            if flag.takes == "=" and not word[place + 1 :] and rest:
                rest.pop(0)
            return
