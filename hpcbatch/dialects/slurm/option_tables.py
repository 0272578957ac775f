"""sbatch's options as tables for docs/directives.md."""

from __future__ import annotations

from hpcbatch.dialects.slurm.getopt import Takes
from hpcbatch.dialects.slurm.options import OPTIONS, SbatchOption
from hpcbatch.dialects.slurm.plugins import KNOWN

_HEADING = ("Option", "Variable", "", "What becomes of it")
_VALUE = {Takes.NOTHING: "", Takes.VALUE: "=", Takes.OPTIONAL: "[=]"}


def tables() -> dict[str, list[tuple[str, ...]]]:
    options = [(_names(each), _code(each.environment), each.support.value, each.meaning) for each in OPTIONS]
    plugins = [(f"`--{name}{_VALUE[takes]}`", "", support.value, meaning) for name, takes, support, meaning in KNOWN]
    return {"options of sbatch": [_HEADING, *options], "options of plugins of sbatch": [_HEADING, *plugins]}


def _names(option: SbatchOption) -> str:
    """The long name first, with `=` where a value follows, then the short one and all others."""
    value = _VALUE[option.takes]
    others = (*(f"-{letter}" for letter in option.short), *(f"--{name}" for name in (*option.aliases, *option.exact)))
    return ", ".join(dict.fromkeys([f"`--{option.name}{value}`", *(f"`{name}`" for name in others)]))


def _code(names: tuple[str, ...]) -> str:
    return " ".join(f"`{name}`" for name in names)
