"""--json and --yaml of squeue and sinfo: every field that Slurm 22.05.8 printed, of the same type."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.slurm import sinfo_json, squeue_json
from hpcbatch.dialects.slurm.array_records import ShownJob, shown_jobs
from hpcbatch.dialects.slurm.data import listing
from hpcbatch.model.array import ArrayStatus
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dependency import DependencyProgress
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import ExecHost, JobRecord
from hpcbatch.model.state import JobState, Reason
from tests.unit.dialects.slurm.jobs import NODE, QUEUES, SUBMITTED, record, recorded
from tests.unit.dialects.slurm.submit_parts import spec

JOBS = {job["job_id"]: job for job in json.loads(recorded("squeue.json"))["jobs"]}
(RECORDED_NODE,) = json.loads(recorded("sinfo.json"))["nodes"]
ELSEWHERE = {
    "account",
    "association_id",
    "accrue_time",
    "cluster",
    "command",
    "current_working_directory",
    "deadline",
    "eligible_time",
    "end_time",
    "exit_code",
    "group_id",
    "group_name",
    "job_resources",
    "last_sched_evaluation",
    "name",
    "priority",
    "standard_error",
    "standard_output",
    "start_time",
    "submit_time",
    "tres_alloc_str",
    "tres_req_str",
    "user_id",
}
"""Times, places and numbers of the recorded machine, and how its scheduler counts memory."""


def job(number: int, base: JobRecord, *argv: str) -> JobRecord:
    asked = spec(*argv, environ={})
    return replace(
        base, job_id=number, queue=asked.queue or "debug", spec=replace(asked, array=base.spec.array or asked.array)
    )


RUNNING = record(
    26,
    state=JobState.RUNNING,
    reason=Reason.NONE,
    hosts=(ExecHost(node="vm", pod="p-0", cpus=2),),
    start_time=SUBMITTED,
    run_count=1,
    layout=(Chunk(cpus=2, ranks=2),),
)
WAITING = record(
    30, state=JobState.HELD, reason=Reason.HELD_BY_USER, eligible_time=None, layout=(Chunk(cpus=2, ranks=2),)
)
CASES = [
    job(26, RUNNING, "-n2", "-t30", "--mem=100", "-J", "run", "-L", "matlab:2", "--comment", "hello", "-o", "out.%j"),
    job(
        28,
        WAITING,
        *("-H", "-n2", "-c1", "--mem-per-cpu=10", "--nice=5", "-t60", "-w", "vm", "--no-requeue", "--exclusive"),
        "--wrap=true",
    ),
]


@pytest.mark.parametrize("made", CASES, ids=lambda made: str(made.job_id))
def test_job_as_recorded(made: JobRecord) -> None:
    found, expected = squeue_json.job(ShownJob(made)), JOBS[made.job_id]
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert type(found[name]) is type(value), name
        if name not in ELSEWHERE:
            assert found[name] == value, name


def test_array_and_dependent_as_recorded() -> None:
    asked = spec("-H", "-a", "1-5:2%2", "-t", "UNLIMITED", "-p", "long", "--wrap=true")
    array = replace(
        WAITING,
        job_id=29,
        queue="long",
        spec=asked,
        status=replace(WAITING.status, array=ArrayStatus(pending=Indices.parse("1-5:2"), limit=2)),
    )
    (shown,) = shown_jobs([array], {})
    found = squeue_json.job(shown)
    for name in ("array_job_id", "array_task_id", "array_max_tasks", "array_task_string", "partition", "time_limit"):
        assert found[name] == JOBS[29][name], name
    assert found["state_reason"] == "JobHeldUser"
    waits = replace(WAITING.status, reason=Reason.DEPENDENCY, dependency=DependencyProgress(left="afterok:26"))
    found = squeue_json.job(ShownJob(replace(WAITING, status=waits)))
    assert (found["dependency"], found["state_reason"]) == ("afterok:26(unfulfilled)", "Dependency")


def test_node_as_recorded() -> None:
    busy = NODE._replace(cpus_used=2)
    found = sinfo_json.node(busy, QUEUES)
    assert found.keys() == RECORDED_NODE.keys()
    of_machine = {
        "boot_time",
        "cpu_load",
        "free_memory",
        "last_busy",
        "operating_system",
        "port",
        "slurmd_start_time",
    }
    assert {name: found[name] for name in found.keys() - of_machine} == {
        name: value for name, value in RECORDED_NODE.items() if name not in of_machine
    }
    drained = sinfo_json.node(NODE._replace(schedulable=False), QUEUES)
    assert (drained["state"], drained["state_flags"]) == ("idle", ["DRAIN"])
    assert sinfo_json.node(NODE._replace(ready=False), QUEUES)["state"] == "down"


def test_yaml_as_recorded() -> None:
    assert listing("nodes", [RECORDED_NODE], as_yaml=True) == recorded("sinfo.yaml")


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=20)
TREE = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2**40) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(TEXT, TREE, max_size=3))
def test_any_value_is_read_again(entry: dict[str, Any]) -> None:
    assert yaml.safe_load(listing("jobs", [entry], as_yaml=True))["jobs"] == [entry]
    assert json.loads(listing("jobs", [entry], as_yaml=False))["jobs"] == [entry]


def test_json_is_json() -> None:
    found = json.loads(listing("jobs", [], as_yaml=False))
    assert found["meta"]["plugin"] == {"type": "openapi/v0.0.38", "name": "Slurm OpenAPI v0.0.38"}
    assert (found["errors"], found["jobs"]) == ([], [])
