"""LSF's commands that are not here say so."""

from __future__ import annotations

import pytest

from hpcbatch.cli import PACKAGES, module_of
from hpcbatch.dialects.lsf.absent import COMMANDS, refusal
from hpcbatch.dialects.lsf.errors import FAILED, describe


def test_each_name_leads_here() -> None:
    assert {module_of(name) for name in COMMANDS} == {"hpcbatch.cli.lsf.absent"}
    assert not COMMANDS.keys() & set(PACKAGES["lsf"])


@pytest.mark.parametrize("command", COMMANDS)
def test_said_with_what_is_instead(command: str) -> None:
    text, code = describe(refusal(command), command)
    first, second = text.splitlines()
    assert first == f"{command}: Not supported here"
    assert second == f"hpcbatch has no {command}: {COMMANDS[command]}"
    assert code == FAILED
