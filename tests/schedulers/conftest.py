"""All of these cases need the real cluster for themselves, as those of tests/cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.conftest import admin, alice, rig, user

__all__ = ["admin", "alice", "rig", "user"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker("cluster")
            item.add_marker("alone")
            item.add_marker(pytest.mark.timeout(1800))  # the first case builds
