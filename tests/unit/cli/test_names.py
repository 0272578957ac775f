"""Every command is installed, and its name leads to its module."""

from __future__ import annotations

from hpcbatch.cli import PACKAGES, absent, module_of
from tests.unit.test_requirements import CHECKOUT

INSTALLED = (CHECKOUT / "pyproject.toml").read_text()


def test_every_command_is_installed() -> None:
    names = [name for dialect, commands in PACKAGES.items() for name in (*commands, *absent(dialect))]
    assert len(names) == len(set(names))
    for name in names:
        assert f'    "scripts/{name}",\n' in INSTALLED
        assert (CHECKOUT / "scripts" / name).is_symlink()


def test_absent_commands_say_so() -> None:
    for dialect in PACKAGES:
        for name in absent(dialect):
            assert module_of(name) == f"hpcbatch.cli.{dialect}.absent"
