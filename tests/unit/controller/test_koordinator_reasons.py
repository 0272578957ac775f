from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.controller.koordinator_reasons import why_koordinator_waits
from hpcbatch.model.state import Reason
from hpcbatch.policy.observed import Waiting
from hpcbatch.policy.views import why_unplaced
from hpcbatch.volcano.gangs.chosen import SCHEDULER

FULL = (
    "Insufficient quotas, quotaName: alice, runtime: {cpu:1}, used: {cpu:1}, pod's request: {cpu:1}, "
    "exceedDimensions: [cpu]"
)
NO_ROOM = "0/3 nodes are available: 3 Insufficient cpu."


def job(scheduler: str) -> dict[str, Any]:
    return {"metadata": {"name": "job-7", "namespace": "alice", "annotations": {SCHEDULER: scheduler}}}


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ([], ""),
        ([NO_ROOM], ""),
        ([f"0/3 nodes are available: {FULL}. preemption: none"], FULL),
        ([NO_ROOM, f'Gang "a" gets rejected due to member Pod "p" is unschedulable with reason "{FULL}"'], FULL),
        ([FULL.replace("quotas", "non-preemptible quotas")], FULL.replace("quotas", "non-preemptible quotas")),
    ],
    ids=["nothing said", "no room", "of a pod", "of its gang", "what cannot be preempted"],
)
def test_why(texts: list[str], why: str) -> None:
    found = why_koordinator_waits(job("koordinator"), texts)
    assert found == (Waiting(reason=Reason.RESOURCES, message=f"Koordinator: {why}") if why else None)


def test_other_schedulers_have_no_such_quota() -> None:
    assert why_koordinator_waits(job("none"), [FULL]) is None


@pytest.mark.parametrize(
    ("conditions", "text"),
    [
        (None, ""),
        ([{"type": "Ready", "status": "False", "message": "x"}], ""),
        ([{"type": "PodScheduled", "status": "True"}], ""),
        ([{"type": "PodScheduled", "status": "False"}], ""),
        ([{"type": "PodScheduled", "status": "False", "message": NO_ROOM}], NO_ROOM),
    ],
    ids=["none", "another", "placed", "nothing said", "not placed"],
)
def test_what_is_said_of_a_pod(conditions: list[dict[str, str]] | None, text: str) -> None:
    assert why_unplaced({"status": {"conditions": conditions}}) == text
