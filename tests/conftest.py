"""Settings of all tests: generated cases, their order, and what whole folders of them need.

Generated cases are new ones at every run of a developer's, the same ones in CI, where a find would hit a bystander.
"""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

from tests.thoroughness import examples

_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", _UNTIMED, derandomize=True, print_blob=True, max_examples=examples(100))
settings.register_profile("dev", _UNTIMED, max_examples=examples(100))
settings.load_profile("ci" if os.environ.get("CI") else "dev")

# a shell starts what it runs in the background without Control-C, and the commands that we try would inherit that
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """`pytest -n auto`: two for each CPU, since half of the suite's time is spent waiting for jobs."""
    return 2 * (os.cpu_count() or 1)


_FIRST: Final = ("conformance", "component")
_NEEDS: Final = {
    "clients": (("clients",), 900),
    "cluster": (("cluster", "alone"), 600),
    "prometheus": (("prometheus",), 600),
    "schedulers": (("cluster", "alone"), 1800),  # the first case builds
    "templates": (("templates",), 900),
    "web": (("web",), 300),
}
"""Marks of all cases of a folder, and how many seconds each of them has."""


def pytest_sessionstart() -> None:
    """Fourteen thousand cases stay to the end: looking among them for garbage again and again takes a third of the time
    to collect them.
    """
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What waits for jobs comes first, units last: no process is left alone with a long file at the end."""
    at = len(Path(__file__).parent.parts)
    by_folder: dict[str, list[pytest.Item]] = {folder: [] for folder in _FIRST}
    for item in items:
        by_folder.setdefault(item.path.parts[at], []).append(item)
    for folder, (marks, limit_s) in _NEEDS.items():
        for item in by_folder.get(folder, ()):
            for mark in marks:
                item.add_marker(mark)
            item.add_marker(pytest.mark.timeout(limit_s))
    items[:] = [item for folder in by_folder.values() for item in folder]
