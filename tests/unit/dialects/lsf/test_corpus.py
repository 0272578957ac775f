"""Real scripts: each is read whole, and each of its #BSUB lines is accounted for."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hpcbatch.dialects.registry import door
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.outcome import Fate, Outcome

SCRIPTS = Path(__file__).parents[5] / "shared" / "corpus" / "lsf"
FILES = sorted(SCRIPTS.iterdir()) if SCRIPTS.is_dir() else []
DIRECTIVE = re.compile(rb"[ \t]*#[ \t]*BSUB[ \t]+-")


@pytest.mark.skipif(not FILES, reason=f"no corpus of real scripts at {SCRIPTS}")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_script_is_read_without_loss(path: Path) -> None:
    outcomes: list[Outcome] = []
    content = path.read_bytes()
    spec = door(Dialect.LSF).read_script(path.name, content, datetime(2026, 11, 21, tzinfo=UTC), outcomes, {}).spec
    lines = {number for number, line in enumerate(content.split(b"\n"), start=1) if DIRECTIVE.match(line)}
    assert {outcome.line for outcome in outcomes} == lines
    assert not [outcome for outcome in outcomes if outcome.fate is Fate.REFUSED]
    told = {text.partition(": ")[0] for text in spec.ignored}
    assert told == {outcome.option for outcome in outcomes if outcome.fate is Fate.IGNORED}
