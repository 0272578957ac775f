"""A pod in which the runner runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.component.runner_pod import RunnerPod


@pytest.fixture
def pod(shell: str, tmp_path: Path) -> RunnerPod:
    return RunnerPod(tmp_path, shell)
