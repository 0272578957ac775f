"""Real scripts: each is read whole, but those that no PBS takes."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hpcbatch.dialects.pbs.directives import scan
from hpcbatch.dialects.pbs.submit import read_submission
from hpcbatch.errors import DirectiveError, ObstaclesError
from hpcbatch.model.outcome import Fate, Outcome

SCRIPTS = Path(__file__).parents[5] / "shared" / "corpus" / "pbs"
FILES = sorted(SCRIPTS.iterdir()) if SCRIPTS.is_dir() else []
# What the scripts take from their submitters' environment.
ENVIRON = {"HOME": "/home/u", "OMP_NUM_THREADS": "1", "OMP_DYNAMIC": "0", "MKL_NUM_THREADS": "1", "MKL_DYNAMIC": "0"}
DIRECTIVE = re.compile(rb"\s*#(PBS[ \t]+[^\s#]|MSUB)")

REFUSED_BY_ALL = {
    # `#PBS -A ` and `#PBS -M ` without a value: every getopt refuses them
    "chenikabukes__FLuID_PyTorch__array.pbs": [
        ":6:6: option requires an argument -- 'A'",
        ":8:6: option requires an argument -- 'M'",
    ],
}
"""Scripts that no PBS takes, with what is wrong with them."""


def read(path: Path, outcomes: list[Outcome] | None = None) -> list[str]:
    """What is wrong with the script."""
    try:
        read_submission(
            [path.name],
            script=lambda name: (f"/scripts/{name}", path.read_bytes()),
            environ=ENVIRON,
            cwd="/scripts",
            host="login",
            user="u",
            server="pbs1",
            now=datetime(2026, 11, 21, tzinfo=UTC),
            outcomes=outcomes,
        )
    except ObstaclesError as error:
        return [str(problem).removeprefix(path.name) for problem in error.problems]
    except DirectiveError as error:
        return [str(error).removeprefix(path.name)]
    return []


@pytest.mark.skipif(not FILES, reason=f"no corpus of real scripts at {SCRIPTS}")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_script_is_read_unless_no_pbs_takes_it(path: Path) -> None:
    assert read(path) == REFUSED_BY_ALL.get(path.name, [])


@pytest.mark.skipif(not FILES, reason=f"no corpus of real scripts at {SCRIPTS}")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_each_directive_has_its_outcome(path: Path) -> None:
    outcomes: list[Outcome] = []
    refused = bool(read(path, outcomes))
    assert refused == any(outcome.fate is Fate.REFUSED for outcome in outcomes)
    content = path.read_bytes()
    read_lines = {word.origin.line for directive in scan(content) for word in directive.words[:1]}
    every = {number for number, line in enumerate(content.split(b"\n"), start=1) if DIRECTIVE.match(line)}
    assert {outcome.line for outcome in outcomes if outcome.line is not None} == read_lines | every


@pytest.mark.skipif(not FILES, reason=f"no corpus of real scripts at {SCRIPTS}")
def test_scripts_have_directives() -> None:
    found = 0
    for path in FILES:
        try:
            found += bool(list(scan(path.read_bytes())))
        except DirectiveError:
            found += 1
    assert found >= len(FILES) - 2
