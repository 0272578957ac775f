"""Who goes first where many wait, and when a submission is refused because too many do."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from hpcbatch.api.informer import WorkQueue
from hpcbatch.api.names import HASTY_ANNOTATION
from hpcbatch.controller.intake import Intake, lane_of
from hpcbatch.model.refusal import BUSY


def made(refused: list[tuple[str, str]]) -> Any:
    refuse = lambda _, code, message: refused.append((code, message))  # noqa: E731
    return SimpleNamespace(refuse=refuse, last_admitted={})


def test_each_user_has_a_turn() -> None:
    """Of many that have waited for long one is admitted, then those that came after it."""
    refused: list[tuple[str, str]] = []
    intake = made(refused)
    obj = {"metadata": {"namespace": "bob", "annotations": {HASTY_ANNOTATION: "true"}}}
    assert not Intake.is_busy(intake, obj, 40, 9.0)
    assert [Intake.is_busy(intake, obj, 40, 8.0) for _ in range(3)] == [True] * 3
    intake.last_admitted["bob"] -= 9.0
    assert not Intake.is_busy(intake, obj, 40, 8.0), "it came after the last one that was admitted"
    assert len(refused) == 3


@pytest.mark.parametrize(
    ("annotations", "others", "waited_s", "is_refused"),
    [
        ({HASTY_ANNOTATION: "true"}, 40, 2.5, True),
        ({HASTY_ANNOTATION: "true"}, 40, 1.5, False),
        ({HASTY_ANNOTATION: "true"}, 10, 60.0, False),
        (None, 1000, 60.0, False),
        ({"site/note": "x"}, 1000, 60.0, False),
    ],
)
def test_only_who_would_rather_hear_so(
    annotations: dict[str, str] | None, others: int, waited_s: float, is_refused: bool
) -> None:
    refused: list[tuple[str, str]] = []
    intake: Any = made(refused)
    intake.last_admitted["alice"] = time.monotonic()
    obj = {"metadata": {"namespace": "alice"} | ({} if annotations is None else {"annotations": annotations})}
    assert Intake.is_busy(intake, obj, others, waited_s) is is_refused
    assert refused == ([(BUSY, f"{others} wait")] if is_refused else [])


def test_a_command_waits_neither_for_the_jobs_of_others_nor_for_those_of_its_user() -> None:
    jobs: dict[tuple[str, str], Any] = {("ann", f"old-{n}"): {"spec": {}, "status": {"jobId": n}} for n in range(9)}
    jobs |= {("ann", f"member-{n}"): {"spec": {"memberOf": {}}} for n in range(9)}
    jobs |= {("bob", f"new-{n}"): {"spec": {}} for n in range(9)}
    jobs |= {("ann", "new"): {"spec": {}}, ("eve", "old"): {"spec": {}, "status": {"jobId": 10}}}
    queue: WorkQueue[tuple[str, str]] = WorkQueue(lane=lambda key: lane_of(key, jobs.get(key), lambda _: False))
    for key in [*jobs, ("eve", "gone")]:
        queue.add(key)
    assert {queue.get() for _ in range(4)} == {("ann", "old-0"), ("bob", "new-0"), ("ann", "new"), ("eve", "old")}
    assert [queue.get() for _ in range(4)] == [("ann", "old-1"), ("bob", "new-1"), ("eve", "gone"), ("ann", "old-2")]


def test_a_start_waits_neither_for_submissions_nor_for_what_runs() -> None:
    waits: dict[str, Any] = {"spec": {}, "status": {"jobId": "1"}}
    runs: dict[str, Any] = {"spec": {}, "status": {"jobId": "2", "volcanoJob": "job-2"}}
    over: dict[str, Any] = {"spec": {}, "status": {**runs["status"], "cleaned": True}}
    jobs: dict[tuple[str, str], Any] = {(user, f"new-{n}"): {"spec": {}} for user in ("ann", "bob") for n in range(9)}
    jobs |= {("ann", f"waits-{n}"): waits for n in range(9)}
    jobs |= {("bob", f"runs-{n}"): runs for n in range(9)}
    jobs |= {("bob", f"over-{n}"): over for n in range(9)}
    starts: set[str] = set()
    queue: WorkQueue[tuple[str, str]] = WorkQueue(lane=lambda key: lane_of(key, jobs.get(key), starts.__contains__))
    for key in jobs:
        queue.add(key)
    starts.add("1")
    queue.add(("ann", "waits-8"))
    assert {queue.get() for _ in range(3)} == {("ann", "new-0"), ("bob", "runs-0"), ("ann", "waits-8")}
    assert [queue.get() for _ in range(4)] == [
        ("bob", "new-0"),
        ("bob", "runs-1"),
        ("ann", "waits-0"),
        ("bob", "runs-2"),
    ], "then the others take turns"
