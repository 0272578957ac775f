"""Which changes lead to a step of the job controller."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.api.news import News
from hpcbatch.api.port import WatchEvent
from hpcbatch.gang.news import of_group, of_job


def job(phase: str = "", **meta: Any) -> dict[str, Any]:
    status = {"state": {"phase": phase}, "pending": 1} if phase else {}
    return {"kind": "Job", "metadata": {"namespace": "ns", "name": "a", "uid": "u", **meta}, "status": status}


def group(phase: str = "", message: str = "", **status: Any) -> dict[str, Any]:
    conditions = [{"type": "Unschedulable", "message": message}] if message else []
    meta = {"namespace": "ns", "name": "a", "uid": "u"}
    return {"kind": "PodGroup", "metadata": meta, "status": {"phase": phase, "conditions": conditions, **status}}


@pytest.mark.parametrize(
    ("later", "is_new"),
    [
        (job("Pending"), False),
        (job("Running"), True),
        (job("Completing"), True),
        (job(generation=2), True),
        (job(deletionTimestamp="2026-01-01T00:00:00Z"), True),
    ],
)
def test_jobs(later: dict[str, Any], is_new: bool) -> None:
    """Running, too: its pods may have ended before that was written."""
    news = News()
    assert news.is_new(WatchEvent("ADDED", job()), of_job(job()))
    assert news.is_new(WatchEvent("MODIFIED", later), of_job(later)) is is_new


@pytest.mark.parametrize(
    ("before", "later", "is_new"),
    [
        (group(), group("Pending"), False),
        (group("Pending"), group("Inqueue"), True),
        (group("Pending"), group("Pending", "no room"), True),
        (group("Inqueue"), group("Running", running=1), False),
        (group("Running"), group("Unknown"), True),
    ],
)
def test_groups(before: dict[str, Any], later: dict[str, Any], is_new: bool) -> None:
    news = News()
    assert news.is_new(WatchEvent("ADDED", before), of_group(before))
    assert news.is_new(WatchEvent("MODIFIED", later), of_group(later)) is is_new


def test_what_is_deleted_is_forgotten() -> None:
    news = News()
    assert news.is_new(WatchEvent("ADDED", job()), of_job(job()))
    assert news.is_new(WatchEvent("DELETED", job()), of_job(job()))
    assert news.is_new(WatchEvent("ADDED", job()), of_job(job()))
