"""Records that are older than the site keeps them go, a few at a time; what is not cleaned up yet stays."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.controller import sweep
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Store
from hpcbatch.model.state import JobState
from tests.component.batchjobs import NS, put_job

NOW = datetime.now(UTC).replace(microsecond=0)


@pytest.fixture
def registry() -> Iterator[Registry]:
    store = Store(":memory:")
    registry = Registry(store)
    registry.install_builtin()
    yield registry
    store.close()


def ended(registry: Registry, number: int, ago_s: int, *, cleaned: bool = True) -> None:
    record = put_job(registry, number, JobState.FINISHED, end_time=NOW - timedelta(seconds=ago_s))
    registry.patch(BATCHJOBS, record.object_name, {"status": {"cleaned": cleaned}}, NS, subresource="status")


def left(registry: Registry) -> list[int]:
    return sorted(int(job["status"]["jobId"]) for job in registry.list(BATCHJOBS).items)


def swept(registry: Registry, kept_s: int) -> bool:
    return sweep.sweep_history(registry, registry.list(BATCHJOBS).items, kept_s, NOW)


def test_only_what_is_old_enough_and_cleaned_goes(registry: Registry) -> None:
    put_job(registry, 1, JobState.RUNNING)
    put_job(registry, 2, JobState.QUEUED)
    ended(registry, 3, 100)
    ended(registry, 4, 101)
    ended(registry, 5, 1000)
    ended(registry, 6, 1000, cleaned=False)
    assert not swept(registry, 100)
    assert left(registry) == [1, 2, 3, 6]
    assert not swept(registry, 0)
    assert left(registry) == [1, 2, 6]


def test_a_few_at_a_time_the_oldest_first(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "HISTORY_AT_ONCE", 2)
    for number, ago_s in enumerate((10, 30, 20, 40, 50), start=1):
        ended(registry, number, ago_s)
    assert swept(registry, 5)
    assert left(registry) == [1, 2, 3]
    assert swept(registry, 5)
    assert left(registry) == [1]
    assert not swept(registry, 5)
    assert left(registry) == []


def test_what_went_away_meanwhile_or_was_made_anew_is_let_alone(registry: Registry) -> None:
    ended(registry, 1, 100)
    seen = registry.list(BATCHJOBS).items
    registry.delete(BATCHJOBS, "pbs-1", NS)
    assert not sweep.sweep_history(registry, seen, 5, NOW)
    put_job(registry, 1, JobState.RUNNING)
    assert not sweep.sweep_history(registry, seen, 5, NOW)
    assert left(registry) == [1]
