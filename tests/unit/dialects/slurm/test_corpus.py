"""Real scripts: each is read whole, or refused with its line and column."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.submit import read_submission
from hpcbatch.errors import DirectiveError, NotSupportedError

SCRIPTS = Path(__file__).parents[5] / "shared" / "corpus" / "slurm"
FILES = sorted(SCRIPTS.iterdir()) if SCRIPTS.is_dir() else []
NO_BATCH_SCRIPT = ("does not look like a batch script", "DOS line breaks", "mutually exclusive")


def outcome(path: Path) -> DirectiveError | None:
    try:
        read_submission(
            [path.name],
            script=lambda name: (f"/scripts/{name}", path.read_bytes()),
            environ={},
            cwd="/scripts",
            host="login",
            user="u",
            server="cluster",
            now=datetime(2026, 11, 21, tzinfo=UTC),
            umask=0o22,
        )
    except DirectiveError as error:
        return error
    return None


@pytest.mark.skipif(not FILES, reason=f"no corpus of real scripts at {SCRIPTS}")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_script_is_read_or_refused_at_its_place(path: Path) -> None:
    error = outcome(path)
    if error is None:
        return
    if isinstance(error, SlurmUsageError) and any(text in error.text for text in NO_BATCH_SCRIPT):
        return  # about the script as a whole
    assert error.path == path.name
    assert error.line is not None
    assert error.column is not None
    line = path.read_bytes().split(b"\n")[error.line - 1].decode("utf-8", "surrogateescape")
    assert line.startswith("#")
    assert 1 <= error.column <= len(line)


@pytest.mark.skipif(not FILES, reason=f"no corpus of real scripts at {SCRIPTS}")
def test_scripts_are_read_but_for_what_is_not_supported() -> None:
    outcomes = {path.name: outcome(path) for path in FILES}
    kinds = Counter(type(error).__name__ for error in outcomes.values())
    print(f"\nreal Slurm scripts: {dict(kinds)}")
    for name, error in outcomes.items():
        if error is not None:
            print(f"  {name}: {error}")
    read = [error for error in outcomes.values() if not isinstance(error, SlurmUsageError)]
    assert all(error is None or isinstance(error, NotSupportedError) for error in read)
    # Most of the others ask for an array, several parts or a place inside a node.
    assert list(outcomes.values()).count(None) * 3 > len(FILES)
