"""Where a routing queue leads, and when a job leaves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hpcbatch.errors import HpcBatchError, RefusedError
from hpcbatch.model.array import ArrayStatus
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobStatus
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.site import QueueConfig, SiteConfig
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState
from hpcbatch.policy import routing

NOW = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)


def queue(name: str, *to: str, **more: Any) -> QueueConfig:
    return QueueConfig(name=name, volcano_queue="v", destinations=to or None, **more)


@pytest.mark.parametrize(
    ("queues", "reached"),
    [
        ((queue("r", "a", "b"), queue("a"), queue("b")), ["a", "b"]),
        ((queue("r", "a", "gone"), queue("a")), ["a"]),
        ((queue("r", "s", "b"), queue("s", "a"), queue("a"), queue("b")), ["a", "b"]),
        ((queue("r", "s"), queue("s", "r", "a"), queue("a")), ["a"]),
        ((queue("r", "r"),), []),
    ],
    ids=["in order", "one that is not there", "through another", "in a circle", "to itself"],
)
def test_destinations(queues: tuple[QueueConfig, ...], reached: list[str]) -> None:
    site = SiteConfig(queues=queues)
    assert [one.name for one in routing.destinations(queues[0], site, lambda _: True)] == reached


@pytest.mark.parametrize(
    ("more", "spec", "is_routed"),
    [
        ({}, {}, True),
        ({}, {"hold": True}, False),
        ({"routes_held": True}, {"hold": True}, True),
        ({}, {"begin_time": NOW + timedelta(seconds=1)}, False),
        ({}, {"begin_time": NOW}, True),
        ({"routes_waiting": True}, {"begin_time": NOW + timedelta(seconds=1)}, True),
    ],
)
def test_what_stays_when_it_is_submitted(more: dict[str, Any], spec: dict[str, Any], is_routed: bool) -> None:
    job = JobSpec(dialect="pbs", name="x", **spec)
    assert routing.is_routed_now(queue("r", "a", **more), job, NOW) is is_routed


@pytest.mark.parametrize(
    ("state", "more", "is_routed"),
    [
        (JobState.QUEUED, {}, True),
        (JobState.HELD, {}, False),
        (JobState.HELD, {"routes_held": True}, True),
        (JobState.WAITING, {}, False),
        (JobState.WAITING, {"routes_waiting": True}, True),
        (JobState.RUNNING, {}, False),
    ],
)
def test_what_stays_later(state: JobState, more: dict[str, Any], is_routed: bool) -> None:
    assert routing.is_routed(queue("r", "a", **more), state) is is_routed


@pytest.mark.parametrize("code", list(RefusalCode))
def test_which_refusals_pass(code: RefusalCode) -> None:
    closed_or_full = {"QueueClosed", "JobsLimit", "AmountLimit", "AccountPolicy"}
    assert routing.may_pass(RefusedError(code, "")) is (code in closed_or_full)
    assert not routing.may_pass(HpcBatchError("no"))


def test_no_destination_says_why() -> None:
    refusals: list[HpcBatchError] = [HpcBatchError("too long"), HpcBatchError("too wide"), HpcBatchError("too long")]
    assert str(routing.no_destination(queue("r", "a"), refusals)) == "too long; too wide"
    assert str(routing.no_destination(queue("r", "a"), [])) == "queue r has no destinations"


def test_the_end_of_an_array_that_nobody_takes() -> None:
    waits = JobStatus(array=ArrayStatus(pending=Indices.parse("1-3")))
    status = routing.rejected(waits, "too long", NOW)
    assert status.state is JobState.DELETED and status.end_time == NOW
    assert status.message == "Job rejected by all possible destinations: too long"
    assert status.array is not None and not status.array.pending and status.array.deleted == Indices.parse("1-3")
