"""Who goes first where many wait, and when a submission is refused because too many do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hpcbatch.api.informer import WorkQueue
from hpcbatch.api.names import HASTY_ANNOTATION
from hpcbatch.controller.intake import Intake, lane_of
from hpcbatch.model.refusal import BUSY


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
    intake: Any = SimpleNamespace(refuse=lambda _, code, message: refused.append((code, message)))
    obj = {"metadata": {} if annotations is None else {"annotations": annotations}}
    assert Intake.is_busy(intake, obj, others, waited_s) is is_refused
    assert refused == ([(BUSY, f"{others} wait")] if is_refused else [])


def test_a_command_waits_neither_for_the_jobs_of_others_nor_for_those_of_its_user() -> None:
    jobs: dict[tuple[str, str], Any] = {("ann", f"old-{n}"): {"spec": {}, "status": {"jobId": n}} for n in range(9)}
    jobs |= {("ann", f"member-{n}"): {"spec": {"memberOf": {}}} for n in range(9)}
    jobs |= {("bob", f"new-{n}"): {"spec": {}} for n in range(9)}
    jobs |= {("ann", "new"): {"spec": {}}, ("eve", "old"): {"spec": {}, "status": {"jobId": 10}}}
    queue: WorkQueue[tuple[str, str]] = WorkQueue(lane=lambda key: lane_of(key, jobs.get(key)))
    for key in [*jobs, ("eve", "gone")]:
        queue.add(key)
    assert {queue.get() for _ in range(4)} == {("ann", "old-0"), ("bob", "new-0"), ("ann", "new"), ("eve", "old")}
    assert [queue.get() for _ in range(4)] == [("ann", "old-1"), ("bob", "new-1"), ("eve", "gone"), ("ann", "old-2")]
