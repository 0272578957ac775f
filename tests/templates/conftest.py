"""Templates of `hpcbatch new` with the frameworks that they are for, on the engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.conftest import engine, site

__all__ = ["engine", "site"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("templates")
            item.add_marker(pytest.mark.timeout(900))
