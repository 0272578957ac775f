"""Of which ended jobs the output has to be given its own names."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from hpcbatch.controller.deliveries import owes_output
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.spec import JobSpec
from hpcbatch.volcano.delivery import delivery

START = datetime(2026, 11, 23, 6, tzinfo=UTC)
BEGUN = "message=the pod was killed before its runner could report\nreason=Signalled\nstarted=1\n"


def record(dialect: Dialect = Dialect.PBS, start: datetime | None = START) -> JobRecord:
    status = JobStatus(start_time=start)
    spec = JobSpec(dialect=dialect, name="j")
    return JobRecord(job_id=7, namespace="ns", object_name="x", queue="q", spec=spec, status=status)


def pod(code: int, message: str, started: str | None = "2026-11-23T06:00:00Z") -> dict[str, Any]:
    ended = {"exitCode": code, "message": message, "startedAt": started}
    return {"status": {"containerStatuses": [{"state": {"terminated": ended}}]}}


@pytest.mark.parametrize(
    ("job", "first", "expected"),
    [
        pytest.param(record(), pod(137, BEGUN), True, id="killed while the script ran"),
        pytest.param(record(), pod(137, "The container could not be located"), True, id="lost with its node"),
        pytest.param(record(), pod(3, "exit_code=3\nstarted=1\nended=5\n"), False, id="ended by itself"),
        pytest.param(record(), pod(143, "exit_code=0\nstarted=1\nended=5\n"), False, id="told to end"),
        pytest.param(record(), pod(1, "message=no sshd\nreason=LaunchFailed\n"), False, id="never ran"),
        pytest.param(record(), pod(128, "no sh", None), False, id="no shell in the image"),
        pytest.param(record(), None, False, id="its pod is not known"),
        pytest.param(record(start=None), pod(137, BEGUN), False, id="deleted before it ran"),
        pytest.param(record(Dialect.SLURM), pod(137, BEGUN), False, id="Slurm writes directly"),
    ],
)
def test_owes_output(job: JobRecord, first: dict[str, Any] | None, expected: bool) -> None:
    assert owes_output(job, first) == expected


def test_the_pod_that_delivers() -> None:
    container: dict[str, Any] = {
        "command": ["/bin/sh", "run.sh", "master"],
        "resources": {"limits": {"memory": "64"}},
        "image": "i",
    }
    first: dict[str, Any] = {
        "name": "mpimaster",
        "replicas": 1,
        "template": {"spec": {"containers": [container], "affinity": {"a": 1}}},
    }
    others: dict[str, Any] = {"name": "mpiworker", "replicas": 3, "template": {"spec": {"containers": [container]}}}
    spec = {"minAvailable": 4, "plugins": {"ssh": []}, "policies": [{"event": "PodFailed"}], "tasks": [others, first]}
    made = delivery({"metadata": {"name": "job-7"}, "spec": spec}, SiteConfig())
    assert made["metadata"]["name"] == "job-7-output"
    assert made["spec"]["minAvailable"] == 1 and made["spec"]["plugins"] == {"env": []}
    (task,) = made["spec"]["tasks"]
    (only,) = task["template"]["spec"]["containers"]
    assert only["command"] == ["/bin/sh", "run.sh", "deliver"] and "limits" not in only["resources"]
    assert "affinity" not in task["template"]["spec"] and container["command"][-1] == "master"
