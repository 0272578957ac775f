"""Decisions about pods that do not start, may not be made, or whose node does not answer."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.decide import decide
from hpcbatch.policy.observed import PodView, RefusedPods
from tests.unit.policy.decide_parts import refused
from tests.unit.policy.job_seen import NOW, RUNNING, TAKEN, pod, seen

# Pods that do not come to start


def stuck(problem: str, *, bound_s: int = 20, **fields: Any) -> PodView:
    return pod(phase="Pending", problem=problem, bound_at=NOW - timedelta(seconds=bound_s), **fields)


@pytest.mark.parametrize(
    ("pods", "state", "reason", "message", "look_again"),
    [
        pytest.param(
            [stuck("ErrImagePull: no such image")], "Queued", "Starting", "ErrImagePull: no such image", True, id="told"
        ),
        pytest.param(
            [stuck("ErrImagePull: no such image", bound_s=300)],
            "Failed",
            "LaunchFailed",
            "pod pod-0 on node node-0: ErrImagePull: no such image",
            False,
            id="out of time",
        ),
        pytest.param([stuck("", bound_s=900)], "Queued", "Starting", "", True, id="a long pull is no problem"),
        pytest.param(
            [stuck("InvalidImageName: no", is_hopeless=True)],
            "Failed",
            "LaunchFailed",
            "pod pod-0 on node node-0: InvalidImageName: no",
            False,
            id="hopeless",
        ),
        pytest.param(
            [RUNNING, stuck("FailedMount: no", index=1, node="node-1")],
            "Running",
            "None",
            "pod pod-1 on node node-1: FailedMount: no",
            True,
            id="the first pod waits for another",
        ),
        pytest.param(
            [RUNNING, stuck("FailedMount: no", index=1, node="node-1", bound_s=301)],
            "Failed",
            "LaunchFailed",
            "pod pod-1 on node node-1: FailedMount: no",
            False,
            id="the first pod has waited long enough",
        ),
        pytest.param([RUNNING, pod(1, phase="Pending")], "Running", "None", "", True, id="another pod is on its way"),
        pytest.param([RUNNING, replace(RUNNING, index=1)], "Running", "None", "", False, id="all run"),
    ],
)
def test_pods_that_do_not_start(pods: list[PodView], state: str, reason: str, message: str, look_again: bool) -> None:
    decision = decide(seen(phase="Pending", pods=pods))
    status = decision.status
    assert (status.state, status.reason, status.message) == (JobState(state), Reason(reason), message)
    assert (decision.look_again_s is not None) is look_again


@pytest.mark.parametrize(
    ("phase", "refusal", "pods", "state", "reason", "flag"),
    [
        pytest.param("Pending", refused(age_s=3), [], "Queued", "NeverFits", "", id="told"),
        pytest.param("Pending", refused(age_s=3, may_pass=True), [], "Queued", "Resources", "", id="others use it up"),
        pytest.param("Pending", refused(age_s=3000, may_pass=True), [], "Queued", "Resources", "", id="for long"),
        pytest.param("Pending", refused(age_s=300), [], "Failed", "LaunchFailed", "", id="out of time"),
        pytest.param(
            "Pending", refused(age_s=3), [pod(1, node="", phase="Pending")], "Queued", "NeverFits", "", id="some are"
        ),
        # Volcano ends a job whose pods it could not make after 164 s, recorded
        pytest.param("Terminated", refused(age_s=164), [], "Failed", "LaunchFailed", "", id="Volcano gave up"),
        pytest.param(
            "Terminated", refused(age_s=164, may_pass=True), [], "Queued", "Resources", "delete", id="it is tried again"
        ),
        pytest.param("Terminated", None, [], "Queued", "Resources", "delete", id="nobody knows why"),
    ],
)
def test_pods_that_may_not_be_made(
    phase: str, refusal: RefusedPods | None, pods: list[PodView], state: str, reason: str, flag: str
) -> None:
    decision = decide(seen(phase=phase, pods=pods, refused_pods=refusal, spec={"rerunnable": False}))
    assert (decision.status.state, decision.status.reason) == (JobState(state), Reason(reason))
    assert decision.delete is (flag == "delete")
    assert refusal is None or decision.status.message == refusal.message


@pytest.mark.parametrize(
    ("view", "given_up", "look_again_s"),
    [
        pytest.param(replace(TAKEN, dies_at=NOW + timedelta(seconds=15)), False, 25, id="in its grace period"),
        pytest.param(replace(TAKEN, dies_at=NOW - timedelta(seconds=4)), False, 6, id="its kubelet may be slow"),
        pytest.param(replace(TAKEN, dies_at=NOW - timedelta(seconds=10)), True, 10, id="given up"),
        pytest.param(
            replace(TAKEN, dies_at=NOW - timedelta(seconds=60), node_answers=True), False, 10, id="the node answers"
        ),
        pytest.param(replace(TAKEN, dies_at=NOW - timedelta(seconds=60), is_gone=True), False, None, id="gone already"),
    ],
)
@pytest.mark.parametrize("phase", ["Running", "Completing", "Terminating"])
# A node that does not answer


@pytest.mark.parametrize("delete_requested", [False, True])
def test_a_pod_whose_node_does_not_answer(
    view: PodView, given_up: bool, look_again_s: float | None, phase: str, delete_requested: bool
) -> None:
    """Volcano waits for it; nobody else would ever confirm its end."""
    decision = decide(seen(phase=phase, pods=[RUNNING, view], delete_requested=delete_requested))
    assert decision.give_up == ((view,) if given_up else ())
    assert decision.look_again_s == look_again_s
