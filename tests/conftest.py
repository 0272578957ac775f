"""Generated cases: new ones at every run of a developer's, the same ones in CI, where a find would hit a bystander."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("dev", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """`pytest -n auto`: two for each CPU, since half of the suite's time is spent waiting for jobs."""
    return 2 * (os.cpu_count() or 1)
