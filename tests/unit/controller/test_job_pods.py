"""Which pods count for a job's run: those of its Volcano Job, in the cache, in the API, and as they were last seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from hpcbatch.api.informer import Informer
from hpcbatch.api.port import Api, Object, ObjectList, WatchEvent
from hpcbatch.controller.job_pods import JobPods, SeenPods, next_event_s
from hpcbatch.controller.records import Admitted
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.spec import JobSpec
from hpcbatch.policy.observed import VolcanoJobView

KEY = ("ns", "pbs-x")
FIRST = "job-7-mpimaster-0"
RECORD = JobRecord(
    job_id=7,
    namespace="ns",
    object_name="pbs-x",
    queue="q",
    spec=JobSpec(dialect=Dialect.PBS, name="x"),
    status=JobStatus(owner="alice", layout=(Chunk(),)),
)


class Cluster:
    """Implements what JobPods calls of Informer and Api. `cached` are the pods of the cache, `present` those there."""

    def __init__(self) -> None:
        self.cached: dict[str, Object] = {}
        self.present: list[Object] = []
        self.pods = JobPods(cast(Api, self), cast(Informer, self), cast(Informer, Nodes()))

    def get(self, _namespace: str | None, name: str) -> Object | None:
        return self.cached.get(name)

    def list(self, _resource: object, _namespace: str, *, labels: str) -> ObjectList:
        assert labels == "hpcbatch.io/job-id=7"
        return ObjectList(tuple(self.present), "1")

    def show(self, *pods: Object) -> None:
        self.cached = {pod["metadata"]["name"]: pod for pod in pods}

    def look(self, phase: str, **spec: Any) -> SeenPods:
        job = Admitted({"spec": spec, "status": {}}, RECORD)
        return self.pods.seen(job, {"metadata": {"uid": "vj-2"}}, VolcanoJobView(uid="vj-2", phase=phase))

    def seen(self, phase: str, **spec: Any) -> Sequence[tuple[str, str, bool]]:
        """Phase, uid and whether it is gone, of each pod."""
        return [(view.phase, view.uid, view.is_gone) for view in self.look(phase, **spec).views]


class Nodes:
    def get(self, _namespace: str | None, _name: str) -> Object | None:
        return None


def pod(uid: str, phase: str = "Running", owner: str = "vj-2", **metadata: Any) -> Object:
    reference = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "job-7", "uid": owner}
    return {
        "metadata": {
            "name": FIRST,
            "namespace": "ns",
            "uid": uid,
            "ownerReferences": [reference | {"controller": True}],
            **metadata,
        },
        "spec": {"nodeName": "node-0", "containers": [{"name": "main"}]},
        "status": {"phase": phase},
    }


def test_a_pod_of_the_volcano_job_before_is_none_of_the_run() -> None:
    cluster = Cluster()
    cluster.show(pod("old", owner="vj-1"))
    assert cluster.seen("Running") == []
    cluster.show(pod("new"))
    assert cluster.seen("Running") == [("Running", "new", False)]


def test_a_run_that_is_over_is_judged_by_the_pods_as_they_are() -> None:
    """Each kind has a watch of its own: the Volcano Job's end may come before that of its pods."""
    cluster = Cluster()
    cluster.show(pod("a"))
    cluster.present = [pod("a", "Succeeded")]
    assert cluster.seen("Running") == [("Running", "a", False)]
    assert cluster.seen("Completed") == [("Succeeded", "a", False)]


def test_a_pod_that_went_away_at_the_end_is_shown_as_it_was() -> None:
    cluster = Cluster()
    cluster.pods.on_event(KEY, 7, WatchEvent("DELETED", pod("a", "Failed")))
    assert cluster.seen("Running") == [], "Volcano makes it anew"
    assert cluster.seen("Terminated") == [("Failed", "a", True)]
    assert cluster.seen("Running", deleteRequested=True) == [("Failed", "a", True)]
    cluster.pods.forget_ended(KEY)
    assert cluster.seen("Terminated") == []


@pytest.mark.parametrize("phase", ["Pending", "Running"])
def test_the_pods_of_the_volcano_job_before_do_not_tell_how_this_one_ended(phase: str) -> None:
    """They had the same names, and may be the last that was heard of: a node had no room for them."""
    cluster = Cluster()
    cluster.pods.on_event(KEY, 7, WatchEvent("DELETED", pod("old", "Failed", owner="vj-1")))
    cluster.show(pod("new", phase))
    cluster.present = [pod("new", "Failed")]
    assert cluster.seen("Terminated") == [("Failed", "new", False)]
    assert cluster.pods.late_s(KEY) is None
    cluster.present = []
    cluster.seen("Terminated")
    assert (cluster.pods.late_s(KEY) is None) == (phase == "Pending")


def test_what_a_pods_event_told_is_kept_until_the_job_is_gone() -> None:
    cluster = Cluster()
    told = {"reason": "Preempting", "phase": "Running"}
    cluster.pods.on_event(KEY, 7, WatchEvent("MODIFIED", pod("a") | {"status": told}))
    cluster.show(pod("a"))
    found = cluster.look("Running")
    assert [one.is_preempted for one in found.views] == [True], "its status says so no more"
    assert found.are_complete
    cluster.pods.forget(KEY)
    assert [one.is_preempted for one in cluster.look("Running").views] == [False]


def test_an_end_whose_event_is_late_is_looked_for_again_without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, clock = Cluster(), [100.0]
    monkeypatch.setattr("hpcbatch.controller.job_pods.time.monotonic", lambda: clock[0])
    cluster.show(pod("a"))
    assert cluster.seen("Completed") == [("Running", "a", False)]
    assert cluster.pods.late_s(KEY) == 0.5
    clock[0] += 1.75
    cluster.seen("Completed")
    assert cluster.pods.late_s(KEY) == 0.25
    cluster.show()
    cluster.pods.on_event(KEY, 7, WatchEvent("DELETED", pod("a", "Failed")))
    assert cluster.seen("Completed") == [("Failed", "a", True)]
    assert cluster.pods.late_s(KEY) is None


def test_an_end_whose_event_never_comes_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, clock = Cluster(), [100.0]
    monkeypatch.setattr("hpcbatch.controller.job_pods.time.monotonic", lambda: clock[0])
    cluster.show(pod("a"))
    cluster.seen("Completed")
    clock[0] += 2.5
    assert cluster.seen("Completed") == [("Running", "a", False)]
    assert cluster.pods.late_s(KEY) is None


@pytest.mark.parametrize(
    ("what", "node", "phase", "is_at_once"),
    [
        pytest.param("ADDED", "", "Pending", False, id="it gets its node at once"),
        pytest.param("MODIFIED", "", "Pending", True, id="its scheduler says why it has none"),
        pytest.param("MODIFIED", "n1", "Pending", False, id="it starts in a moment"),
        pytest.param("MODIFIED", "n1", "Running", True, id="it runs"),
        pytest.param("MODIFIED", "n1", "Succeeded", False, id="the end of its Volcano Job follows"),
        pytest.param("MODIFIED", "n1", "Failed", False, id="likewise"),
        pytest.param("DELETED", "n1", "Running", True, id="it is gone"),
    ],
)
def test_a_look_waits_for_the_event_that_follows(what: Any, node: str, phase: str, is_at_once: bool) -> None:
    spec = {"nodeName": node} if node else {}
    seen = {"metadata": {"name": FIRST, "namespace": "ns"}, "spec": spec, "status": {"phase": phase}}
    assert (next_event_s(WatchEvent(what, seen)) == 0.0) is is_at_once
    leaving = {**seen, "metadata": {**seen["metadata"], "deletionTimestamp": "2026-11-25T13:00:00Z"}}
    assert next_event_s(WatchEvent(what, leaving)) == 0.0
