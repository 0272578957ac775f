from __future__ import annotations

from pathlib import Path

import pytest

from hpcbatch.engine.agent.hints import runner_hints


@pytest.mark.parametrize(
    ("program", "expected"),
    [("#!/bin/sh\nexit 0\n", {"HPCBATCH_HAS_SETSID": "wait"}), ("#!/bin/sh\nexit 1\n", {}), ("", {})],
)
def test_setsid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, expected: dict[str, str]) -> None:
    """busybox knows no --wait; and an image may have none."""
    if program:
        (tmp_path / "setsid").write_text(program)
        (tmp_path / "setsid").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert runner_hints(str(tmp_path)) == expected
