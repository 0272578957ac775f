"""The API that users are added to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Store
from tests.component.admin_cluster import AdminCluster


@pytest.fixture
def api() -> Iterator[Any]:
    store = Store(":memory:")
    registry = Registry(store)
    registry.install_builtin()
    real = AdminCluster(registry)
    real.install()
    yield real
    store.close()
