# ruff: noqa: E501 - the texts stay in one line each
"""What Volcano's webhooks and the CRD's schema say against Volcano Jobs and Queues, word for word."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.conformance.volcano_site import Object, Volcano, job, on, on_exit, queue, task

W = 'admission webhook "validatejob.volcano.sh" denied the request: '
M = 'admission webhook "mutatejob.volcano.sh" denied the request: '
WQ = 'admission webhook "validatequeue.volcano.sh" denied the request: '
V = 'The Job "adm" is invalid: '
QUOTA = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
LABEL = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
_LISTS = re.compile(r"valid events are \[.*\], valid actions are \[.*\];")


def adm(*tasks: Object, name: str = "adm", **spec: Any) -> Object:
    return job(name, *(tasks or (task("t", "true"),)), **spec)


def pod(**spec: Any) -> Object:
    return adm(task("t", "true", pod=spec))


def container(**fields: Any) -> Object:
    return adm(task("t", "true", container=fields))


def without(obj: Object, *path: str | int) -> Object:
    part: Any = obj
    for step in path[:-1]:
        part = part[step]
    del part[path[-1]]
    return obj


def policy(text: str) -> str:
    """The lists come in another order each time."""
    return f"{W}1 error occurred:\n\t* {text}\n\n valid events and actions"


JOBS: dict[str, tuple[Object, str]] = {
    "fine": (adm(), ""),
    "no spec": (
        {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "adm"}},
        'Error from server (InternalError): Internal error occurred: add operation does not apply: doc is missing path: "/spec/queue": missing value',
    ),
    "no tasks": (without(adm(), "spec", "tasks"), f"{W}No task specified in job spec"),
    "empty tasks": (
        {**adm(), "spec": {"tasks": []}},
        f"{V}spec.tasks: Invalid value: 0: spec.tasks in body should have at least 1 items",
    ),
    "replicas as text": (
        adm(task("t", "true", replicas="2")),  # type: ignore[arg-type]
        f"{M}json: cannot unmarshal string into Go struct field TaskSpec.spec.tasks.replicas of type int32",
    ),
    "replicas with a fraction": (
        adm(task("t", "true", replicas=1.5)),  # type: ignore[arg-type]
        f"{M}json: cannot unmarshal number 1.5 into Go struct field TaskSpec.spec.tasks.replicas of type int32",
    ),
    "no replicas": (without(adm(), "spec", "tasks", 0, "replicas"), ""),
    "job minAvailable": (
        adm(task("t", "true", 2), minAvailable=3),
        f"{W}job 'minAvailable' should not be greater than total replicas in tasks;",
    ),
    "task minAvailable": (
        adm(task("t", "true", 2, minAvailable=3)),
        f"{W}'minAvailable' is greater than 'replicas' in task: t, job: adm; job 'minAvailable' should not be greater than total replicas in tasks;",
    ),
    "negative minAvailable": (
        adm(minAvailable=-1),
        f"{V}spec.minAvailable: Invalid value: -1: spec.minAvailable in body should be greater than or equal to 0",
    ),
    "two tasks of a name": (adm(task("t", "true"), task("t", "true")), f"{W}duplicated task name t;"),
    "two nameless tasks": (adm(task("", "true"), task("", "true")), ""),
    "task name": (
        adm(task("A_b", "true")),
        f"{V}spec.tasks[0].name: Invalid value: \"A_b\": spec.tasks[0].name in body should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'",
    ),
    "long task name": (adm(task("a" * 64, "true")), f"{V}spec.tasks[0].name: Too long: may not be more than 63 bytes"),
    "long pod name": (
        adm(task("a" * 58, "true")),
        f"{W}create pod with name adm-{'a' * 58}-0 validate failed [name part must be no more than 63 characters];",
    ),
    "plugin": (adm(plugins={"foo": []}), f"{W}unable to find job plugin: foo;"),
    "plugin arguments as text": (
        adm(plugins={"ssh": "x"}),
        f"{M}json: cannot unmarshal string into Go struct field JobSpec.spec.plugins of type []string",
    ),
    "plugin flags": (adm(plugins={"svc": ["--nosuch=1"]}), ""),
    "mpi without master": (adm(plugins={"mpi": []}), f"{W}The specified mpi master task was not found"),
    "mpi without worker": (
        adm(task("master", "true"), plugins={"mpi": []}),
        f"{W}The specified mpi worker task was not found",
    ),
    "unknown event": (
        adm(policies=[on("Foo", "AbortJob")]),
        f'{V}spec.policies[0].event: Unsupported value: "Foo": supported values: "*", "PodPending", "PodRunning", "PodFailed", "PodEvicted", "Unknown", "TaskCompleted", "OutOfSync", "CommandIssued", "JobUpdated", "TaskFailed"',
    ),
    "internal event": (
        adm(policies=[on("PodRunning", "AbortJob")]),
        policy('spec.policies: Invalid value: "PodRunning": invalid policy event'),
    ),
    "unknown action": (
        adm(policies=[on("PodFailed", "Foo")]),
        policy('spec.policies: Invalid value: "Foo": invalid policy action'),
    ),
    "task's unknown action": (
        adm(task("t", "true", policies=[on("PodFailed", "Foo")])),
        policy('spec.tasks.policies: Invalid value: "Foo": invalid policy action'),
    ),
    "exit code 0": (adm(policies=[on_exit(0, "AbortJob")]), policy("0 is not a valid error code")),
    "exit code and event": (
        adm(policies=[on("PodFailed", "AbortJob", exitCode=3)]),
        policy("must not specify event and exitCode simultaneously"),
    ),
    "exit code twice": (
        adm(policies=[on_exit(3, "AbortJob"), on_exit(3, "RestartJob")]),
        policy("duplicate exitCode 3"),
    ),
    "neither": (adm(policies=[{"action": "AbortJob"}]), policy("either event and exitCode should be specified")),
    "event twice": (
        adm(policies=[on("PodFailed", "AbortJob"), on("PodFailed", "RestartJob")]),
        policy("duplicate event PodFailed  across different policy"),
    ),
    "any and another": (
        adm(policies=[on("*", "AbortJob"), on("PodFailed", "AbortJob")]),
        policy("if there's * here, no other policy should be here"),
    ),
    "bad timeout": (adm(policies=[on("PodFailed", "AbortJob", timeout="abc")]), f'{M}time: invalid duration "abc"'),
    "timeout as number": (
        adm(policies=[on("PodFailed", "AbortJob", timeout=5)]),
        f"{M}json: cannot unmarshal number into Go struct field LifecyclePolicy.spec.policies.timeout of type string",
    ),
    "queue": (adm(queue="nosuch"), f'{W}unable to find job queue: queue.scheduling.volcano.sh "nosuch" not found;'),
    "root queue": (adm(queue="root"), f"{W}can not submit job to root queue;"),
    "queue name": (
        adm(queue="Bad_Name"),
        f"{V}spec.queue: Invalid value: \"Bad_Name\": spec.queue in body should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'",
    ),
    "time to live as text": (
        adm(ttlSecondsAfterFinished="5"),
        f"{M}json: cannot unmarshal string into Go struct field JobSpec.spec.ttlSecondsAfterFinished of type int32",
    ),
    "maxRetry": (
        adm(maxRetry=-1),
        f"{V}spec.maxRetry: Invalid value: -1: spec.maxRetry in body should be greater than or equal to 0",
    ),
    "minSuccess": (
        adm(minSuccess=0),
        f"{V}spec.minSuccess: Invalid value: 0: spec.minSuccess in body should be greater than or equal to 1",
    ),
    "depends on itself": (
        adm(task("t", "true", dependsOn={"name": ["t"]})),
        f"{W}job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG);",
    ),
    "depends on a list": (
        adm(task("t", "true", dependsOn=["a"])),
        f"{M}json: cannot unmarshal array into Go struct field TaskSpec.spec.tasks.dependsOn of type v1alpha1.DependsOn",
    ),
    "no containers": (pod(containers=[]), f"{W}spec.task[0].template.spec.containers: Required value."),
    "restartPolicy": (
        pod(restartPolicy="Foo"),
        f'{W}spec.task[0].template.spec.restartPolicy: Unsupported value: "Foo": supported values: "Always", "OnFailure", "Never".',
    ),
    "no image": (container(image=""), f"{W}spec.task[0].template.spec.containers[0].image: Required value."),
    "request over limit": (
        container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
        f'{W}spec.task[0].template.spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1.',
    ),
    "quantity": (container(resources={"requests": {"cpu": "1x"}}), f"{M}{QUOTA}"),
    "label": (
        adm(task("t", "true", metadata={"labels": {"a": "b c"}})),
        f'{W}spec.task[0].template.labels: Invalid value: "b c": {LABEL}.',
    ),
    "several": (
        adm(task("t", "true", minAvailable=2), queue="nosuch", plugins={"foo": []}),
        f"{W}'minAvailable' is greater than 'replicas' in task: t, job: adm; job 'minAvailable' should not be greater than total replicas in tasks; unable to find job plugin: foo; "
        'unable to find job queue: queue.scheduling.volcano.sh "nosuch" not found;',
    ),
    "unknown priority class": (adm(priorityClassName="nosuch"), ""),
    "topology": (
        adm(networkTopology={"mode": "hard", "highestTierAllowed": 1, "highestTierName": "x"}),
        f"{W}must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously",
    ),
    "partitions": (
        adm(task("t", "true", 3, partitionPolicy={"totalPartitions": 2, "partitionSize": 2})),
        f"{W}'Replicas' are not equal to TotalPartitions*PartitionSize in task: t, job: adm",
    ),
}

QUEUES: dict[str, tuple[Object, str]] = {
    "fine": (queue("adm", weight=2), ""),
    "no weight": (queue("adm"), ""),
    "negative weight": (
        queue("adm", weight=-1),
        'The Queue "adm" is invalid: spec.weight: Invalid value: -1: spec.weight in body should be greater than or equal to 1',
    ),
    "parent": (
        queue("adm", parent="nosuch"),
        f'{WQ}failed to get parent queue of queue adm: queue.scheduling.volcano.sh "nosuch" not found',
    ),
    "own parent": (queue("adm", parent="adm"), f"{WQ}queue adm cannot use itself as parent"),
    "negative capability": (
        queue("adm", capability={"cpu": "-1"}),
        f'{WQ}[requestBody.spec.capability.cpu: Invalid value: "-1": must be greater than or equal to 0, requestBody.spec.deserved: Invalid value: "cpu 0.00, memory 0.00": deserved should less equal than capability]',
    ),
    "deserved over capability": (
        queue("adm", capability={"cpu": "1"}, deserved={"cpu": "2"}),
        f'{WQ}requestBody.spec.deserved: Invalid value: "cpu 2000.00, memory 0.00": deserved should less equal than capability',
    ),
    "guarantee without deserved": (
        queue("adm", guarantee={"resource": {"cpu": "1"}}),
        f'{WQ}requestBody.spec.guarantee: Invalid value: "cpu 1000.00, memory 0.00": guarantee should less equal than deserved',
    ),
    "quantity": (
        queue("adm", capability={"cpu": "1x"}),
        f'admission webhook "mutatequeue.volcano.sh" denied the request: {QUOTA}',
    ),
}


@pytest.fixture(scope="module")
def said_of_jobs(volcano: Volcano) -> dict[str, str]:
    return volcano.refusals("jobs", {name: obj for name, (obj, _) in JOBS.items()})


@pytest.fixture(scope="module")
def said_of_queues(volcano: Volcano) -> dict[str, str]:
    return volcano.refusals("queues", {name: obj for name, (obj, _) in QUEUES.items()})


@pytest.mark.parametrize("name", JOBS)
def test_job(said_of_jobs: dict[str, str], name: str) -> None:
    assert _LISTS.sub("valid events and actions", said_of_jobs[name]) == JOBS[name][1]


@pytest.mark.parametrize("name", QUEUES)
def test_queue(said_of_queues: dict[str, str], name: str) -> None:
    assert said_of_queues[name] == QUEUES[name][1]


def test_a_refusal_leaves_nothing(volcano: Volcano, said_of_jobs: dict[str, str]) -> None:
    assert said_of_jobs["fine"] == ""
    assert volcano.names("vcjob") == set()


def test_kubectl_knows_the_fields(volcano: Volcano) -> None:
    text = json.dumps(adm(nonsense=1))
    done = volcano.kubectl("create", "-f", "-", stdin=text, check=False)
    assert (done.returncode, done.stderr) == (
        1,
        'Error from server (BadRequest): error when creating "STDIN": Job in version "v1alpha1" cannot be handled as a Job: strict decoding error: unknown field "spec.nonsense"\n',
    )


def test_the_same_name_twice(volcano: Volcano) -> None:
    held = adm(task("t", "true", pod={"nodeSelector": {"no-such": "node"}}), name="twice")
    volcano.create(held)
    again = volcano.kubectl("create", "-f", "-", stdin=json.dumps(held), check=False)
    assert (
        again.stderr
        == 'Error from server (AlreadyExists): error when creating "STDIN": jobs.batch.volcano.sh "twice" already exists\n'
    )
