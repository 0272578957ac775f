"""Settings of all tests: generated cases, and the time that a case may take.

Generated cases are new ones at every run of a developer's, the same ones in CI, where a find would hit a bystander.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from time import monotonic

import pytest
from hypothesis import settings

from tests.thoroughness import examples

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True, max_examples=examples(100))
settings.register_profile("dev", deadline=None, max_examples=examples(100))
settings.load_profile("ci" if os.environ.get("CI") else "dev")

# a shell starts what it runs in the background without Control-C, and the commands that we try would inherit that
signal.signal(signal.SIGINT, signal.default_int_handler)

LONGEST_S = float(os.environ.get("HPCBATCH_LONGEST_CASE_S", "0"))
"""What a case may take on a machine that does nothing else, as `make test` sets it; 0: it is not looked at."""
_EXEMPT = ("slow", "cluster", "mpi")
_CPUS = len(os.sched_getaffinity(0))
_PROCESSES = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """`pytest -n auto`: two for each CPU, since half of the suite's time is spent waiting for jobs."""
    return 2 * (os.cpu_count() or 1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What waits for jobs comes first, units last: no process is left alone with a long file at the end."""
    order = ("conformance", "component")
    items.sort(key=lambda item: next((n for n, name in enumerate(order) if name in item.path.parts), len(order)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """A case that takes long and is not marked so fails. Where more wants to run than there are CPUs, each takes longer
    by as much: the bound grows with the load before or after the case, whichever is more. This run's own processes
    count from the start: the load is an average over a minute, and knows of them late.
    """
    load, began = os.getloadavg()[0], monotonic()
    result = yield
    took_s = monotonic() - began
    if not LONGEST_S or any(map(item.get_closest_marker, _EXEMPT)):
        return result
    crowd = max(1.0, _PROCESSES / _CPUS, load / _CPUS, os.getloadavg()[0] / _CPUS)
    if took_s > LONGEST_S * crowd:
        pytest.fail(
            f"the case took {took_s:.1f} s, more than {LONGEST_S:.0f} s (times {crowd:.1f}, the load of this machine): "
            "make it wait less or give it the mark slow, by which only `make test-full` runs it",
            pytrace=False,
        )
    return result
