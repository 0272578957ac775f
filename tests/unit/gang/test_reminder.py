"""When a scheduler is reminded of pods without a node."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hpcbatch.gang.known import Known
from hpcbatch.gang.reminder import Reminder

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_PODS = frozenset({"a", "b"})
_KEY = ("alice", "job-7")


def at(seconds: float) -> datetime:
    return _BEGIN + timedelta(seconds=seconds)


def test_first_soon_then_ever_more_rarely() -> None:
    reminder = Reminder()
    due = [second for second in range(0, 200) if reminder.is_due(_PODS, at(second))]
    assert due == [1, 2, 4, 8, 16, 32, 64, 124, 184]
    assert reminder.left_s(at(200)) == 44


def test_pods_that_were_bound_need_none() -> None:
    reminder = Reminder()
    assert reminder.left_s(_BEGIN) is None
    assert not reminder.is_due(_PODS, at(0))
    assert reminder.left_s(at(0.2)) == 0.3
    assert not reminder.is_due(frozenset(), at(0.4))
    assert reminder.left_s(at(0.4)) is None
    assert not reminder.is_due(frozenset(), at(9))


def test_it_begins_anew_with_other_pods() -> None:
    reminder = Reminder()
    assert [reminder.is_due(_PODS, at(second)) for second in (0, 1)] == [False, True]
    assert not reminder.is_due(frozenset({"a"}), at(1.5)), "the other has got its node"
    assert reminder.left_s(at(1.5)) == 0.5
    assert not reminder.is_due(frozenset({"a", "c"}), at(1.6))
    assert reminder.left_s(at(1.6)) == 0.5


def pod(name: str, *, uid: str = "u-1", node: str = "", phase: str = "Pending", **meta: Any) -> dict[str, Any]:
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "job-7", "uid": uid, "controller": True}
    return {
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "resourceVersion": "1",
            "ownerReferences": [owner],
            **meta,
        },
        "spec": {"nodeName": node} if node else {},
        "status": {"phase": phase},
    }


def test_pods_count_when_all_are_there() -> None:
    known = Known()
    known.put_pod(_KEY, pod("p0"))
    known.put_pod(_KEY, pod("p1", node="n1"))
    known.put_pod(_KEY, pod("of-another", uid="u-2"))
    known.put_pod(_KEY, pod("ended", phase="Succeeded", node="n1"))
    known.put_pod(_KEY, pod("going", deletionTimestamp="2026-01-01T00:00:00Z"))
    assert known.without_node(_KEY, "u-1", least=3) == frozenset()
    known.put_pod(_KEY, pod("p2"))
    assert known.without_node(_KEY, "u-1", least=3) == {"uid-p0", "uid-p2"}
