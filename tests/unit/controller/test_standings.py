"""Which jobs limits of submission count."""

from __future__ import annotations

from typing import Any, cast

import pytest

from hpcbatch.api.informer import Informer
from hpcbatch.api.port import Object, WatchEvent
from hpcbatch.controller.standings import Standings


class Cache:
    """What an informer has seen so far."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Object] = {}

    def get(self, namespace: str, name: str) -> Object | None:
        return self.objects.get((namespace, name))

    def items(self) -> list[Object]:
        return [*self.objects.values()]


def record(state: str = "Queued") -> Object:
    return {
        "metadata": {"namespace": "a", "name": "x", "uid": "1"},
        "spec": {},
        "status": {"jobId": "1", "state": state, "owner": "ann"},
    }


@pytest.fixture
def cache() -> Cache:
    return Cache()


@pytest.fixture
def standings(cache: Cache) -> Standings:
    return Standings(cast(Informer, cache))


def hear(standings: Standings, cache: Cache, kind: Any, obj: Object) -> None:
    key = (obj["metadata"]["namespace"], obj["metadata"]["name"])
    if kind == "DELETED":
        cache.objects.pop(key, None)
    else:
        cache.objects[key] = obj
    standings.on_event(WatchEvent(kind, obj))


def test_a_job_counts_once_from_its_admission_on(standings: Standings, cache: Cache) -> None:
    standings.add(record())
    assert len(standings.others()) == 1
    hear(standings, cache, "ADDED", {**record(), "status": {}})
    assert len(standings.others()) == 1
    hear(standings, cache, "MODIFIED", record())
    assert len(standings.others()) == 1
    hear(standings, cache, "MODIFIED", record("Finished"))
    assert standings.others() == []


@pytest.mark.parametrize("is_counted_between", [True, False])
def test_a_job_whose_record_is_gone_does_not_count(
    standings: Standings, cache: Cache, is_counted_between: bool
) -> None:
    standings.add(record())
    hear(standings, cache, "MODIFIED", record())
    if is_counted_between:
        assert len(standings.others()) == 1
    hear(standings, cache, "DELETED", record("Finished"))
    assert standings.others() == []


def test_an_event_that_comes_before_the_answer(standings: Standings, cache: Cache) -> None:
    hear(standings, cache, "MODIFIED", record())
    standings.add(record())
    assert len(standings.others()) == 1
    hear(standings, cache, "DELETED", record())
    assert standings.others() == []


def test_a_broken_record_does_not_keep_others_from_being_counted(standings: Standings, cache: Cache) -> None:
    broken = record("nonsense")
    broken["metadata"] = {**broken["metadata"], "name": "broken"}
    hear(standings, cache, "ADDED", record())
    hear(standings, cache, "ADDED", broken)
    assert len(standings.others()) == 1


def test_the_cache_may_know_a_job_before_its_event_is_handled(standings: Standings, cache: Cache) -> None:
    standings.add(record())
    cache.objects["a", "x"] = record()
    assert len(standings.others()) == 1
    hear(standings, cache, "ADDED", record())
    assert len(standings.others()) == 1
