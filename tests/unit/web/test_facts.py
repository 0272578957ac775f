"""How often the API is asked for the jobs."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path
from typing import Any, cast

import pytest

from hpcbatch.api.client import HttpApi
from hpcbatch.policy.explain import Explanation
from hpcbatch.web import facts
from hpcbatch.web.facts import Commands, Facts


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(facts, "time", made)
    return made


def listed(monkeypatch: pytest.MonkeyPatch, clock: Clock, takes_s: float) -> tuple[Facts, list[bool]]:
    calls: list[bool] = []

    def list_rows(_api: Any, _namespace: str, *, finished: bool) -> list[Any]:
        calls.append(finished)
        clock.now += takes_s
        return []

    monkeypatch.setattr("hpcbatch.client.listing.list_rows", list_rows)
    commands = Commands(
        connect=lambda: cast(HttpApi, object()),
        explain=lambda _: Explanation(command="", script=""),
        forecast=lambda _: None,
        folders=lambda _: list[Path](),
        explained=lambda error: error,
    )
    return Facts(commands, user="anna", server="s", namespace="n", zone=UTC), calls


def test_open_pages_share_a_listing(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    made, calls = listed(monkeypatch, clock, takes_s=0.1)
    for _ in range(3):
        made.rows()
    made.rows(finished=True)
    assert calls == [False, True]
    clock.now += 2
    made.rows()
    assert calls == [False, True, False]
    made.forget_rows(quick_ones=True)
    made.rows()
    assert len(calls) == 4


def test_a_long_listing_is_read_rarely(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    made, calls = listed(monkeypatch, clock, takes_s=4)
    made.rows()
    clock.now += 19
    made.forget_rows(quick_ones=True)  # who loads a page
    made.rows()
    assert len(calls) == 1
    clock.now += 2
    made.rows()
    assert len(calls) == 2
    made.forget_rows()  # who has changed something
    made.rows()
    assert len(calls) == 3
