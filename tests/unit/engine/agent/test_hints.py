from __future__ import annotations

from pathlib import Path

import pytest

from hpcbatch.engine.agent.hints import runner_hints

WORKS, FAILS = "#!/bin/sh\nexit 0\n", "#!/bin/sh\nexit 1\n"


@pytest.mark.parametrize(
    ("name", "program", "expected"),
    [
        ("setsid", WORKS, {"HPCBATCH_HAS_SETSID": "wait"}),
        ("setsid", FAILS, {}),
        ("env", WORKS, {"HPCBATCH_ENV": "{}/env"}),
        ("env", FAILS, {}),
        ("other", WORKS, {}),
    ],
)
def test_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, program: str, expected: dict[str, str]
) -> None:
    """busybox's setsid knows no --wait, its env no -S; and an image may have none."""
    (tmp_path / name).write_text(program)
    (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert runner_hints(str(tmp_path)) == {key: text.format(tmp_path) for key, text in expected.items()}
