"""Events of Volcano 1.14.1 about pods that it cannot make, recorded."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.policy.pod_creation import Refusals
from hpcbatch.units import parse_rfc3339

FIRST, LAST = "2026-11-21T15:18:57Z", "2026-11-21T15:18:58Z"


def go(message: str) -> str:
    """As Go prints the error that it got from the API server."""
    message = f'pods "job-915-mpimaster-0" is forbidden: {message}'
    quoted = message.replace("\\", "\\\\").replace('"', '\\"')
    return (
        "Error creating pods: [failed to create pod job-915-mpimaster-0, err: &errors.StatusError{ErrStatus:v1.Status{"
        'TypeMeta:v1.TypeMeta{Kind:"", APIVersion:""}, ListMeta:v1.ListMeta{SelfLink:"", '
        'ResourceVersion:"", Continue:"", RemainingItemCount:(*int64)(nil)}, Status:"Failure", '
        f'Message:"{quoted}", Reason:"Forbidden", Details:(*v1.StatusDetails)(0x1644ce95e6c0), Code:403}}}}]'
    )


def event(text: str, *, first: str = FIRST, last: str = LAST, uid: str = "vj-1", name: str = "e-1") -> dict[str, Any]:
    return {
        "metadata": {"name": name, "creationTimestamp": first},
        "message": text,
        "firstTimestamp": first,
        "lastTimestamp": last,
        "involvedObject": {"kind": "Job", "name": "job-915", "uid": uid},
    }


def job(*, replicas: int = 2, restarts: tuple[str, ...] = (), **requests: str) -> dict[str, Any]:
    container = {"name": "main", "resources": {"requests": requests, "limits": {"memory": "1Gi"}}}
    return {
        "metadata": {"uid": "vj-1", "creationTimestamp": "2026-11-21T15:18:56Z"},
        "spec": {
            "tasks": [
                {"replicas": 1, "template": {"spec": {"containers": [container]}}},
                {"replicas": replicas - 1, "template": {"spec": {"containers": [container]}}},
            ]
        },
        "status": {
            "conditions": [
                {"status": "Pending", "lastTransitionTime": "2026-11-21T15:19:30Z"},
                *({"status": "Restarting", "lastTransitionTime": when} for when in restarts),
            ]
        },
    }


POLICY = (
    'violates PodSecurity "restricted:latest": restricted volume types '
    '(volume "site-home" uses restricted volume type "hostPath")'
)
QUOTA = "exceeded quota: q, requested: {}, used: {}, limited: {}"


@pytest.mark.parametrize(
    ("text", "volcano_job", "message", "may_pass"),
    [
        pytest.param(go(POLICY), job(), POLICY, False, id="Pod Security"),
        pytest.param(
            f"(combined from similar events): {go(QUOTA.format('pods=1', 'pods=1', 'pods=1'))}",
            job(),
            QUOTA.format("pods=1", "pods=1", "pods=1"),
            False,
            id="a quota for fewer pods than the job has",
        ),
        pytest.param(
            go(QUOTA.format("pods=1", "pods=3", "pods=3")),
            job(),
            QUOTA.format("pods=1", "pods=3", "pods=3"),
            True,
            id="a quota that others use up",
        ),
        pytest.param(
            go(QUOTA.format("cpu=2,requests.memory=1Gi", "cpu=3,requests.memory=0", "cpu=4,requests.memory=2Gi")),
            job(cpu="2", memory="1Gi"),
            QUOTA.format("cpu=2,requests.memory=1Gi", "cpu=3,requests.memory=0", "cpu=4,requests.memory=2Gi"),
            True,
            id="just enough in all",
        ),
        pytest.param(
            go(QUOTA.format("requests.cpu=2", "requests.cpu=2", "requests.cpu=3")),
            job(cpu="2"),
            QUOTA.format("requests.cpu=2", "requests.cpu=2", "requests.cpu=3"),
            False,
            id="one fits, the gang does not",
        ),
        pytest.param(
            go(QUOTA.format("limits.memory=1Gi", "limits.memory=1Gi", "limits.memory=1Gi")),
            job(),
            QUOTA.format("limits.memory=1Gi", "limits.memory=1Gi", "limits.memory=1Gi"),
            False,
            id="limits",
        ),
        pytest.param("something else", job(), "something else", False, id="no status"),
    ],
)
def test_why(text: str, volcano_job: dict[str, Any], message: str, may_pass: bool) -> None:
    refusals = Refusals()
    refusals.add(event(text))
    refused = refusals.about(volcano_job)
    assert refused is not None
    assert (refused.message, refused.may_pass, refused.since) == (message, may_pass, parse_rfc3339(FIRST))


def test_the_newest_event_counts_since_the_first() -> None:
    refusals = Refusals()
    refusals.add(event(go("old")))
    refusals.add(event(go("new"), first=LAST, last="2026-11-21T15:19:40Z", name="e-2"))
    refusals.add(event(go("old"), name="e-1"))  # told again after a lost watch
    refusals.remove(event(go("old"), name="e-1"))
    refused = refusals.about(job())
    assert refused is not None
    assert (refused.message, refused.since) == ("new", parse_rfc3339(FIRST))
    refusals.remove(event(go("new"), name="e-2"))
    assert refusals.about(job()) is None


def test_what_was_before_a_restart_and_of_other_jobs_does_not_count() -> None:
    refusals = Refusals()
    refusals.add(event(go("old")))
    assert refusals.about(job(restarts=("2026-11-21T15:25:00Z",))) is None
    assert refusals.about(job() | {"metadata": {"uid": "vj-2", "creationTimestamp": FIRST}}) is None
