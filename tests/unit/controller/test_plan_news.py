"""For what a started job merely shows no plan is made."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.api.port import WatchEvent
from hpcbatch.controller.plan_news import PlanNews

STARTED: dict[str, Any] = {"state": "Running", "startTime": "2026-01-01T00:00:00Z", "volcanoJob": "job-1"}


def event(kind: str = "MODIFIED", spec: Any = None, **status: Any) -> WatchEvent:
    metadata = {"namespace": "ns", "name": "a"}
    return WatchEvent(kind, {"metadata": metadata, "spec": spec or {}, "status": status})


@pytest.mark.parametrize(
    ("later", "is_new"),
    [
        (event(**STARTED, hosts=[{"node": "n"}], runCount=1, message="m"), False),
        (event(**{**STARTED, "state": "Exiting"}, sessionId=7), False),
        (event(**STARTED, walltimeSeconds=60), True),
        (event(spec={"suspended": True}, **STARTED), True),
        (event(**{**STARTED, "state": "Finished"}), True),
        (event("DELETED", **STARTED), True),
    ],
)
def test_a_started_job(later: WatchEvent, is_new: bool) -> None:
    news = PlanNews()
    assert news.is_new(event(**STARTED)), "the first time"
    assert news.is_new(later) is is_new


def test_a_waiting_job_is_always_news() -> None:
    news = PlanNews()
    assert news.is_new(event(state="Queued"))
    assert news.is_new(event(state="Queued", reason="Priority"))
    assert news.is_new(event(state="Queued", volcanoJob="job-1"))
    assert not news.is_new(event(state="Queued", volcanoJob="job-1", reason="Starting"))
