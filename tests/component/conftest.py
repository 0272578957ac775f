"""What several files of tests start from."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Store
from tests.component.runner_pod import SHELLS, shell_or_skip


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A program called `sh` that is one of the shells which images have; the runner's scripts run in each."""
    return shell_or_skip(request.param, tmp_path_factory)


@pytest.fixture
def registry() -> Iterator[Registry]:
    """The engine's registry in memory, with our definitions and Volcano's."""
    store = Store(":memory:")
    made = Registry(store)
    made.install_builtin()
    yield made
    store.close()
