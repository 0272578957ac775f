from __future__ import annotations

from typing import Any

from hpcbatch.api.port import WatchEvent
from hpcbatch.engine.volcano.scheduler_cache import SchedulerCache, natural
from hpcbatch.volcano.scheduling import PodState


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def cache(clock: Clock | None = None) -> SchedulerCache:
    return SchedulerCache({"hi": 10}.__getitem__, clock or Clock())


def group(name: str, version: int, phase: str = "", **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "namespace": "d",
            "name": name,
            "uid": name,
            "resourceVersion": str(version),
            "creationTimestamp": "2026-11-21T10:00:00Z",
        },
        "spec": {"minMember": 2, "queue": "default", **spec},
        "status": {"phase": phase} if phase else {},
    }


def pod(
    name: str, version: int, *, node: str = "", phase: str = "Pending", member: str = "g", uid: str = "", **meta: Any
) -> Any:
    return {
        "metadata": {
            "namespace": "d",
            "name": name,
            "uid": uid or name,
            "resourceVersion": str(version),
            "creationTimestamp": "2026-11-21T10:00:00Z",
            **meta,
            "annotations": {"scheduling.k8s.io/group-name": member},
        },
        "spec": {"schedulerName": "volcano", "containers": [{"name": "c"}], **({"nodeName": node} if node else {})},
        "status": {"phase": phase},
    }


def put(kept: SchedulerCache, obj: dict[str, Any], kind: str = "MODIFIED") -> bool:
    follow = kept.pod_event if "containers" in obj["spec"] else kept.group_event
    return follow(WatchEvent(kind, obj))


def states(kept: SchedulerCache) -> list[tuple[PodState, str]]:
    return [(entry.state, entry.node) for entry in kept.snapshot().groups[0].pods]


def test_a_binding_is_known_before_the_api_tells_it() -> None:
    kept = cache()
    put(kept, group("g", 1))
    put(kept, pod("p", 2))
    seat = kept.snapshot().groups[0].pods[0].seat
    kept.assume(seat, "n")
    assert states(kept) == [(PodState.BOUND, "n")]
    put(kept, pod("p", 3))  # a change of its annotations, say, from before the binding
    assert states(kept) == [(PodState.BOUND, "n")]
    put(kept, pod("p", 4, node="n"))
    put(kept, pod("p", 5, node="n", phase="Running"))
    assert states(kept) == [(PodState.RUNNING, "n")]


def test_old_news_is_no_news() -> None:
    kept = cache()
    assert put(kept, group("g", 5, "Inqueue"))
    assert not put(kept, group("g", 4, "Pending"))
    assert kept.snapshot().groups[0].phase == "Inqueue"
    assert put(kept, pod("p", 9, node="n"))
    assert not put(kept, pod("p", 8))


def test_a_pod_of_the_same_name_is_another_one() -> None:
    kept = cache()
    put(kept, group("g", 1))
    put(kept, pod("p", 9, node="n", phase="Running"))
    put(kept, pod("p", 3, uid="other"))
    assert states(kept) == [(PodState.PENDING, "")]
    put(kept, pod("p", 9), "DELETED")
    assert len(states(kept)) == 1, "the deletion was of the former one"


def test_running_pods_without_their_group_still_take_room() -> None:
    kept = cache()
    put(kept, pod("p", 1, node="n", phase="Running"))
    put(kept, pod("q", 2, node="n", phase="Succeeded"))
    snapshot = kept.snapshot()
    assert [(seat.name, node) for seat, node, _ in snapshot.others] == [("p", "n")]
    put(kept, group("g", 3))
    assert kept.snapshot().others == ()


def test_room_is_held_for_a_while() -> None:
    clock = Clock()
    kept = cache(clock)
    put(kept, group("g", 1, "Inqueue"))
    snapshot = kept.snapshot()
    assert snapshot.groups[0].holds_place
    assert snapshot.next_expiry_s == 10.0
    clock.now += 11
    snapshot = kept.snapshot()
    assert not snapshot.groups[0].holds_place
    assert snapshot.next_expiry_s is None


def test_order_is_priority_then_time_then_arrival() -> None:
    kept = cache()
    for version, name in enumerate(("job-10-x", "job-9-x"), start=1):
        put(kept, group(name, version))
    kept.snapshot()
    put(kept, group("a", 3))
    put(kept, group("z", 4, priorityClassName="hi"))
    order = sorted(kept.snapshot().groups, key=lambda entry: entry.order)
    assert [entry.key[1] for entry in order] == ["z", "job-9-x", "job-10-x", "a"]


def test_pods_being_deleted_before_they_had_a_place_are_gone() -> None:
    kept = cache()
    put(kept, group("g", 1))
    put(kept, pod("p", 2, deletionTimestamp="2026-11-21T10:00:00Z"))
    assert states(kept) == []


def test_natural_order() -> None:
    assert sorted(["job-10", "job-9", "a"], key=natural) == ["a", "job-9", "job-10"]
