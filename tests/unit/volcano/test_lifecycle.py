""""""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hpcbatch.volcano.job_status import job_status, recorded_pods
from hpcbatch.volcano.job_view import JobView, Phase, PodView, Policy, TaskView
from hpcbatch.volcano.lifecycle import (
    AddPluginObjects,
    Announce,
    CreatePod,
    Decision,
    DeleteJob,
    DeletePodGroup,
    Evicted,
    KillPod,
    PutPodGroup,
    RemovePluginObjects,
    SetState,
    decide,
    lost_between,
    unchanged,
)
from tests.unit.volcano.lifecycle_objects import NOW, job, pod, with_state


def tv(name: str, replicas: int, least: int) -> TaskView:
    return TaskView(name=name, replicas=replicas, min_available=least)


def on(event: str, action: str, **more: Any) -> Policy:
    return Policy(events=frozenset({event}), action=action, **more)


def step(view: JobView, *pods: PodView, group: str | None = "Running", **more: Any) -> Decision:
    return decide(view, pods, group, **{"now": NOW, **more})


def entered(decision: Decision) -> SetState | None:
    states = [action for action in decision.actions if isinstance(action, SetState)]
    assert len(states) <= 1
    return states[0] if states else None


def killed(decision: Decision) -> list[str]:
    return [action.name for action in decision.actions if isinstance(action, KillPod)]


def created(decision: Decision) -> list[tuple[str, int]]:
    return [(action.task, action.index) for action in decision.actions if isinstance(action, CreatePod)]


@pytest.mark.parametrize(
    ("group", "pods"),
    [(None, []), ("", []), ("Pending", []), ("Inqueue", [("t", 0), ("t", 1)]), ("Unknown", [("t", 0), ("t", 1)])],
)
def test_no_pod_before_the_group_is_admitted(group: str | None, pods: list[tuple[str, int]]) -> None:
    decision = step(job(), group=group)
    assert decision.actions[:2] == (AddPluginObjects(), PutPodGroup())
    assert created(decision) == pods


RUNNING = {"phase": Phase.RUNNING}


@pytest.mark.parametrize(
    ("view", "pods", "phase"),
    [
        (job(), [pod("t-0"), pod("t-1", "Pending")], None),
        (job(), [pod("t-0"), pod("t-1")], Phase.RUNNING),
        (job(), [pod("t-0", "Failed"), pod("t-1", "Succeeded")], Phase.RUNNING),
        (job(**RUNNING), [pod("t-0"), pod("t-1", "Failed")], None),
        (job(**RUNNING), [pod("t-0", "Succeeded"), pod("t-1", "Failed")], Phase.FAILED),
        (job(**RUNNING), [pod("t-0", "Succeeded"), pod("t-1", "Succeeded")], Phase.COMPLETED),
        (job(**RUNNING), [pod("t-0"), pod("t-1", "Pending")], Phase.PENDING),
        (job(**RUNNING, min_success=1), [pod("t-0", "Succeeded"), pod("t-1")], Phase.COMPLETED),
        (job(**RUNNING, min_success=2), [pod("t-0", "Succeeded"), pod("t-1", "Failed")], Phase.FAILED),
        (
            job(TaskView(name="t", replicas=3, min_available=3), min_available=1, **RUNNING),
            [pod("t-0", "Failed"), pod("t-1", "Succeeded"), pod("t-2", "Succeeded")],
            Phase.COMPLETED,
        ),
        (
            job(TaskView(name="t", replicas=3, min_available=3), min_available=2, **RUNNING),
            [pod("t-0", "Failed"), pod("t-1", "Succeeded"), pod("t-2", "Failed")],
            Phase.FAILED,
        ),
        (
            job(TaskView(name="t", replicas=2, min_available=1), **RUNNING),
            [pod("t-0", "Failed"), pod("t-1", "Succeeded")],
            Phase.COMPLETED,
        ),
        (
            job(tv("a", 2, 1), tv("b", 1, 1), **RUNNING),
            [pod("a-0", "Succeeded"), pod("a-1", "Succeeded"), pod("b-0", "Failed")],
            Phase.FAILED,
        ),
        (
            job(tv("a", 2, 1), tv("b", 1, 0), **RUNNING),
            [pod("a-0", "Succeeded"), pod("a-1", "Succeeded"), pod("b-0", "Failed")],
            Phase.COMPLETED,
        ),
        (
            job(
                TaskView(name="a", replicas=1, min_available=1),
                TaskView(name="b", replicas=1, min_available=1),
                min_available=1,
                **RUNNING,
            ),
            [pod("a-0", "Failed"), pod("b-0", "Succeeded")],
            Phase.COMPLETED,
        ),
        (job(TaskView(name="t", replicas=0, min_available=0), **RUNNING), [], None),
        (job(TaskView(name="t", replicas=0, min_available=0)), [], Phase.RUNNING),
    ],
)
def test_phase_by_numbers(view: JobView, pods: list[PodView], phase: Phase | None) -> None:
    state = entered(step(view, *pods))
    assert (state.phase if state else None) == phase


@pytest.mark.parametrize(
    ("policies", "pods", "expected"),
    [
        ([on("PodFailed", "AbortJob")], [pod("t-0", "Failed"), pod("t-1")], ("Aborting", "AbortJob", "", 1, 0)),
        ([on("PodFailed", "RestartJob")], [pod("t-0", "Failed"), pod("t-1")], ("Restarting", "RestartJob", "", 1, 1)),
        (
            [on("PodFailed", "RestartPod")],
            [pod("t-0", "Failed"), pod("t-1")],
            ("Restarting", "RestartPod", "j-t-0", 0, 1),
        ),
        (
            [on("PodFailed", "RestartTask")],
            [pod("t-0", "Failed"), pod("t-1")],
            ("Restarting", "RestartTask", "t", 0, 1),
        ),
        (
            [on("TaskCompleted", "CompleteJob")],
            [pod("t-0", "Succeeded"), pod("t-1", "Succeeded")],
            ("Completing", "CompleteJob", "", 1, 0),
        ),
        ([on("TaskCompleted", "CompleteJob")], [pod("t-0", "Succeeded"), pod("t-1")], None),
        ([on("*", "AbortJob")], [pod("t-0"), pod("t-1")], None),
        ([on("*", "AbortJob")], [pod("t-0", "Pending"), pod("t-1", "Pending")], ("Pending", "", "", 0, 0)),
        (
            [Policy(exit_code=3, action="TerminateJob")],
            [pod("t-0", "Failed", exit_code=3), pod("t-1")],
            ("Terminating", "TerminateJob", "", 1, 0),
        ),
        ([Policy(exit_code=3, action="TerminateJob")], [pod("t-0", "Failed", exit_code=4), pod("t-1")], None),
        ([on("PodFailed", "ResumeJob")], [pod("t-0", "Failed"), pod("t-1")], None),
        (
            [on("TaskFailed", "TerminateJob")],
            [pod("t-0", restarts=2), pod("t-1", restarts=1)],
            ("Terminating", "TerminateJob", "", 1, 0),
        ),
        ([on("TaskFailed", "TerminateJob")], [pod("t-0", restarts=1), pod("t-1", restarts=1)], None),
        ([on("PodFailed", "AbortJob")], [pod("t-0", "Failed", is_marked=True), pod("t-1")], None),
    ],
)
def test_policies(policies: list[Policy], pods: list[PodView], expected: tuple[object, ...] | None) -> None:
    state = entered(step(job(policies=tuple(policies), **RUNNING), *pods))
    found = None if state is None else (state.phase, state.reason, state.target, state.version, state.retry_count)
    assert found == expected


def test_pods_of_a_former_version_are_not_heard() -> None:
    view = job(policies=(on("PodFailed", "RestartJob"),), version=1, **RUNNING)
    assert entered(step(view, pod("t-0", "Failed", version=0), pod("t-1", version=1))) is None


def test_unknown_group() -> None:
    view = job(policies=(on("Unknown", "TerminateJob"),), **RUNNING)
    state = entered(step(view, pod("t-0", "Failed"), pod("t-1"), group="Unknown"))
    assert state is not None
    assert state.phase is Phase.TERMINATING


def test_eviction_fires_and_a_pod_that_failed_before_it_was_deleted_is_both() -> None:
    gone = Evicted(pod=pod("t-1", "Failed", exit_code=9), at=NOW)
    for policy in (
        on("PodEvicted", "RestartJob"),
        on("PodFailed", "RestartJob"),
        Policy(exit_code=9, action="RestartJob"),
    ):
        state = entered(step(job(policies=(policy,), **RUNNING), pod("t-0"), evicted=[gone]))
        assert state is not None
        assert state.phase is Phase.RESTARTING


def test_timeouts() -> None:
    view = job(policies=(on("PodFailed", "TerminateJob", timeout_s=5.0),), **RUNNING)
    pods = [pod("t-0", "Failed"), pod("t-1")]
    early = step(view, *pods, now=NOW + timedelta(seconds=2))
    assert (entered(early), early.recheck_s) == (None, 3.0)
    assert [a.message for a in early.actions if isinstance(a, Announce)] == ["Execute action TerminateJob after 5s"]
    late = step(view, *pods, now=NOW + timedelta(seconds=5))
    state = entered(late)
    assert state is not None
    assert state.phase is Phase.TERMINATING
    assert [a for a in late.actions if isinstance(a, Announce)] == []  # it was announced


def test_a_pod_that_waits_too_long_is_announced_once_for_each_pod() -> None:
    view = job(policies=(on("PodPending", "AbortJob", timeout_s=60.0),))
    early = step(view, pod("t-0", "Pending"), pod("t-1", "Pending"))
    announced = [a for a in early.actions if isinstance(a, Announce)]
    assert [a.message for a in announced] == ["Execute action AbortJob after 1m0s"] * 2
    assert len({a.once for a in announced}) == 2


@pytest.mark.parametrize(("phase", "is_evicted"), [("Running", False), ("Succeeded", True), ("Failed", True)])
def test_a_deleted_pod_that_a_finalizer_keeps_is_evicted_when_it_has_ended(phase: str, *, is_evicted: bool) -> None:
    view = job(policies=(on("PodEvicted", "RestartJob"),), **RUNNING)
    kept = pod("t-0", phase, is_terminating=True, is_kept=True)
    state = entered(step(view, kept, pod("t-1")))
    assert (state is not None and state.phase is Phase.RESTARTING) == is_evicted
    ours = replace(kept, is_marked=True)
    state = entered(step(view, ours, pod("t-1")))
    assert state is None or state.phase is not Phase.RESTARTING


def test_an_eviction_with_a_timeout_is_forgiven_when_the_pod_is_back() -> None:
    view = job(policies=(on("PodEvicted", "AbortJob", timeout_s=5.0),), **RUNNING)
    gone = Evicted(pod=pod("t-1", uid="old"), at=NOW)
    waiting = step(view, pod("t-0"), evicted=[gone])
    assert waiting.pending_evictions == (gone,)
    assert created(waiting) == [("t", 1)]
    back = step(view, pod("t-0"), pod("t-1"), evicted=[gone], now=NOW + timedelta(seconds=9))
    assert (entered(back), back.pending_evictions) == (None, ())


@pytest.mark.parametrize(
    ("view", "pods", "victims", "phase"),
    [
        (
            job(phase=Phase.RESTARTING, reason="RestartJob", version=1, retry_count=1),
            [pod("t-0", "Failed"), pod("t-1")],
            ["j-t-0", "j-t-1"],
            None,
        ),
        (
            job(phase=Phase.RESTARTING, reason="RestartJob", version=1, retry_count=1),
            [pod("t-0", is_terminating=True)],
            [],
            None,
        ),
        (job(phase=Phase.RESTARTING, reason="RestartJob", version=1, retry_count=1), [], [], Phase.PENDING),
        (
            job(phase=Phase.RESTARTING, reason="RestartJob", version=3, retry_count=3),
            [pod("t-0", "Failed"), pod("t-1")],
            ["j-t-1"],
            Phase.FAILED,
        ),
        (
            job(phase=Phase.RESTARTING, reason="RestartPod", target="j-t-0", retry_count=1),
            [pod("t-0", "Failed"), pod("t-1")],
            ["j-t-0"],
            None,
        ),
        (
            job(phase=Phase.RESTARTING, reason="RestartPod", target="j-t-0", retry_count=1),
            [pod("t-1")],
            [],
            Phase.PENDING,
        ),
        (
            job(phase=Phase.RESTARTING, reason="RestartTask", target="", retry_count=1),
            [pod("t-0"), pod("t-1")],
            [],
            Phase.PENDING,
        ),
        (
            job(phase=Phase.RESTARTING, reason="ResumeJob", version=2, retry_count=1),
            [pod("t-0", "Succeeded"), pod("t-1")],
            ["j-t-1"],
            None,
        ),
        (job(phase=Phase.ABORTING), [pod("t-0", "Failed"), pod("t-1")], ["j-t-1"], None),
        (job(phase=Phase.ABORTING), [pod("t-0", "Failed")], [], Phase.ABORTED),
        (job(phase=Phase.COMPLETING), [pod("t-0", "Succeeded"), pod("t-1", is_terminating=True)], [], None),
        (job(phase=Phase.COMPLETING), [pod("t-0", "Succeeded")], [], Phase.COMPLETED),
        (job(phase=Phase.TERMINATING), [], [], Phase.TERMINATED),
        (job(phase=Phase.COMPLETED), [pod("t-0", "Succeeded"), pod("t-1")], ["j-t-1"], None),
    ],
)
def test_kills(view: JobView, pods: list[PodView], victims: list[str], phase: Phase | None) -> None:
    decision = step(view, *pods)
    state = entered(decision)
    assert killed(decision) == victims
    assert (state.phase if state else None) == phase
    assert created(decision) == []


@pytest.mark.parametrize(
    ("phase", "request_", "expected"),
    [
        (Phase.RUNNING, "AbortJob", Phase.ABORTING),
        (Phase.PENDING, "TerminateJob", Phase.TERMINATING),
        (Phase.RUNNING, "RestartJob", Phase.RESTARTING),
        (Phase.RUNNING, "ResumeJob", None),
        (Phase.RUNNING, "Nonsense", None),
        (Phase.RESTARTING, "AbortJob", Phase.ABORTING),
        (Phase.ABORTING, "ResumeJob", Phase.RESTARTING),
        (Phase.ABORTED, "ResumeJob", Phase.RESTARTING),
        (Phase.ABORTED, "TerminateJob", None),
        (Phase.COMPLETED, "ResumeJob", None),
        (Phase.FAILED, "RestartJob", None),
        (Phase.TERMINATED, "AbortJob", None),
    ],
)
def test_commands(phase: Phase, request_: str, expected: Phase | None) -> None:
    state = entered(step(job(phase=phase), pod("t-0"), pod("t-1"), request=request_))
    found = None if state is None or state.phase is phase else state.phase
    assert (found if found is not Phase.RUNNING else None) == expected


def test_an_ended_job_removes_what_is_beside_it() -> None:
    decision = step(job(phase=Phase.FAILED, has_plugin_objects=True))
    assert decision.actions == (RemovePluginObjects(), DeletePodGroup())
    assert step(job(phase=Phase.FAILED), group=None).actions == ()


@pytest.mark.parametrize(
    ("phase", "deleted"), [("Completed", True), ("Failed", True), ("Terminated", True), ("Aborted", False)]
)
def test_time_to_live(phase: str, deleted: bool) -> None:
    view = job(phase=Phase(phase), ttl_s=3)
    late = step(view, group=None, now=NOW + timedelta(seconds=3))
    assert (DeleteJob() in late.actions) == deleted
    assert step(view, group=None, now=NOW + timedelta(seconds=1)).recheck_s == (2.0 if deleted else None)


def test_scaling_down_kills_the_highest() -> None:
    view = job(TaskView(name="t", replicas=1, min_available=1), **RUNNING)
    assert killed(step(view, pod("t-0"), pod("t-1"), pod("u-0"))) == ["j-t-1", "j-u-0"]


@pytest.mark.parametrize(
    ("a", "any_", "starts"),
    [
        ([pod("a-0", is_ready=True)], False, True),
        ([pod("a-0")], False, False),
        ([pod("a-0", "Succeeded")], False, True),
        ([pod("a-0", "Failed")], False, False),
        ([pod("a-0", is_ready=True)], True, True),
    ],
    ids=["ready", "not ready", "succeeded", "failed", "any of two"],
)
def test_depends_on(a: list[PodView], any_: bool, starts: bool) -> None:
    first = TaskView(name="a", replicas=1, min_available=1)
    other = TaskView(name="c", replicas=1, min_available=1)
    last = TaskView(
        name="b", replicas=1, min_available=1, depends_on=("a", "c") if any_ else ("a",), depends_on_any=any_
    )
    decision = step(job(first, last, *([other] if any_ else [])), *a)
    assert (("b", 0) in created(decision)) == starts
    assert (PutPodGroup(("b",)) in decision.actions) != starts


def test_deleting_jobs_are_left_alone() -> None:
    assert step(job(is_deleting=True), pod("t-0")).actions == ()


def test_pods_lost_while_nobody_looked() -> None:
    found = lost_between(job(**RUNNING), [pod("t-1")], {"t": 2}, NOW)
    assert [item.pod.name for item in found] == ["j-t-0"]
    assert lost_between(job(**RUNNING), [pod("t-1")], {"t": 1}, NOW) == []


def test_status_keeps_the_counters_of_an_ended_job() -> None:
    view = job(phase=Phase.COMPLETING, version=1, since=NOW)
    state = SetState(Phase.COMPLETED, 1, 0, "CompleteJob")
    before = {"state": {"phase": "Completing"}, "conditions": [{"status": "Completing", "lastTransitionTime": "x"}]}
    status = job_status(
        view,
        before,
        state,
        [pod("t-0", "Succeeded"), pod("t-1", "Failed")],
        controlled={},
        now=NOW + timedelta(seconds=68),
    )
    assert (status["succeeded"], status["failed"], status["runningDuration"]) == (1, 1, "1m8s")
    assert recorded_pods(status) == {"t": 2}
    assert [entry["status"] for entry in status["conditions"]] == ["Completing", "Completed"]
    ended = replace(with_state(view, state, NOW), min_available=2)
    later = job_status(
        ended,
        status,
        unchanged(ended),
        [pod("t-0", "Succeeded"), pod("t-1", "Failed")],
        controlled={},
        now=NOW + timedelta(hours=1),
    )
    assert later["runningDuration"] == "1m8s"
