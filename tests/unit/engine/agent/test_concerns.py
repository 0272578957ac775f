"""What wakes the agent."""

from __future__ import annotations

import pytest

from hpcbatch.api.port import WatchEvent
from hpcbatch.engine.agent.concerns import concerns


@pytest.mark.parametrize(
    ("what", "kind", "spec", "expected"),
    [
        ("ADDED", "Pod", {}, False),
        ("MODIFIED", "Pod", {"nodeName": "elsewhere"}, False),
        ("MODIFIED", "Pod", {"nodeName": "node-0"}, True),
        ("ADDED", "Pod", {"nodeName": "node-0"}, True),
        ("DELETED", "Pod", {}, True),
        ("ADDED", "ConfigMap", None, True),
        ("MODIFIED", "Secret", None, True),
        ("DELETED", "ConfigMap", None, False),
    ],
)
def test_concerns(what: str, kind: str, spec: dict[str, str] | None, expected: bool) -> None:
    obj = {"kind": kind, "metadata": {"name": "x"}} | ({} if spec is None else {"spec": spec})
    assert concerns(WatchEvent(what, obj), {"node-0"}) is expected
