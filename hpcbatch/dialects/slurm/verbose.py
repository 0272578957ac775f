"""What -v adds: the options as the command has understood them. Layouts: recorded from Slurm."""

from __future__ import annotations

from collections.abc import Sequence

from hpcbatch.dialects.slurm.getopt import Given, Parser, Takes

_RULE = "-" * 29
_SIDES = f"{'-' * 20} {'-' * 20}"


def level(given: Sequence[Given]) -> int:
    """How often -v was given."""
    return sum(each.option.name == "verbose" for each in given)


def all_options(parser: Parser, given: Sequence[Given]) -> str:
    """sinfo, squeue: every option between two lines, with its value where it was given."""
    values = {each.option.name: each.value for each in given}
    lines = []
    for option in sorted(parser.options, key=lambda option: option.name):
        if option.name == "verbose":
            value = str(level(given))
        elif option.takes is Takes.NOTHING:
            value = "true" if option.name in values else "false"
        else:
            value = values.get(option.name) or "(null)"
        lines.append(f"{option.name:<11} = {value}")
    return "\n".join((_RULE, *lines, _RULE)) + "\n"


def given_options(command: str, given: Sequence[Given]) -> str:
    """sbatch: the options that were given, one a line, each once."""
    values = {each.option.name: "set" if each.value is None else each.value for each in given}
    values |= {"verbose": str(level(given))} if level(given) else {}
    lines = [f"{name:<20}: {values[name]}" for name in sorted(values)]
    return "\n".join(
        f"{command}: {line}" for line in ("defined options", _SIDES, *lines, _SIDES, "end of defined options")
    )
