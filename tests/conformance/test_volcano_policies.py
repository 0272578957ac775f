"""Lifecycle policies of Volcano Jobs: which event leads to which action, and what is left afterwards."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest

from tests.conformance.volcano_site import WORKER, Object, Volcano, job, on, on_exit, phase, phases, task

pytestmark = pytest.mark.alone

# A pod that is to end lives a moment, so that the others of its gang are mostly there.
OK, BAD = "sleep 1; exit 0", "sleep 1; exit 3"
_CODES = [on_exit(3, "RestartJob"), on_exit(5, "CompleteJob"), on("PodFailed", "AbortJob")]


@dataclass(frozen=True)
class Case:
    tasks: list[Object]
    phase: str
    left: dict[str, str] = field(default_factory=dict)
    """The pods that stay, and their phases."""
    spec: dict[str, Any] = field(default_factory=dict)
    retries: int = 0
    made: dict[str, int] = field(default_factory=dict)
    """How many pods of a name there have been; of the others one."""
    may_make_more: str = ""
    """A pod that Volcano may make anew once more before it finds that there have been too many retries."""
    action: str = ""
    """What the last event on the Job says was done; "": there is none."""


def one_fails(*policies: Object, command: str = BAD, **spec: Any) -> dict[str, Any]:
    return {"tasks": [task("t", command), task("w", WORKER)], "spec": {"policies": list(policies), **spec}}


# Where all pods have ended, Volcano may end the job before it looks at the policies: so another one lives on.
CASES = {
    "tc-complete": Case(
        [task("m", OK, policies=[on("TaskCompleted", "CompleteJob")]), task("w", WORKER, 2)],
        "Completed",
        {"m-0": "Succeeded"},
        action="CompleteJob",
    ),
    "tc-job-policy": Case(
        [task("m", OK), task("w", WORKER)],
        "Completed",
        {"m-0": "Succeeded"},
        {"policies": [on("TaskCompleted", "CompleteJob")]},
        action="CompleteJob",
    ),
    "pf-abort": Case(
        **one_fails(on("PodFailed", "AbortJob")), phase="Aborted", left={"t-0": "Failed"}, action="AbortJob"
    ),
    "pf-terminate": Case(
        **one_fails(on("PodFailed", "TerminateJob")), phase="Terminated", left={"t-0": "Failed"}, action="TerminateJob"
    ),
    "pf-complete": Case(
        **one_fails(on("PodFailed", "CompleteJob")), phase="Completed", left={"t-0": "Failed"}, action="CompleteJob"
    ),
    "pf-restart": Case(
        **one_fails(on("PodFailed", "RestartJob"), maxRetry=2),
        phase="Failed",
        left={"t-0": "Failed"},
        retries=2,
        made={"t-0": 2, "w-0": 2},
        action="RestartJob",
    ),
    "pf-restart-once": Case(
        **one_fails(on("PodFailed", "RestartJob"), maxRetry=1),
        phase="Failed",
        left={"t-0": "Failed"},
        retries=1,
        action="RestartJob",
    ),
    "pf-restart-task": Case(
        [task("a", f"[ $(hostname) != pf-restart-task-a-0 ] || exit 3; {WORKER}", 2), task("b", WORKER)],
        "Failed",
        {},
        {"maxRetry": 2, "policies": [on("PodFailed", "RestartTask")], "plugins": {"svc": []}},
        retries=2,
        made={"a-0": 2, "a-1": 2},
        action="RestartTask",
    ),
    "pf-restart-pod": Case(
        [task("a", f"[ $(hostname) != pf-restart-pod-a-0 ] || exit 3; {WORKER}", 2), task("b", WORKER)],
        "Failed",
        {},
        {"maxRetry": 2, "policies": [on("PodFailed", "RestartPod")], "plugins": {"svc": []}},
        retries=2,
        made={"a-0": 2},
        may_make_more="a-0",
        action="RestartPod",
    ),
    "code-3": Case(
        **one_fails(*_CODES, command="exit 3", maxRetry=1),
        phase="Failed",
        left={"t-0": "Failed"},
        retries=1,
        action="RestartJob",
    ),
    "code-5": Case(
        **one_fails(*_CODES, command="exit 5"), phase="Completed", left={"t-0": "Failed"}, action="CompleteJob"
    ),
    "code-7": Case(**one_fails(*_CODES, command="exit 7"), phase="Aborted", left={"t-0": "Failed"}, action="AbortJob"),
    "first-container": Case(
        [
            task(
                "t",
                "exit 0",
                pod={
                    "containers": [
                        {**task("", command)["template"]["spec"]["containers"][0], "name": f"c{command[-1]}"}
                        for command in ("exit 0", "exit 7")
                    ]
                },
            ),
            task("w", WORKER),
        ],
        "Terminated",
        {"t-0": "Failed"},
        {"policies": [on_exit(7, "AbortJob"), on("PodFailed", "TerminateJob")]},
        action="TerminateJob",
    ),
    "task-first": Case(
        [task("t", BAD, policies=[on("PodFailed", "CompleteJob")]), task("w", WORKER)],
        "Completed",
        {"t-0": "Failed"},
        {"policies": [on("PodFailed", "AbortJob")]},
        action="CompleteJob",
    ),
    "any-event": Case(**one_fails(on("*", "AbortJob")), phase="Aborted", left={"t-0": "Failed"}, action="AbortJob"),
    "several-events": Case(
        **one_fails({"events": ["PodEvicted", "PodFailed"], "action": "AbortJob"}),
        phase="Aborted",
        left={"t-0": "Failed"},
        action="AbortJob",
    ),
    "tf-terminate": Case(
        [task("t", "exit 3", maxRetry=1, pod={"restartPolicy": "OnFailure"})],
        "Terminated",
        {},
        {"policies": [on("TaskFailed", "TerminateJob")]},
        action="TerminateJob",
    ),
    "unknown": Case(
        **one_fails(on("Unknown", "TerminateJob")), phase="Terminated", left={"t-0": "Failed"}, action="TerminateJob"
    ),
    "deadline": Case(
        [task("t", "sleep 1000", pod={"activeDeadlineSeconds": 2}), task("w", WORKER)],
        "Aborted",
        {"t-0": "Failed"},
        {"policies": [on("PodFailed", "AbortJob")]},
        action="AbortJob",
    ),
    "started": Case(
        [task("t", "sleep 1")],
        "Completed",
        {"t-0": "Succeeded"},
        {"policies": [on("PodPending", "AbortJob", timeout="60s")]},
    ),
    "nothing-meant": Case(
        [task("t", BAD)], "Failed", {"t-0": "Failed"}, {"policies": [on("PodEvicted", "RestartJob")]}
    ),
}


# Actions that come later. Several of each: Volcano loses one whose write meets another's.
LATE = [f"late-{number}" for number in range(3)]
PENDING = [f"pending-{number}" for number in range(3)]


@pytest.fixture(scope="module")
def running(volcano: Volcano) -> Volcano:
    """All jobs of this file at once."""
    wanted = [job(name, *case.tasks, **case.spec) for name, case in CASES.items()]
    wanted.append(job("evicted", task("a", WORKER, 2), policies=[on("PodEvicted", "RestartJob")]))
    wanted.append(job("evicted-end", task("a", WORKER, 2), policies=[on("PodEvicted", "TerminateJob")]))
    for name in LATE:
        policy = on("PodFailed", "TerminateJob", timeout="3s")
        wanted.append(job(name, task("t", BAD), task("w", WORKER), policies=[policy]))
    for name in PENDING:
        nowhere = task("t", "true", pod={"nodeSelector": {"no-such": "node"}})
        wanted.append(job(name, nowhere, policies=[on("PodPending", "AbortJob", timeout="4s")]))
    volcano.create(*wanted)
    return volcano


def _version(pod: Object | None) -> str:
    """Of the Volcano Job that the pod was made for; it grows with each restart of all pods."""
    return "" if pod is None else str(pod["metadata"]["annotations"]["volcano.sh/job-version"])


@pytest.mark.parametrize("name", ["evicted", "evicted-end"])
def test_an_evicted_pod(running: Volcano, name: str) -> None:
    """Whoever deletes it; the action starts when it is gone."""
    running.wait_phase(name, "Running")
    running.kubectl("delete", "pod", f"{name}-a-0", "--wait=false")
    if name == "evicted-end":
        running.wait_phase(name, "Terminated")
        running.wait_pods(name, {})
        return
    # Volcano may replace the deleted pod alone before it obeys its policy, so that one may be made three times.
    names = [f"{name}-a-{index}" for index in (0, 1)]
    running.pod_record.wait(
        "both pods made anew by the restart",
        lambda: [_version(running.pod_record.all().get(pod)) for pod in names] == ["1", "1"],
    )
    assert running.incarnations(names[1]) == 2
    assert running.wait_phase(name, "Running")["status"]["retryCount"] == 1


@pytest.mark.parametrize("name", CASES)
def test_policy(running: Volcano, name: str) -> None:
    case = CASES[name]
    found = running.wait_phase(name, case.phase)
    assert found["status"].get("retryCount", 0) == case.retries
    running.wait_pods(name, case.left)
    pods = [f"{part['name']}-{index}" for part in case.tasks for index in range(part["replicas"])]
    made = {pod: running.incarnations(f"{name}-{pod}") for pod in pods}
    wanted = dict.fromkeys(pods, 1) | case.made
    if case.may_make_more and made[case.may_make_more] == wanted[case.may_make_more] + 1:
        made[case.may_make_more] -= 1
    assert made == wanted
    seen = phases(running.job(name))
    way_out = {"Aborted": "Aborting", "Terminated": "Terminating"}.get(case.phase)
    if case.retries:
        way_out = "Restarting"
    assert seen[-2:] == [way_out, case.phase] if way_out else seen[-1] == case.phase, seen
    events = [event.rstrip() for event in running.events(name) if event.startswith("Normal ExecuteAction")]
    if case.action:
        assert events[-1] == f"Normal ExecuteAction Start to execute action {case.action}"
    else:
        assert [event for event in events if "Start to execute" in event] == []


def first_of(running: Volcano, names: list[str], wanted: str) -> Object:
    """The first of some jobs that comes into a phase."""

    def found() -> Object | None:
        jobs = running.jobs.all()
        return next((jobs[name] for name in names if phase(jobs.get(name, {})) == wanted), None)

    reached = running.jobs.wait(f"one of {names} to be {wanted}", found)
    assert reached is not None
    return reached


def test_a_delayed_action_is_announced_and_comes_in_time(running: Volcano) -> None:
    found = first_of(running, LATE, "Terminated")
    name = found["metadata"]["name"]
    running.wait_pods(name, {"t-0": "Failed"})
    actions = [event for event in running.events(name) if event.startswith("Normal")]
    assert actions == ["Normal ExecuteAction Execute action TerminateJob after 3s"]
    pod = running.pods(name)["t-0"]
    failed = pod["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"]
    acted = next(c for c in found["status"]["conditions"] if c["status"] == "Terminating")["lastTransitionTime"]
    delay_s = (datetime.fromisoformat(acted) - datetime.fromisoformat(failed)).total_seconds()
    assert 2 <= delay_s <= 60


def test_a_pod_that_waits_too_long(running: Volcano) -> None:
    found = first_of(running, PENDING, "Aborted")
    name = found["metadata"]["name"]
    assert phases(found)[-2:] == ["Aborting", "Aborted"]
    running.wait_pods(name, {})
    actions = [event for event in running.events(name) if event.startswith("Normal")]
    assert set(actions) == {"Normal ExecuteAction Execute action AbortJob after 4s"}


def test_a_deadline_shows_in_the_pod(running: Volcano) -> None:
    running.wait_phase("deadline", "Aborted")
    status = running.pods("deadline")["t-0"]["status"]
    assert status["reason"] == "DeadlineExceeded"
    assert re.search("longer than the specified deadline", status["message"])


def test_restarted_pods_carry_the_counts(running: Volcano) -> None:
    running.wait_phase("pf-restart", "Failed")
    states = running.pod_record.history("pf-restart-t-0")
    notes = [states[0]["metadata"]["annotations"], states[-1]["metadata"]["annotations"]]
    counts = [(note["volcano.sh/job-version"], note["volcano.sh/job-retry-count"]) for note in notes]
    assert counts == [("0", "0"), ("1", "1")]
