"""A registry with a clock of its own."""

from collections.abc import Iterator

import pytest

from hpcbatch.api import resources
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Store
from tests.component.registry.objects import CRD, Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def registry(clock: Clock) -> Iterator[Registry]:
    store = Store(":memory:")
    yield Registry(store, now=clock)
    store.close()


@pytest.fixture
def things(registry: Registry) -> Registry:
    registry.create(resources.CRDS, CRD)
    return registry
