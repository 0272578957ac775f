"""Help texts name what works, all of it and nothing else."""

from __future__ import annotations

import re

import pytest

from hpcbatch.dialects.pbs import options as pbs_options
from hpcbatch.dialects.pbs import usage
from hpcbatch.dialects.slurm.command_lines import COMMANDS, full_help, said_in_help
from hpcbatch.dialects.slurm.help import SBATCH_HELP, SCONTROL_USAGE
from hpcbatch.dialects.slurm.options import OPTIONS, Support
from hpcbatch.dialects.slurm.scontrol_command import ENTITIES, KEYWORDS

NOT_SUPPORTED_BY_QSUB = set("IXuc")
"""`-c n` is taken, and what happens anyway."""


def test_sbatch() -> None:
    named = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", SBATCH_HELP, re.MULTILINE))
    done = {option.name for option in OPTIONS if option.support in {Support.HONOURED, Support.TRANSLATED}}
    assert done <= named
    assert named - done == {"comment"}


@pytest.mark.parametrize(
    "command",
    ["sacct", "sacctmgr", "scancel", "scontrol", "sdiag", "sinfo", "sprio", "squeue", "sreport", "sshare", "sstat"],
)
def test_every_option_stands_on_the_help_page(command: str) -> None:
    of = COMMANDS[command]
    said = said_in_help(of.help)
    for option in of.parser.options:
        longs = [f"--{name}" for name in (option.name, *option.aliases)]
        assert any(long.startswith(name) for name in said for long in longs if len(name) > 3), option.name
        assert not option.short or f"-{option.short}" in said


@pytest.mark.parametrize("command", ["srun", "salloc"])
def test_help_made_of_the_options(command: str) -> None:
    text = full_help(command)
    assert text.startswith(f"Usage: {command} [OPTIONS...]")
    for option in COMMANDS[command].parser.options:
        assert re.search(rf"^  (.*, |    )?--{option.name}\b", text, re.MULTILINE), option.name
    assert "  -d, --dependency=type:jobid[:time] " in text
    assert all(len(line) < 120 for line in text.splitlines())


def test_scontrol() -> None:
    lines = re.findall(r"^  ([a-z_]+)(?: ([a-z]+))?", SCONTROL_USAGE, re.MULTILINE)
    assert {verb for verb, _ in lines} >= {"create", "delete", *KEYWORDS} - {"holdu"}
    assert {verb for verb, _ in lines} <= KEYWORDS.keys() | {"reconfigure", "create", "delete"}
    shown = " ".join(re.findall(r"(?:^  |, )show ([a-z]+)", SCONTROL_USAGE, re.MULTILINE)).split()
    assert all(any(entity.startswith(word) for entity in ENTITIES) for word in shown)
    assert all(any(entity.startswith(word) for word in shown) for entity in ENTITIES)


def test_qsub() -> None:
    named = set(re.findall(r"\[-(\w)", usage.QSUB))
    assert named == set(pbs_options.QSUB.replace(":", "")) - NOT_SUPPORTED_BY_QSUB
