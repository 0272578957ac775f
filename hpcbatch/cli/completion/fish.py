"""The script for fish, which reads one file for each command: each of them, or all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hpcbatch.cli.completion.paths import At, all_paths, kind, operand_kinds, quoted
from hpcbatch.model.command_line import Flag

_FUNCTIONS = """# Completion for fish, made by `hpcbatch completion fish`.

# Whether the words before the cursor lead to the command $argv[1] of those that begin so.
function __hpcbatch_at
    set -l words (commandline -opc)
    set -l at (string replace -r '.*/' '' -- $words[1])
    for word in $words[2..-1]
        if contains -- "$at $word" $__hpcbatch_paths
            set at "$at $word"
        end
    end
    test "$at" = "$argv[1]"
end

# The values of a dependency: what may stand before the colon, $argv[2..], or behind it the jobs of $argv[1].
function __hpcbatch_dependency
    set -l word (commandline -ct | string replace -r '^--[a-z-]*=' '')
    set -l before (string replace -r '[^,?]*$' '' -- $word)
    if string match -q '*:*' -- (string replace -r '.*[,?]' '' -- $word)
        set before (string replace -r '[^:]*$' '' -- $word)
        string replace -r '^' -- $before (hpcbatch complete job $argv[1] 2>/dev/null)
    else
        string replace -r '^' -- $before $argv[2..-1]:
    end
end

"""
_WORDS = {"file": "", "directory": "(__fish_complete_directories)", "user": "(__fish_complete_users)"}


def script(command: str | None = None) -> str:
    """Of one command, or of all."""
    paths = [at for at in all_paths() if command in (None, at.path.partition(" ")[0])]
    within = " ".join(quoted(at.path) for at in paths if " " in at.path)
    return "".join([_FUNCTIONS, f"set -ga __hpcbatch_paths {within}\n" if within else "", *_lines(paths)])


def _lines(paths: Sequence[At]) -> Iterator[str]:
    for at in paths:
        name, _, below = at.path.partition(" ")
        has_paths = bool(below or at.line.commands)
        condition = quoted(f'__hpcbatch_at "{at.path}"')
        start = f"complete -c {name} -n {condition}" if has_paths else f"complete -c {name}"
        kinds = operand_kinds(at.line)
        if not {"file", "directory", "command"} & set(kinds):
            yield f"{start} -f\n"
        for each in dict.fromkeys(kinds):
            words = _completed(each, at.dialect)
            if words:
                yield f"{start} -f -k -a {quoted(words)}\n"
        for command in at.line.commands:
            yield f"{start} -f -a {quoted(command.name)} -d {quoted(command.about)}\n"
        for flag in at.line.flags:
            yield f"{start} {_option(flag, at.dialect)}\n"


def _option(flag: Flag, dialect: str) -> str:
    words = [f"{_kind_of(name)} {name.lstrip('-')}" for name in flag.names]
    if flag.takes:
        completed = _completed(kind(flag.word, flag.choices), dialect)
        if flag.takes == "=":
            words.append("-r -F" if flag.word == "file" else "-x")
        if completed:
            words.append(f"-a {quoted(completed)}")
    return " ".join([*words, f"-d {quoted(flag.about)}"])


def _kind_of(name: str) -> str:
    """Fish's option for it: `--name`, `-n`, or `-name` as a whole."""
    if name.startswith("--"):
        return "-l"
    return "-s" if len(name) == 2 else "-o"


def _completed(each: str, dialect: str) -> str:
    """What completes a word of the kind; "" where nothing but fish itself does."""
    if each.startswith("one-of:"):
        return each.removeprefix("one-of:").replace(",", " ")
    if each.startswith("dependency:"):
        return f"(__hpcbatch_dependency {dialect} {each.removeprefix('dependency:').replace(',', ' ')})"
    if each in ("job", "queue", "node"):
        return f"(hpcbatch complete {each} {dialect or 'slurm'} 2>/dev/null)"
    if each == "command":
        return "(__fish_complete_subcommand)"
    return _WORDS.get(each, "")
