"""What the cache still shows from before our own write is not decided on."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.controller import own_writes
from hpcbatch.controller.own_writes import OwnWrites


def job(version: int, name: str = "a") -> dict[str, Any]:
    return {"metadata": {"namespace": "ns", "name": name, "resourceVersion": str(version)}}


def test_what_stood_before_our_write_is_outdated_until_its_event_comes() -> None:
    writes = OwnWrites()
    assert not writes.is_outdated(job(8))
    writes.add(job(10))
    assert writes.is_outdated(job(9))
    assert not writes.is_outdated(job(9, "b")), "another job"
    assert not writes.is_outdated(job(10))
    assert not writes.is_outdated(job(9)), "its event has come: what is here now is new"


def test_a_job_that_is_gone_is_forgotten() -> None:
    writes = OwnWrites()
    writes.add(job(10))
    writes.forget(("ns", "a"))
    assert not writes.is_outdated(job(9)), "one of the same name, in a store that begins to count anew"


def test_an_event_that_never_comes_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The API server's store was restored from a backup."""
    monkeypatch.setattr(own_writes, "_LAG_LIMIT_S", 0.0)
    writes = OwnWrites()
    writes.add(job(10))
    assert not writes.is_outdated(job(9))


def test_the_event_of_a_settled_write_leads_to_no_look() -> None:
    writes = OwnWrites()
    assert not writes.is_settled(job(10))
    assert writes.settle(("ns", "a"), lambda: job(10)) == (job(10), False)
    assert writes.is_settled(job(10))
    assert not writes.is_settled(job(11)), "somebody else's write"
    assert not writes.is_settled(job(10, "b")), "another job"
    writes.add(job(12))
    assert not writes.is_settled(job(12)), "a write that is looked at again"


def test_an_event_may_come_before_the_reply() -> None:
    writes = OwnWrites()

    def write(*events: int) -> dict[str, Any]:
        assert all(writes.is_settled(job(version)) for version in events), "held back until the write is done"
        return job(10)

    assert writes.settle(("ns", "a"), lambda: write(10))[1] is False
    assert writes.settle(("ns", "a"), lambda: write(9, 10))[1] is True, "another's write is looked at"


def test_a_settled_write_that_was_waited_for_is_looked_at() -> None:
    """The look that came too early relies on its event."""
    writes = OwnWrites()
    writes.settle(("ns", "a"), lambda: job(10))
    assert writes.is_outdated(job(9))
    assert not writes.is_settled(job(10))


def test_a_refused_write_settles_nothing() -> None:
    writes = OwnWrites()

    def refused() -> dict[str, Any]:
        raise ValueError

    with pytest.raises(ValueError):
        writes.settle(("ns", "a"), refused)
    assert not writes.is_settled(job(9))
