"""Waiting for what a record shows: on the engine's registry, also over a connection that breaks."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.client import watch
from hpcbatch.client.watch import wait_until
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.errors import ForbiddenError, GoneError, HpcBatchError, UnknownJobError, UnreachableError
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState
from hpcbatch.record.rows import row_of
from hpcbatch.record.state import state_of
from tests.component.batchjobs import NS, admitted, put_job


class Breaking:
    """The API whose next answers to `method` are these errors."""

    def __init__(self, api: Registry, method: str, *errors: HpcBatchError) -> None:
        self._api, self._method, self._errors = api, method, list(errors)

    def __getattr__(self, name: str) -> Any:
        if name == self._method and self._errors:
            raise self._errors.pop(0)
        return getattr(self._api, name)


def has_ended(obj: Object) -> bool:
    return state_of(obj).is_final


def queued(registry: Registry) -> tuple[JobRow, Object]:
    row = row_of(put_job(registry, 1, JobState.QUEUED))
    return row, registry.get(BATCHJOBS, row.object_name, NS)


def end(registry: Registry, row: JobRow) -> None:
    obj = registry.get(BATCHJOBS, row.object_name, NS)
    registry.replace(BATCHJOBS, admitted(obj, 1, JobState.FINISHED), NS, subresource="status")


def ending(registry: Registry, row: JobRow, after_s: float = 0.1) -> threading.Timer:
    timer = threading.Timer(after_s, end, (registry, row))
    timer.start()
    return timer


def test_what_is_so_already_is_not_asked(registry: Registry) -> None:
    row, obj = queued(registry)
    api: Any = None
    assert wait_until(api, row, lambda _: True, seen=obj) is obj


@pytest.mark.parametrize("timeout_s", [None, 30.0])
@pytest.mark.parametrize("is_seen", [True, False], ids=["seen", "not-seen"])
def test_a_change_is_seen(registry: Registry, timeout_s: float | None, is_seen: bool) -> None:
    row, obj = queued(registry)
    timer = ending(registry, row)
    found = wait_until(registry, row, has_ended, seen=obj if is_seen else None, timeout_s=timeout_s)
    timer.join()
    assert state_of(found) is JobState.FINISHED


def test_a_change_before_the_watch_is_seen(registry: Registry) -> None:
    row, obj = queued(registry)
    end(registry, row)
    assert has_ended(wait_until(registry, row, has_ended, seen=obj, timeout_s=30))


def test_when_the_time_is_over_the_record_is_as_it_stands(registry: Registry) -> None:
    row, _ = queued(registry)
    begin = time.monotonic()
    assert state_of(wait_until(registry, row, has_ended, timeout_s=0.2)) is JobState.QUEUED
    assert time.monotonic() - begin >= 0.2


@pytest.mark.parametrize("timeout_s", [None, 30.0])
@pytest.mark.parametrize("method", ["watch", "get"])
def test_outages_are_waited_through_and_told_once(registry: Registry, method: str, timeout_s: float | None) -> None:
    row, obj = queued(registry)
    end(registry, row)
    lost = UnreachableError("down")
    told: list[HpcBatchError] = []
    api: Any = Breaking(registry, method, lost, GoneError(410, "Expired", "too old"))
    seen = obj if method == "watch" else None
    found = wait_until(api, row, has_ended, seen=seen, timeout_s=timeout_s, tell=told.append)
    assert has_ended(found)
    assert told == [lost]


def test_an_outage_that_lasts_is_an_error_when_the_time_is_over(registry: Registry) -> None:
    row, _ = queued(registry)
    api: Any = Breaking(registry, "get", *[UnreachableError("down")] * 100)
    with pytest.raises(UnreachableError, match="down"):
        wait_until(api, row, has_ended, timeout_s=0.5)


@pytest.mark.parametrize("timeout_s", [None, 30.0])
def test_a_forbidden_watch_is_an_error_at_once(registry: Registry, timeout_s: float | None) -> None:
    row, obj = queued(registry)
    api: Any = Breaking(registry, "watch", ForbiddenError(403, "Forbidden", "no"))
    with pytest.raises(ForbiddenError):
        wait_until(api, row, has_ended, seen=obj, timeout_s=timeout_s)


def test_a_record_that_is_removed_is_unknown(registry: Registry) -> None:
    row, obj = queued(registry)
    timer = threading.Timer(0.1, registry.delete, (BATCHJOBS, row.object_name, NS))
    timer.start()
    with pytest.raises(UnknownJobError):
        wait_until(registry, row, has_ended, seen=obj, timeout_s=30)
    timer.join()


def test_followers_see_changes_and_removals(registry: Registry) -> None:
    rows = [row_of(put_job(registry, number, JobState.QUEUED)) for number in (1, 2)]
    events = watch.follow(registry, {row.object_name: row for row in rows})
    assert [row.job_id for row in (next(events), next(events)) if isinstance(row, JobRow)] == [1, 2]
    end(registry, rows[0])
    ended = next(events)
    assert isinstance(ended, JobRow)
    assert (ended.job_id, ended.state) == (1, JobState.FINISHED)
    registry.delete(BATCHJOBS, rows[1].object_name, NS)
    assert next(events) == rows[1].object_name
    events.close()  # type: ignore[attr-defined]
