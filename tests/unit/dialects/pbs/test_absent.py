"""PBS's commands that are not here say so."""

from __future__ import annotations

import pytest

from hpcbatch.cli import module_of
from hpcbatch.dialects.pbs.absent import COMMANDS, refusal
from hpcbatch.dialects.pbs.errors import describe


def test_each_name_leads_here() -> None:
    assert {module_of(name) for name in COMMANDS} == {"hpcbatch.cli.pbs.absent"}


@pytest.mark.parametrize("command", COMMANDS)
def test_said_with_what_is_instead(command: str) -> None:
    text, code = describe(refusal(command), command)
    first, second = text.splitlines()
    assert first == f"{command}: {COMMANDS[command].error}"
    assert second == f"{command}: hpcbatch has no {command} here: {COMMANDS[command].instead}"
    assert code == COMMANDS[command].code > 0
