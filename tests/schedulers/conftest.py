"""All of these cases need the real cluster for themselves, as those of tests/cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.conftest import admin, alice, need_the_cluster, rig, user

__all__ = ["admin", "alice", "rig", "user"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    need_the_cluster(items, Path(__file__).parent, 1800)  # the first case builds
