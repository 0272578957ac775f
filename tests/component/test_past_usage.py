"""What jobs have used, from records and the history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from hpcbatch.api.informer import Informer
from hpcbatch.api.port import Object
from hpcbatch.controller.past_usage import PastUsage
from hpcbatch.history.databases import HistoryError, SqliteDatabase
from hpcbatch.history.store import HistoryStore
from hpcbatch.model.accounts import Accounts, Association, first_accounts
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.priority import PriorityConfig
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState
from hpcbatch.record.batchjob import full_status_to_json
from hpcbatch.record.manifest import to_manifest

NOW = datetime.now(UTC).replace(microsecond=0)
CONFIG = PriorityConfig(is_multifactor=True, weight_fair_share=1, half_life_s=0)


def accounts() -> Accounts:
    begun = first_accounts()
    users = [Association(number=number, account="root", user=user) for number, user in ((3, "ann"), (4, "bob"))]
    return replace(begun, associations=(*begun.associations, *users))


def batchjob(number: int, user: str, ago_s: int, took_s: int | None, cpus: int = 2) -> Object:
    """One that started so long ago."""
    layout = (Chunk(cpus=cpus),)
    start = NOW - timedelta(seconds=ago_s)
    end = None if took_s is None else start + timedelta(seconds=took_s)
    state = JobState.RUNNING if end is None else JobState.FINISHED
    record = JobRecord(
        job_id=number,
        namespace="ns",
        object_name=f"pbs-{number}",
        spec=JobSpec(dialect=Dialect.PBS, name="j", chunks=layout, server="s", account="root"),
        status=JobStatus(owner=user, layout=layout, state=state, start_time=start, end_time=end),
        queue="q",
    )
    obj = to_manifest(record.spec, name=record.object_name, submission_secret="s")
    obj["metadata"] |= {"namespace": "ns", "creationTimestamp": "2026-11-25T12:00:00Z", "uid": f"u{number}"}
    obj["status"] = full_status_to_json(record, volcano_job="")
    return obj


class Cache:
    """Implements what is called of Informer."""

    def __init__(self, *objects: Object) -> None:
        self.objects = list(objects)

    def items(self) -> tuple[Object, ...]:
        return tuple(self.objects)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[HistoryStore]:
    opened = HistoryStore(SqliteDatabase(tmp_path / "history.db"))
    yield opened
    opened.close()


def used(usage: PastUsage) -> tuple[float, float]:
    """CPU seconds of ann and bob."""
    shares = usage.shares(accounts(), CONFIG, NOW.timestamp())
    return shares[3].raw_usage, shares[4].raw_usage


def test_records_and_history_count_once(store: HistoryStore) -> None:
    cache = Cache(batchjob(1, "ann", 100, None), batchjob(2, "ann", 1000, 50), batchjob(3, "bob", 1000, 10))
    usage = PastUsage(cast(Informer, cache), store)
    assert used(usage) == (2 * 100 + 2 * 50, 20)
    store.put([cache.objects[1], batchjob(4, "bob", 9000, 500, cpus=1)])
    usage.load(CONFIG)
    assert used(usage) == (300, 520), "a job that is in both"
    del cache.objects[1]
    assert used(usage) == (300, 520), "moved"
    store.put([batchjob(5, "bob", 60, 30, cpus=1)])
    usage.load(CONFIG)
    assert used(usage) == (300, 550), "only what is new is read"


def test_a_history_that_does_not_answer_changes_nothing(store: HistoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put([batchjob(4, "bob", 9000, 500, cpus=1)])
    usage = PastUsage(cast(Informer, Cache()), store)
    usage.load(CONFIG)

    def fail(*_: Any, **__: Any) -> Any:
        raise HistoryError("away")

    monkeypatch.setattr(HistoryStore, "listing", fail)
    usage.load(CONFIG)
    assert used(usage) == (0, 500)


def test_what_is_older_than_ten_half_lives_is_not_read(store: HistoryStore) -> None:
    store.put([batchjob(4, "bob", 9000, 500)])
    usage = PastUsage(cast(Informer, Cache()), store)
    usage.load(replace(CONFIG, half_life_s=60))
    assert used(usage) == (0, 0)
