"""What a pod takes of its node while it is resized in place."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.volcano.amounts import held_requests


def pod(wanted: str, granted: str | None, *, reason: str = "") -> dict[str, Any]:
    container = {"name": "main", "resources": {"requests": {"cpu": wanted, "memory": "1Gi"}}}
    status: dict[str, Any] = {"conditions": [{"type": "PodResizePending", "reason": reason}] if reason else []}
    if granted is not None:
        allocated = {"cpu": granted, "memory": "1Gi"}
        status["containerStatuses"] = [{"name": "main", "allocatedResources": allocated}]
    return {"spec": {"containers": [container]}, "status": status}


@pytest.mark.parametrize(
    ("pod", "milli"),
    [
        pytest.param(pod("2", None), 2000, id="not started"),
        pytest.param(pod("2", "2"), 2000, id="not resized"),
        pytest.param(pod("2", "2000m"), 2000, id="written otherwise"),
        pytest.param(pod("0", "2"), 2000, id="shrinks"),
        pytest.param(pod("2", "0"), 2000, id="grows"),
        pytest.param(pod("2", "0", reason="Deferred"), 2000, id="waits"),
        pytest.param(pod("2", "0", reason="Infeasible"), 0, id="never grows"),
        pytest.param(pod("0", "0"), 0, id="has shrunk"),
    ],
)
def test_held(pod: dict[str, Any], milli: int) -> None:
    held = held_requests(pod)
    assert held.get("cpu", 0) == milli
    assert held["memory"] == 2**30
