from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.engine.agent.status import (
    LOST_REASON,
    ContainerRun,
    PodStatusParts,
    lost_parts,
    new_containers,
    phase,
    pod_status,
    waiting,
)

NOW = "2026-11-21T10:00:00Z"
LATER = "2026-11-21T11:00:00Z"
RUNNING = {"running": {"startedAt": NOW}}


def ended(code: int) -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed"}}


def parts(main: list[dict[str, Any]], init: list[dict[str, Any]] | None = None, **rest: Any) -> PodStatusParts:
    containers = [ContainerRun({"name": f"i{n}"}, True, state) for n, state in enumerate(init or [])]
    containers += [ContainerRun({"name": f"c{n}"}, False, state) for n, state in enumerate(main)]
    return PodStatusParts(containers, NOW, "192.0.2.9", **rest)


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        pytest.param(parts([waiting("ContainerCreating")]), "Pending", id="creating"),
        pytest.param(parts([waiting("PodInitializing")], [RUNNING]), "Pending", id="init runs"),
        pytest.param(parts([RUNNING, waiting("ContainerCreating")]), "Running", id="one of two runs"),
        pytest.param(parts([ended(1), RUNNING]), "Running", id="one of two has failed"),
        pytest.param(parts([ended(0), ended(0)], ended=True), "Succeeded", id="both good"),
        pytest.param(parts([ended(0), ended(3)], ended=True), "Failed", id="one bad"),
        pytest.param(parts([waiting("PodInitializing")], [ended(1)], ended=True), "Failed", id="init failed"),
        pytest.param(parts([ended(0)], ended=True, failed_because="DeadlineExceeded"), "Failed", id="deadline"),
        pytest.param(parts([], ended=True, failed_because="OutOfcpu"), "Failed", id="rejected"),
    ],
)
def test_phase(run: PodStatusParts, expected: str) -> None:
    assert phase(run) == expected


def test_others_conditions_and_unchanged_times_are_kept() -> None:
    run = parts([RUNNING], sandbox=True)
    first = pod_status(run, {"qosClass": "BestEffort"}, 1, NOW)
    foreign = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": NOW}
    run.containers[0].state = ended(0)
    second = pod_status(run, {**first, "conditions": [*first["conditions"], foreign]}, 1, LATER)
    times = {one["type"]: one["lastTransitionTime"] for one in second["conditions"]}
    assert times == {
        "PodReadyToStartContainers": NOW,
        "Initialized": NOW,
        "Ready": LATER,
        "ContainersReady": LATER,
        "DisruptionTarget": NOW,
    }
    assert second["qosClass"] == "BestEffort"


def recorded(**status: Any) -> dict[str, Any]:
    return {"metadata": {"uid": "u"}, "spec": {"containers": [{"name": "c0"}, {"name": "c1"}]}, "status": status}


READY = [{"type": "PodReadyToStartContainers", "status": "True"}]


@pytest.mark.parametrize(
    "status",
    [
        pytest.param({"phase": "Pending"}, id="just bound"),
        pytest.param({"phase": "Succeeded", "conditions": READY}, id="over"),
        pytest.param(
            {"phase": "Pending", "containerStatuses": [{"name": "c0", "state": waiting("ContainerCreating")}]},
            id="waits for a volume",
        ),
    ],
)
def test_not_lost(status: dict[str, Any]) -> None:
    assert lost_parts(recorded(**status), "ip", NOW) is None


def test_about_to_start_counts_as_lost() -> None:
    run = lost_parts(recorded(phase="Pending", conditions=READY), "ip", NOW)
    assert run is not None
    assert [one.terminated and one.terminated["exitCode"] for one in run.containers] == [137, 137]
    assert (phase(run), run.failed_because) == ("Failed", LOST_REASON)


def test_what_had_ended_is_kept() -> None:
    statuses = [{"name": "c0", "state": ended(0)}, {"name": "c1", "state": RUNNING, "restartCount": 2}]
    run = lost_parts(recorded(phase="Running", conditions=READY, containerStatuses=statuses), "ip", LATER)
    assert run is not None
    first, second = run.containers
    assert first.state == ended(0)
    assert second.restarts == 2
    assert second.terminated is not None
    assert (second.terminated["reason"], second.terminated["startedAt"], second.terminated["finishedAt"]) == (
        LOST_REASON,
        NOW,
        LATER,
    )


def test_all_ended_before_the_engine_did() -> None:
    statuses = [{"name": "c0", "state": ended(0)}, {"name": "c1", "state": ended(0)}]
    run = lost_parts(recorded(phase="Running", conditions=READY, containerStatuses=statuses), "ip", NOW)
    assert run is not None
    assert (phase(run), run.failed_because) == ("Succeeded", "")


STATES = st.one_of(
    st.just(RUNNING),
    st.integers(0, 255).map(ended),
    st.sampled_from(["ContainerCreating", "CrashLoopBackOff"]).map(waiting),
)


@given(st.lists(STATES, min_size=1, max_size=3), st.lists(STATES, max_size=2), st.booleans(), st.booleans())
def test_statuses_make_sense(main: list[Any], init: list[Any], sandbox: bool, over: bool) -> None:
    run = parts(main, init, sandbox=sandbox, ended=over)
    status = pod_status(run, {}, 3, NOW)
    conditions = {one["type"]: one["status"] for one in status["conditions"]}
    assert (status["phase"] in {"Succeeded", "Failed"}) == over
    assert (conditions["Ready"] == "True") == all("running" in state for state in main)
    assert conditions["Ready"] == conditions["ContainersReady"]
    assert len(status["containerStatuses"]) == len(main)
    again = pod_status(run, status, 3, LATER)
    assert again == status  # writing it once more changes nothing


def test_new_containers_wait_for_the_init_containers() -> None:
    made = new_containers({"containers": [{"name": "c"}], "initContainers": [{"name": "i"}]})
    assert [(one.name, one.init, one.state["waiting"]["reason"]) for one in made] == [
        ("i", True, "PodInitializing"),
        ("c", False, "PodInitializing"),
    ]
