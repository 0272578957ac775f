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
