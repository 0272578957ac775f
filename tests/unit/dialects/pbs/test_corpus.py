"""Real scripts: each is read whole, or refused with its line and column."""

from __future__ import annotations

import warnings
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hpcbatch.dialects.pbs.directives import scan
from hpcbatch.dialects.pbs.submit import read_submission
from hpcbatch.errors import DirectiveError, NotSupportedError

SCRIPTS = Path(__file__).parents[5] / "shared" / "corpus" / "pbs"
FILES = sorted(SCRIPTS.iterdir()) if SCRIPTS.is_dir() else []
# What the scripts take from their submitters' environment.
ENVIRON = {"HOME": "/home/u", "OMP_NUM_THREADS": "1", "OMP_DYNAMIC": "0", "MKL_NUM_THREADS": "1", "MKL_DYNAMIC": "0"}


def outcome(path: Path) -> DirectiveError | None:
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
    assert error.path == path.name
    assert error.line is not None
    assert error.column is not None
    line = path.read_bytes().split(b"\n")[error.line - 1].decode("utf-8", "surrogateescape")
    assert 1 <= error.column <= len(line)


@pytest.mark.skipif(not FILES, reason=f"no corpus of real scripts at {SCRIPTS}")
def test_most_scripts_are_read() -> None:
    outcomes = [outcome(path) for path in FILES]
    read = outcomes.count(None)
    reasons = Counter(type(error).__name__ for error in outcomes if error is not None)
    print(f"\nreal PBS scripts read whole: {read} of {len(FILES)}; {dict(reasons)}")
    for path, error in zip(FILES, outcomes, strict=True):
        if error is not None:
            print(f"  {path.name}: {error}")
    # OpenPBS itself refuses those of Torque, NQSV and Moab; the others ask for what a site has defined.
    supported = len(FILES) - sum(isinstance(error, NotSupportedError) for error in outcomes)
    if read * 2 < supported:
        warnings.warn(f"only {read} of {len(FILES)} scripts are read", stacklevel=1)
    assert read * 2 > len(FILES)


@pytest.mark.skipif(not FILES, reason=f"no corpus of real scripts at {SCRIPTS}")
def test_scripts_have_directives() -> None:
    found = 0
    for path in FILES:
        try:
            found += bool(list(scan(path.read_bytes())))
        except DirectiveError:
            found += 1
    assert found >= len(FILES) - 2
