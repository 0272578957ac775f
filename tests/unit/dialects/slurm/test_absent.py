"""Slurm's commands that are not here say so."""

from __future__ import annotations

import pytest

from hpcbatch.cli import module_of
from hpcbatch.dialects.slurm.absent import COMMANDS, refusal
from hpcbatch.dialects.slurm.errors import SlurmAnswer


def test_each_name_leads_here() -> None:
    assert {module_of(name) for name in COMMANDS} == {"hpcbatch.cli.slurm.absent"}


@pytest.mark.parametrize("command", COMMANDS)
def test_said_with_what_is_instead(command: str) -> None:
    error = refusal(command, ["12.0"])
    first, second = error.text.splitlines()
    assert first.startswith(f"{command}: ")
    assert second == f"{command}: hpcbatch has no {command}: {COMMANDS[command].instead}"
    assert error.code == 1
    for option in ("-V", "--help"):
        with pytest.raises(SlurmAnswer):
            refusal(command, [option])
