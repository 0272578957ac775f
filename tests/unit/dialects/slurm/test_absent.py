"""Slurm's commands that are not here say so."""

from __future__ import annotations

import pytest

from hpcbatch.cli import ABSENT, PACKAGES, module_of
from hpcbatch.dialects.slurm.absent import COMMANDS, refusal
from hpcbatch.dialects.slurm.errors import SlurmAnswer
from tests.unit.test_requirements import CHECKOUT

INSTALLED = (CHECKOUT / "pyproject.toml").read_text()


def test_each_name_has_its_words() -> None:
    assert set(ABSENT["slurm"]) == COMMANDS.keys()


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


def test_every_command_is_installed() -> None:
    names = [name for table in (PACKAGES, ABSENT) for commands in table.values() for name in commands]
    assert len(names) == len(set(names))
    for name in names:
        assert f'    "scripts/{name}",\n' in INSTALLED
        assert (CHECKOUT / "scripts" / name).is_symlink()
        assert (module_of(name) == "hpcbatch.cli.slurm.absent") is (name in COMMANDS)
