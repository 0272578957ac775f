"""`hpcbatch … --help` says of each command what it does, to the end of the sentence."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from hpcbatch.cli.common import Session
from hpcbatch.cli.hpcbatch import group

CUT = "...\n"


def groups(command: click.Command, *names: str) -> Iterator[tuple[str, ...]]:
    """The words of each group of commands."""
    if isinstance(command, click.Group):
        yield names
        for name, each in command.commands.items():
            yield from groups(each, *names, name)


@pytest.mark.parametrize("words", [*groups(group)], ids=" ".join)
def test_no_line_of_the_help_is_cut(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(group, [*words, "--help"], obj=Session(os.environ))
    assert done.exit_code == 0
    assert CUT not in done.output.partition("\n")[2]  # the first line has click's [ARGS]...
