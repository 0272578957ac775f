"""Settings of all tests: generated cases, and their order.

Generated cases are new ones at every run of a developer's, the same ones in CI, where a find would hit a bystander.
"""

from __future__ import annotations

import os
import signal

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What waits for jobs comes first, units last: no process is left alone with a long file at the end."""
    order = ("conformance", "component")
    items.sort(key=lambda item: next((n for n, name in enumerate(order) if name in item.path.parts), len(order)))
