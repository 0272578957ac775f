"""Volcano Jobs without policies: how they end, what a gang and a task need, dependsOn, scaling, Commands, deletion."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.conformance.volcano_job_cases import CASES
from tests.conformance.volcano_site import LIMIT_S, WORKER, Object, Volcano, job, phase, phases, task
from tests.waiting import wait_for

pytestmark = pytest.mark.alone

# Those that a test acts on while they run.
RUNNING = {
    "zero": job("zero", task("t", "true", 0)),
    "nameless": job("nameless", task("", WORKER), task("", WORKER), labels={"x": "y"}, annotations={"note": "a b"}),
    "replaced": job("replaced", task("a", WORKER, 2)),
    "deleted": job("deleted", task("a", WORKER, 2), plugins={"svc": [], "ssh": [], "env": []}),
    "scaled": job("scaled", task("a", WORKER, 2), minAvailable=1, plugins={"svc": []}),
    "suspended": job("suspended", task("a", WORKER, 2), plugins={"svc": []}),
    "stopped": job("stopped", task("a", WORKER)),
    "finished": job("finished", task("a", WORKER)),
    "restarted": job("restarted", task("a", WORKER)),
    "unmoved": job("unmoved", task("a", WORKER), annotations={"volcano.sh/preemptable": "true", "other": "x"}),
    "forbidden": job("forbidden", task("a", "true"), priorityClassName="no-such-class"),
    "parts": job(
        "parts",
        task("a", WORKER, 4, partitionPolicy={"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1}),
    ),
    "short-lived": job("short-lived", task("a", "true"), ttlSecondsAfterFinished=1, plugins={"svc": []}),
    "at-once": job("at-once", task("a", "true"), ttlSecondsAfterFinished=0),
    "huge": job("huge", task("a", "true", cpu="3")),
    "nowhere": job("nowhere", task("a", "true", pod={"nodeSelector": {"no-such": "node"}})),
}


@pytest.fixture(scope="module")
def running(volcano: Volcano) -> Volcano:
    """All jobs of this file at once."""
    volcano.create(*RUNNING.values(), *(job(name, *case.tasks, **case.spec) for name, case in CASES.items()))
    return volcano


def test_defaults(running: Volcano) -> None:
    made = running.wait_phase("nameless", "Running")
    spec = made["spec"]
    assert (spec["queue"], spec["schedulerName"], spec["maxRetry"], spec["minAvailable"]) == (
        "default",
        "volcano",
        3,
        2,
    )
    assert [(t["name"], t["maxRetry"], t["minAvailable"]) for t in spec["tasks"]] == [
        ("default0", 3, 1),
        ("default1", 3, 1),
    ]
    assert "plugins" not in spec
    assert "policies" not in spec
    assert made["metadata"].keys() <= {
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "labels",
        "annotations",
        "managedFields",
    }
    assert made["metadata"]["generation"] == 1


def test_status_of_a_running_job(running: Volcano) -> None:
    status = running.wait_phase("nameless", "Running")["status"]
    assert (status["running"], status["minAvailable"]) == (2, 2)
    assert status["taskStatusCount"] == {
        "default0": {"phase": {"Running": 1}},
        "default1": {"phase": {"Running": 1}},
    }
    assert status.keys() <= {"state", "minAvailable", "running", "taskStatusCount", "conditions"}
    assert status["state"].keys() == {"phase", "lastTransitionTime"}
    assert phases({"status": status}) == ["Pending", "Running"]


def test_no_replicas(running: Volcano) -> None:
    """`replicas: 0` is what Go leaves out. The job is Running for ever, without a pod."""
    found = running.wait_phase("zero", "Running")
    assert "replicas" not in found["spec"]["tasks"][0]
    group = running.wait_group("zero", "to be Completed", lambda g: g.get("status", {}).get("phase") == "Completed")
    assert group["spec"] == {"minResources": {}, "minTaskMember": {"t": 0}, "queue": "default"}
    assert running.pods("zero") == {}


def test_pods_of_a_job_without_plugins(running: Volcano) -> None:
    running.wait_phase("nameless", "Running")
    meta = running.job("nameless")["metadata"]
    group = f"nameless-{meta['uid']}"
    pod = running.pods("nameless")["default1-0"]
    assert pod["metadata"]["labels"] == {
        "volcano.sh/job-name": "nameless",
        "volcano.sh/job-namespace": running.namespace,
        "volcano.sh/queue-name": "default",
        "volcano.sh/task-index": "0",
        "volcano.sh/task-spec": "default1",
    }
    assert pod["metadata"]["annotations"] == {
        "scheduling.k8s.io/group-name": group,
        "volcano.sh/job-name": "nameless",
        "volcano.sh/job-retry-count": "0",
        "volcano.sh/job-version": "0",
        "volcano.sh/queue-name": "default",
        "volcano.sh/task-index": "0",
        "volcano.sh/task-spec": "default1",
        "volcano.sh/template-uid": "nameless-default1",
    }
    owner = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "name": "nameless",
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert pod["metadata"]["ownerReferences"] == [owner]
    assert pod["spec"]["schedulerName"] == "volcano"
    assert pod["spec"].keys().isdisjoint({"hostname", "subdomain"})
    assert "env" not in pod["spec"]["containers"][0]


def test_pod_group(running: Volcano) -> None:
    """It has all of the job's labels and annotations, the pods have none of them."""
    running.wait_phase("nameless", "Running")
    group = running.wait_group("nameless", "to count 2 running", lambda g: g.get("status", {}).get("running") == 2)
    uid = running.job("nameless")["metadata"]["uid"]
    assert group["metadata"]["name"] == f"nameless-{uid}"
    assert group["metadata"]["labels"] == {"x": "y"}
    assert group["metadata"]["annotations"] == {"note": "a b"}
    assert [(o["kind"], o["uid"], o["controller"]) for o in group["metadata"]["ownerReferences"]] == [
        ("Job", uid, True)
    ]
    assert group["spec"] == {
        "minMember": 2,
        "minTaskMember": {"default0": 1, "default1": 1},
        "queue": "default",
        "minResources": {"count/pods": "2", "cpu": "100m", "pods": "2", "requests.cpu": "100m"},
    }
    assert group["status"]["phase"] == "Running"
    (condition,) = group["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "Scheduled",
        "True",
        "tasks in gang are ready to be scheduled",
    )
    history = running.groups.history(group["metadata"]["name"])
    seen = [state.get("status", {}).get("phase", "") for state in history]
    assert list(dict.fromkeys(seen)) == ["", "Inqueue", "Running"]


@pytest.mark.parametrize("name", CASES)
def test_end(running: Volcano, name: str) -> None:
    case = CASES[name]
    running.wait_phase(name, case.phase)
    running.wait_pods(name, case.left)
    running.jobs.wait("its duration", lambda: running.job(name)["status"].get("runningDuration"))
    found = running.job(name)
    assert phases(found) == ["Pending", "Running", case.phase]
    assert [event for event in running.events(name) if "PodGroupPending" not in event] == []
    uid = found["metadata"]["uid"]
    running.groups.wait("its PodGroup to go", lambda: running.groups.is_gone(f"{name}-{uid}"))


def test_pods_of_an_ended_job_keep_their_output(running: Volcano) -> None:
    running.wait_phase("good", "Completed")
    assert running.logs("good-t-1") == "said\n"


def test_a_task_waits_for_what_it_depends_on(running: Volcano) -> None:
    running.wait_phase("depends", "Completed")
    first, second = (running.pod_record.history(f"depends-{pod}-0") for pod in ("a", "b"))
    started = first[-1]["status"]["containerStatuses"][0]["state"]["terminated"]["startedAt"]
    assert second[0]["metadata"]["creationTimestamp"] >= started


def test_a_deleted_pod_is_made_again(running: Volcano) -> None:
    running.wait_phase("replaced", "Running")
    running.kubectl("delete", "pod", "replaced-a-0", "--wait=false")
    running.pod_record.wait("another replaced-a-0", lambda: running.incarnations("replaced-a-0") == 2)
    running.wait_pods("replaced", {"a-0": "Running", "a-1": "Running"})
    assert running.incarnations("replaced-a-1") == 1
    notes = running.pods("replaced")["a-0"]["metadata"]["annotations"]
    assert (notes["volcano.sh/job-version"], notes["volcano.sh/job-retry-count"]) == ("0", "0")


def test_deleting_a_job_removes_all_of_it(running: Volcano) -> None:
    running.wait_phase("deleted", "Running")
    kinds = "pods,podgroups,services,configmaps,secrets,networkpolicies"
    answer = running.kubectl("delete", "vcjob", "deleted").stdout
    assert answer.startswith('job.batch.volcano.sh "deleted" deleted')
    running.wait_pods("deleted", {})
    running.jobs.wait("the job to go", lambda: running.jobs.is_gone("deleted"))
    left = [name for name in running.names(kinds) if name.startswith("deleted")]
    assert left == []
    again = running.kubectl("delete", "vcjob", "deleted", check=False)
    assert (again.returncode, again.stderr) == (
        1,
        'Error from server (NotFound): jobs.batch.volcano.sh "deleted" not found\n',
    )


def scale(running: Volcano, replicas: int) -> None:
    change = [{"op": "replace", "path": "/spec/tasks/0/replicas", "value": replicas}]
    if replicas == 1:
        change.append({"op": "replace", "path": "/spec/tasks/0/minAvailable", "value": 1})
    running.kubectl("patch", "vcjob", "scaled", "--type=json", "-p", json.dumps(change))


def test_scaling(running: Volcano) -> None:
    running.wait_phase("scaled", "Running")
    scale(running, 3)
    running.wait_pods("scaled", {"a-0": "Running", "a-1": "Running", "a-2": "Running"})
    data = running.get("configmap", "scaled-svc")["data"]
    assert data == {
        "VC_A_HOSTS": "scaled-a-0.scaled,scaled-a-1.scaled,scaled-a-2.scaled",
        "VC_A_NUM": "3",
        "a.host": "scaled-a-0.scaled\nscaled-a-1.scaled\nscaled-a-2.scaled",
    }
    scale(running, 1)
    running.wait_pods("scaled", {"a-0": "Running"})
    assert running.job("scaled")["metadata"]["generation"] == 3
    assert running.phase("scaled") == "Running"


def test_what_of_a_job_may_change(running: Volcano) -> None:
    webhook = 'admission webhook "validatejob.volcano.sh" denied the request: '
    fixed = (
        f"{webhook}job updates may not change fields other than `minAvailable`, `tasks[*].replicas under spec` and "
        "`PriorityClassName`"
    )
    changes: list[tuple[Object, str]] = [
        ({"maxRetry": 5}, fixed),
        ({"queue": "other"}, fixed),
        ({"ttlSecondsAfterFinished": 5}, fixed),
        ({"minAvailable": 9}, f"{webhook}job 'minAvailable' must not be greater than total replicas"),
    ]
    for change, message in changes:
        patch = json.dumps({"spec": change})
        done = running.kubectl("patch", "vcjob", "nameless", "--type=merge", "-p", patch, check=False)
        assert (done.returncode, done.stderr.strip()) == (1, f"Error from server: {message}"), change


def test_time_to_live(running: Volcano) -> None:
    for name in ("short-lived", "at-once"):
        running.jobs.wait(f"{name} to go", lambda name=name: running.jobs.is_gone(name))  # type: ignore[misc]
        running.wait_pods(name, {})
        assert "Completed" in {phase(state) for state in running.jobs.history(name)}
    assert [name for name in running.names("services,configmaps,networkpolicies") if "short-lived" in name] == []


def test_suspend_and_resume(running: Volcano) -> None:
    """By Commands: the pods go, and so do the plugins' objects; all are made again."""
    running.wait_phase("suspended", "Running")
    running.command("suspended", "AbortJob")
    found = running.wait_phase("suspended", "Aborted")
    running.wait_pods("suspended", {})
    assert running.group("suspended") is None
    assert [name for name in running.names("services,configmaps,networkpolicies") if "suspended" in name] == []
    assert found["status"].get("retryCount", 0) == 0
    assert running.names("commands.bus.volcano.sh") == set()
    running.command("suspended", "ResumeJob")
    found = running.wait_phase("suspended", "Running")
    running.wait_pods("suspended", {"a-0": "Running", "a-1": "Running"})
    assert found["status"]["retryCount"] == 1
    assert phases(found) == ["Aborting", "Aborted", "Restarting", "Pending", "Running"]
    assert running.get("configmap", "suspended-svc")["data"]["VC_A_NUM"] == "2"
    said = [
        line
        for action in ("AbortJob", "ResumeJob")
        for line in (
            f"Normal CommandIssued Start to execute command {action}, and clean it up to make sure executed not more "
            "than once.",
            f"Normal ExecuteAction Start to execute action {action} ",
        )
    ]
    assert sorted(running.events("suspended")) == sorted(said)


@pytest.mark.parametrize(
    ("name", "action", "way", "retries"),
    [
        ("stopped", "TerminateJob", ["Terminating", "Terminated"], 0),
        ("finished", "CompleteJob", ["Completing", "Completed"], 0),
        ("restarted", "RestartJob", ["Restarting", "Pending", "Running"], 1),
    ],
)
def test_commands(running: Volcano, name: str, action: str, way: list[str], retries: int) -> None:
    running.wait_phase(name, "Running")
    running.command(name, action)
    if retries:
        running.pod_record.wait("a second pod", lambda: running.incarnations(f"{name}-a-0") == 2)
    found = running.wait_phase(name, way[-1])
    assert phases(found)[-len(way) :] == way
    assert found["status"].get("retryCount", 0) == retries
    running.wait_pods(name, {"a-0": "Running"} if retries else {})


def test_an_unknown_command_does_nothing(running: Volcano) -> None:
    running.wait_phase("unmoved", "Running")
    running.command("unmoved", "Nonsense")
    running.wait_event("unmoved", "Job", "Normal ExecuteAction Start to execute action Nonsense ")
    assert running.names("commands.bus.volcano.sh") == set()
    assert running.phase("unmoved") == "Running"
    assert running.incarnations("unmoved-a-0") == 1


def test_what_of_a_jobs_annotations_pods_get(running: Volcano) -> None:
    running.wait_phase("unmoved", "Running")
    notes = running.pods("unmoved")["a-0"]["metadata"]["annotations"]
    assert notes["volcano.sh/preemptable"] == "true"
    assert "other" not in notes


def test_partitions(running: Volcano) -> None:
    running.wait_pods("parts", {f"a-{index}": "Running" for index in range(4)})
    pods = running.pods("parts")
    labels = {name: pod["metadata"]["labels"]["volcano.sh/partition-id"] for name, pod in pods.items()}
    assert labels == {"a-0": "0", "a-1": "0", "a-2": "1", "a-3": "1"}
    group = running.wait_group("parts", "to be", bool)
    assert (group["spec"]["minMember"], group["spec"]["minTaskMember"]) == (2, {"a": 2})
    assert group["spec"]["subGroupPolicy"] == [
        {
            "name": "a",
            "labelSelector": {"matchLabels": {"volcano.sh/task-spec": "a"}},
            "matchLabelKeys": ["volcano.sh/partition-id"],
            "minSubGroups": 1,
            "subGroupSize": 2,
        }
    ]


def test_pods_that_the_api_refuses(running: Volcano) -> None:
    text = "Warning FailedCreate Error creating pods: [failed to create pod forbidden-a-0, err: "

    def said() -> list[str]:
        return [event for event in running.events("forbidden") if event.startswith(text)]

    (event, *_) = wait_for("the refusal", said, LIMIT_S, every_s=0.2)
    assert "no PriorityClass with name no-such-class was found" in event
    assert running.phase("forbidden") == "Pending"


def test_applying_a_file_twice(running: Volcano) -> None:
    """The merge patch drops what admission put into the tasks; a file that says all of it may be applied again."""
    cases: dict[str, dict[str, Any]] = {"bare": {}, "full": {"maxRetry": 3, "minAvailable": 1}}
    for name, more in cases.items():
        text = json.dumps(job(name, task("a", "true", pod={"nodeSelector": {"no-such": "node"}}, **more)))
        assert running.kubectl("apply", "-f", "-", stdin=text).stdout == f"job.batch.volcano.sh/{name} created\n"
        again = running.kubectl("apply", "-f", "-", stdin=text, check=False)
        if more:
            assert (again.returncode, again.stdout) == (0, "job.batch.volcano.sh/full unchanged\n")
            continue
        assert again.returncode == 1
        assert again.stderr.rstrip().endswith(
            'for: "STDIN": error when patching "STDIN": admission webhook "validatejob.volcano.sh" denied the request: '
            "job updates may not change fields other than `minAvailable`, `tasks[*].replicas under spec` and "
            "`PriorityClassName`"
        )


def test_columns(running: Volcano) -> None:
    running.wait_phase("nameless", "Running")
    group = running.job("nameless")["metadata"]["uid"]
    running.wait_group("nameless", "to count 2 running", lambda g: g.get("status", {}).get("running") == 2)
    for kind, name, wide, head, row in (
        ("vcjob", "nameless", (), "NAME STATUS MINAVAILABLE RUNNINGS AGE", ["nameless", "Running", "2", "2"]),
        (
            "vcjob",
            "nameless",
            ("-o", "wide"),
            "NAME STATUS MINAVAILABLE RUNNINGS AGE QUEUE",
            ["nameless", "Running", "2", "2"],
        ),
        (
            "podgroup",
            f"nameless-{group}",
            (),
            "NAME STATUS MINMEMBER RUNNINGS AGE",
            [f"nameless-{group}", "Running", "2", "2"],
        ),
        ("queue", "default", (), "NAME PARENT", ["default", "root"]),
    ):
        first, second = running.kubectl("get", kind, name, *wide).stdout.splitlines()
        assert first.split() == head.split()
        assert second.split()[: len(row)] == row


def waiting(running: Volcano, name: str) -> tuple[str, str]:
    """The message of the PodGroup's condition in its two parts: what of the gang, and why."""
    group = running.wait_group(name, "a reason", lambda g: "conditions" in g.get("status", {}))
    assert group["status"]["phase"] == "Inqueue"
    (condition,) = group["status"]["conditions"]
    said = condition["type"], condition["status"], condition["reason"]
    assert said == ("Unschedulable", "True", "NotEnoughResources")
    gang, _, why = condition["message"].partition(f" Origin reason is {name}-a-0: ")
    return gang, why


GANG = "1/1 tasks in gang unschedulable: pod group is not ready, 1 Pending, 1 minAvailable; Pending: 1 Unschedulable."


def test_a_pod_that_fits_nowhere_says_so(running: Volcano) -> None:
    gang, why = waiting(running, "nowhere")
    assert gang == GANG
    assert re.fullmatch(
        r"0/\d+ nodes are unavailable: .*\d+ node\(s\) didn't match Pod's node affinity/selector\.", why
    )

    def said() -> list[Object]:
        conditions = running.pods("nowhere").get("a-0", {"status": {}})["status"].get("conditions") or []
        return [condition for condition in conditions if condition["type"] == "PodScheduled"]

    (condition,) = running.pod_record.wait("the pod's condition", said)
    assert (condition["status"], condition["reason"], condition["message"]) == ("False", "Unschedulable", why)
    running.wait_event("nowhere-a-0", "Pod", f"Warning FailedScheduling {why}")
    reason = f"PodGroup {running.namespace}:nowhere unschedulable, reason: {gang} Origin reason is nowhere-a-0: {why}"
    running.wait_event("nowhere", "Job", f"Warning PodGroupPending {reason}")
    running.jobs.wait("the job to count it", lambda: running.job("nowhere")["status"].get("pending") == 1)
    assert running.phase("nowhere") == "Pending"


def test_a_pod_larger_than_any_node(running: Volcano) -> None:
    gang, why = waiting(running, "huge")
    assert gang == GANG
    assert re.fullmatch(r"0/\d+ nodes are unavailable: .*\d+ Insufficient cpu\.", why)
