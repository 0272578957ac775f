from __future__ import annotations

import pytest

from hpcbatch.api.nodes import is_reserved


@pytest.mark.parametrize(
    ("key", "effect", "reserved"),
    [
        ("node-role.kubernetes.io/control-plane", "NoSchedule", True),
        ("site.example/licences", "NoExecute", True),
        ("site.example/slow", "PreferNoSchedule", False),
        ("node.kubernetes.io/unschedulable", "NoSchedule", False),
        ("node.kubernetes.io/not-ready", "NoExecute", False),
        ("node.kubernetes.io/unreachable", "NoExecute", False),
    ],
)
def test_what_keeps_jobs_away_for_good(key: str, effect: str, reserved: bool) -> None:
    assert is_reserved({"spec": {"taints": [{"key": key, "effect": effect}]}}) is reserved


def test_no_taints() -> None:
    assert not is_reserved({"spec": {}})
    assert not is_reserved({"spec": {"taints": None}})
