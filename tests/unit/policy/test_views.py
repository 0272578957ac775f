"""Pods, Events and nodes as Kubernetes 1.34 shows them, recorded, in the form in which they are decided on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hpcbatch.model.site import Launcher
from hpcbatch.policy.views import (
    FirstTaken,
    empty_room,
    pod_news,
    pod_requests,
    pod_views,
    problem_from_events,
    rooms_of,
    volcano_job_news,
    volcano_job_view,
)

NAME = "job-911-mpimaster-0"
BOUND = datetime(2026, 11, 21, 15, 18, 55, tzinfo=UTC)
PULL = (
    'failed to pull and unpack image "localhost/nosuch:1": failed to resolve reference "localhost/nosuch:1": '
    'failed to do request: Head "http://localhost/v2/nosuch/manifests/1": dial tcp 127.0.0.1:80: connect: refused'
)


def pod(name: str = NAME, *, node: str = "node-2", deletion: str = "", **status: Any) -> dict[str, Any]:
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-21T15:18:55Z"}
    return {
        "metadata": {"name": name, "uid": "u-1", **({"deletionTimestamp": deletion} if deletion else {})},
        "spec": {"nodeName": node, "containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]},
        "status": {"phase": "Pending", "conditions": [scheduled], **status},
    }


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"containerStatuses": [{"state": {"waiting": {"reason": reason, "message": message}}}]}


@pytest.mark.parametrize(
    ("status", "problem", "is_hopeless", "is_silent"),
    [
        pytest.param(waiting("ErrImagePull", PULL), f"ErrImagePull: {PULL}", False, False, id="pull"),
        pytest.param(waiting("ImagePullBackOff", "Back-off"), "ImagePullBackOff: Back-off", False, False, id="again"),
        pytest.param(
            waiting("ImagePullBackOff", f'Back-off pulling image "localhost/nosuch:1": ErrImagePull: {PULL}'),
            f"ErrImagePull: {PULL}",
            False,
            False,
            id="the same between two tries",
        ),
        pytest.param(
            waiting("InvalidImageName", "couldn't parse"), "InvalidImageName: couldn't parse", True, False, id="name"
        ),
        pytest.param(waiting("ErrImageNeverPull"), "ErrImageNeverPull", True, False, id="never pull"),
        pytest.param(
            waiting("CreateContainerConfigError", 'secret "x" not found'),
            'CreateContainerConfigError: secret "x" not found',
            False,
            False,
            id="configuration",
        ),
        pytest.param(waiting("ContainerCreating"), "", False, True, id="being made"),
        pytest.param({}, "", False, True, id="nothing yet"),
        pytest.param(
            {"containerStatuses": [{"state": {"running": {"startedAt": "2026-11-21T15:18:57Z"}}}], "phase": "Running"},
            "",
            False,
            False,
            id="runs",
        ),
    ],
)
def test_start(status: dict[str, Any], problem: str, is_hopeless: bool, is_silent: bool) -> None:
    (view,) = pod_views([pod(**status)], [NAME])
    assert (view.problem, view.is_hopeless, view.is_silent, view.bound_at) == (problem, is_hopeless, is_silent, BOUND)


def test_a_pod_on_a_node_that_does_not_answer() -> None:
    """The taint manager's condition; the kubelet cannot confirm the deletion."""
    disrupted = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}
    taken = pod(deletion="2026-11-21T15:20:10Z", phase="Running", conditions=[disrupted])
    (view,) = pod_views([taken], [NAME], ready_nodes={"node-0"})
    assert (view.is_lost, view.is_deleting, view.node_answers) == (True, True, False)
    assert view.dies_at == datetime(2026, 11, 21, 15, 20, 10, tzinfo=UTC)
    (gone,) = pod_views([taken], [NAME], gone={NAME})
    assert gone.is_gone
    assert gone.has_ended


REFUSALS = [
    ("OutOfcpu", True),
    ("OutOfnvidia.com/gpu", True),
    ("UnexpectedAdmissionError", True),
    ("TopologyAffinityError", False),
    ("DeadlineExceeded", False),
]


@pytest.mark.parametrize(("reason", "is_refused"), REFUSALS, ids=[refusal[0] for refusal in REFUSALS])
def test_a_pod_that_its_node_did_not_take(reason: str, is_refused: bool) -> None:
    text = "Pod was rejected: Node didn't have enough resource: cpu, requested: 1000, used: 1500, capacity: 2000"
    (view,) = pod_views([pod(phase="Failed", reason=reason, message=text)], [NAME])
    assert (view.is_refused, view.is_lost, view.problem) == (is_refused, is_refused, f"{reason}: {text}")
    began = waiting("ContainerCreating")
    (view,) = pod_views([pod(phase="Failed", reason=reason, **began)], [NAME])
    assert not view.is_refused


CONDITIONS = [
    ("DisruptionTarget", "True", "PreemptionByScheduler", True, True),
    ("Ready", "False", "Evict", True, True),  # Volcano
    ("DisruptionTarget", "True", "EvictionByEvictionAPI", True, False),
    ("Ready", "False", "ContainersNotReady", False, False),
]


@pytest.mark.parametrize(
    ("kind", "value", "reason", "is_lost", "is_preempted"), CONDITIONS, ids=[condition[2] for condition in CONDITIONS]
)
def test_who_took_a_pod_away(kind: str, value: str, reason: str, is_lost: bool, is_preempted: bool) -> None:
    condition = {"type": kind, "status": value, "reason": reason}
    (view,) = pod_views([pod(deletion="2026-11-21T15:20:10Z", phase="Running", conditions=[condition])], [NAME])
    assert (view.is_lost, view.is_preempted) == (is_lost, is_preempted)


@pytest.mark.parametrize(
    ("first", "flags"),
    [
        (None, (False, False)),
        (FirstTaken("u-2", script_ran=True), (False, False)),
        (FirstTaken("u-1", script_ran=False), (True, False)),
        (FirstTaken("u-1", script_ran=True), (True, True)),
    ],
)
def test_which_pod_was_taken_first(first: FirstTaken | None, flags: tuple[bool, bool]) -> None:
    (view,) = pod_views([pod()], [NAME], first_taken=first)
    assert (view.is_first_taken, view.is_taken_early) == flags


def test_a_dedicated_launcher_is_no_host() -> None:
    names = [NAME, "job-911-mpiworker-0"]
    views = pod_views([pod(names[1]), pod(NAME), pod("other")], names, launcher=Launcher.DEDICATED)
    assert [(view.index, view.is_launcher) for view in views] == [(0, True), (1, False)]
    assert not any(view.is_launcher for view in pod_views([pod()], names))


@pytest.mark.parametrize(("labels", "launcher"), [({}, "shared"), ({"hpcbatch.io/launcher": "dedicated"}, "dedicated")])
def test_the_shape_of_a_volcano_job_stands_on_it(labels: dict[str, str], launcher: str) -> None:
    assert volcano_job_view({"metadata": {"uid": "u", "labels": labels}}).launcher is Launcher(launcher)


@pytest.mark.parametrize(
    ("phases", "has_run", "second"),
    [
        ([], False, None),
        (["Pending", "Running"], True, None),
        (["Running", "Restarting", "Pending"], False, 1),
        (["Restarting", "Pending", "Running"], True, 0),
    ],
)
def test_whether_it_has_run_since_it_was_restarted(phases: list[str], has_run: bool, second: int | None) -> None:
    """A Volcano Job has one condition for each phase, in the order in which it last entered them."""
    conditions = [
        {"status": phase, "lastTransitionTime": f"2026-11-21T12:00:0{place}Z"} for place, phase in enumerate(phases)
    ]
    view = volcano_job_view({"metadata": {"uid": "u"}, "status": {"conditions": conditions}})
    assert view.has_run is has_run
    assert (view.restarted_at and view.restarted_at.second) == second


# Events


def event(kind: str, reason: str, at: int, message: str = "", **more: Any) -> dict[str, Any]:
    when = (BOUND + timedelta(seconds=at)).isoformat().replace("+00:00", "Z")
    return {"type": kind, "reason": reason, "message": message, "lastTimestamp": when, **more}


MOUNT = 'MountVolume.SetUp failed for volume "site-home" : hostPath type check failed: /nosuch is not a directory'
SYNC = 'MountVolume.SetUp failed for volume "job-913-svc" : failed to sync configmap cache: timed out'


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        pytest.param([], "", id="none"),
        pytest.param(
            [event("Warning", "FailedMount", 3, SYNC), event("Warning", "FailedMount", 9, MOUNT)],
            f"FailedMount: {MOUNT}",
            id="mount",
        ),
        pytest.param([event("Warning", "FailedMount", 3, SYNC), event("Normal", "Pulling", 5)], "", id="now it pulls"),
        pytest.param(
            [event("Normal", "Scheduled", 3), event("Warning", "FailedMount", 3, SYNC)],
            f"FailedMount: {SYNC}",
            id="right after it was placed",
        ),
        pytest.param([event("Normal", "Pulling", 3), event("Warning", "FailedMount", 3, SYNC)], "", id="in one second"),
        pytest.param(
            [event("Warning", "FailedCreatePodSandBox", 9, "a\nb  c")], "FailedCreatePodSandBox: a b c", id="one line"
        ),
        pytest.param(
            [{"type": "Warning", "reason": "X", "message": "m", "eventTime": "2026-11-21T15:19:00Z"}],
            "X: m",
            id="of the newer kind",
        ),
    ],
)
def test_problem_from_events(events: list[dict[str, Any]], problem: str) -> None:
    assert problem_from_events(events) == problem


# Nodes


def node(name: str, *, taints: tuple[str, ...] = (), **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": {"cpu": "haswell"}},
        "spec": {"taints": [{"key": "k", "effect": effect} for effect in taints], **spec},
        "status": {"allocatable": {"cpu": "1900m", "memory": "8Gi", "nvidia.com/gpu": "2", "pods": "110"}},
    }


def test_node_rooms() -> None:
    nodes = [
        node("node-2"),
        node("tainted", taints=("NoSchedule",)),
        node("lost", taints=("NoExecute",)),
        node("drained", unschedulable=True),
        node("last", taints=("PreferNoSchedule",)),
    ]
    empty = [(node["metadata"]["name"], empty_room(node)) for node in nodes]
    rooms = rooms_of(
        empty, map(pod_requests, [pod(), pod("other"), pod("ended", phase="Succeeded"), pod("unbound", node="")])
    )
    assert [(room.free("cpu"), room.free("memory"), room.free("nvidia.com/gpu")) for room in rooms] == [
        (0, 8 << 30, 2),
        (1900, 8 << 30, 2),
    ]
    assert rooms[0].labels == {"cpu": "haswell"}


BOUND_POD = pod(conditions=[{"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}])


@pytest.mark.parametrize(
    ("status", "is_news"),
    [
        ({"containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}], "hostIP": "1.2.3.4"}, False),
        ({"containerStatuses": [{"state": {"waiting": {"reason": "ErrImagePull"}}}]}, True),
        ({"containerStatuses": [{"state": {"running": {"startedAt": "2026-01-01T00:00:01Z"}}}]}, True),
        ({"phase": "Failed"}, True),
        ({"reason": "Evicted"}, True),
    ],
)
def test_what_of_a_pod_is_news(status: dict[str, Any], is_news: bool) -> None:
    later = {**BOUND_POD, "status": {**BOUND_POD["status"], **status}}
    assert (pod_news(later) != pod_news(BOUND_POD)) is is_news


def test_all_that_a_view_shows_is_news() -> None:
    disrupted = [*BOUND_POD["status"]["conditions"], {"type": "DisruptionTarget", "status": "True"}]
    for other in (pod(node=""), pod(deletion="2026-01-01T00:00:00Z"), pod(conditions=disrupted)):
        assert pod_views([other], [NAME]) != pod_views([BOUND_POD], [NAME])
        assert pod_news(other) != pod_news(BOUND_POD)


@pytest.mark.parametrize(
    ("phase", "is_news"), [("", False), ("Running", False), ("Completing", True), ("Completed", True)]
)
def test_what_of_a_volcano_job_is_news(phase: str, is_news: bool) -> None:
    def job(phase: str) -> dict[str, Any]:
        return {"metadata": {"uid": "u"}, "status": {"state": {"phase": phase}} if phase else {}}

    assert (volcano_job_news(job(phase)) != volcano_job_news(job("Pending"))) is is_news
