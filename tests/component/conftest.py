"""What several files of tests start from."""

from __future__ import annotations

import pytest

from tests.component.runner_pod import SHELLS, shell_or_skip


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A program called `sh` that is one of the shells which images have; the runner's scripts run in each."""
    return shell_or_skip(request.param, tmp_path_factory)
