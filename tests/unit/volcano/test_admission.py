# ruff: noqa: E501 - the recorded texts stay in one line each
"""Every case of the record of a real Volcano 1.14.1 that its webhooks (not the CRD's schema) answered."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcbatch.errors import ApiError
from hpcbatch.volcano.admission import (
    mutate_job,
    mutate_pod_group,
    mutate_queue,
    validate_job,
    validate_job_update,
    validate_queue,
    validate_queue_delete,
)
from tests.thoroughness import examples

W = 'admission webhook "validatejob.volcano.sh" denied the request: '
M = 'admission webhook "mutatejob.volcano.sh" denied the request: '
WQ = 'admission webhook "validatequeue.volcano.sh" denied the request: '

QUEUES: dict[str, Any] = {
    "default": {"status": {"state": "Open"}},
    "root": {},
    "rec-q1": {"status": {"state": "Closed"}},
    "rec-p": {},
}


def task(name: str = "t", **fields: Any) -> dict[str, Any]:
    spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}
    return {"name": name, "replicas": 1, "template": {"spec": spec}, **fields}


def job(*tasks: dict[str, Any], name: str = "adm", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "d"}, "spec": {"tasks": list(tasks) or [task()], **spec}}


def templated(**spec: Any) -> dict[str, Any]:
    return job(task(template={"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}], **spec}}))


def admit(given: dict[str, Any]) -> dict[str, Any]:
    done = mutate_job(given)
    children = {"rec-p": ["rec-c"]}
    validate_job(done, find_queue=QUEUES.get, child_queues=lambda name: children.get(name, []))
    return done


def test_defaults() -> None:
    done = admit(job(task(name=""), task("w", replicas=2)))
    spec = done["spec"]
    assert (spec["queue"], spec["schedulerName"], spec["maxRetry"], spec["minAvailable"]) == (
        "default",
        "volcano",
        3,
        3,
    )
    assert [(t["name"], t["minAvailable"], t["maxRetry"]) for t in spec["tasks"]] == [("default0", 1, 3), ("w", 2, 3)]
    assert spec["tasks"][0]["template"]["metadata"] == {}
    assert spec["tasks"][0]["template"]["spec"]["containers"][0]["resources"] == {}
    assert "plugins" not in spec


def test_what_is_complete_stays_as_it_is() -> None:
    given = job(task(minAvailable=1, maxRetry=2), maxRetry=1, minAvailable=1, queue="default", schedulerName="volcano")
    assert admit(given) == given


def test_given_object_is_not_changed() -> None:
    given = job(task(replicas=0), plugins={"mpi": ["--master=t", "--worker=t"]})
    before = deepcopy(given)
    mutate_job(given)
    assert given == before


@pytest.mark.parametrize("fields", [{"replicas": 0}, {"replicas": None}], ids=["0", "none"])
def test_no_replicas_vanish(fields: dict[str, Any]) -> None:
    spec = mutate_job(job(task(**fields)))["spec"]
    assert "replicas" not in spec["tasks"][0]
    assert spec["tasks"][0]["minAvailable"] == 0
    assert "minAvailable" not in spec


def test_mpi_brings_ssh_and_svc() -> None:
    done = admit(job(task("master"), task("worker"), plugins={"mpi": []}))
    assert done["spec"]["plugins"] == {"mpi": [], "ssh": [], "svc": []}


def test_host_network_brings_dns_policy() -> None:
    done = admit(templated(hostNetwork=True))
    assert done["spec"]["tasks"][0]["template"]["spec"]["dnsPolicy"] == "ClusterFirstWithHostNet"


def test_partitions() -> None:
    policy = {"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1}
    assert admit(job(task(replicas=4, partitionPolicy=policy)))["spec"]["minAvailable"] == 2


def policy_fault(text: str) -> str:
    return f"{W}1 error occurred:\n\t* {text}\n\n valid events are ["


def on(*policies: dict[str, Any]) -> dict[str, Any]:
    return job(policies=list(policies))


FAILED = {"event": "PodFailed", "action": "AbortJob"}


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"metadata": {"name": "x"}, "spec": {}}, f"{W}No task specified in job spec"),
        (
            job(task(replicas="2")),
            f"{M}json: cannot unmarshal string into Go struct field TaskSpec.spec.tasks.replicas of type int32",
        ),
        (
            job(task(replicas=1.5)),
            f"{M}json: cannot unmarshal number 1.5 into Go struct field TaskSpec.spec.tasks.replicas of type int32",
        ),
        (
            job(task(replicas=2), minAvailable=3),
            f"{W}job 'minAvailable' should not be greater than total replicas in tasks;",
        ),
        (
            job(task(replicas=2, minAvailable=3)),
            f"{W}'minAvailable' is greater than 'replicas' in task: t, job: adm; job 'minAvailable' should not be greater than total replicas in tasks;",
        ),
        (job(task(), task()), f"{W}duplicated task name t;"),
        (
            job(task(), name="a" * 62),
            f"{W}create pod with name {'a' * 62}-t-0 validate failed [name part must be no more than 63 characters];",
        ),
        (job(plugins={"foo": []}), f"{W}unable to find job plugin: foo;"),
        (
            job(plugins={"ssh": "x"}),
            f"{M}json: cannot unmarshal string into Go struct field JobSpec.spec.plugins of type []string",
        ),
        (job(plugins={"mpi": []}), f"{W}The specified mpi master task was not found"),
        (job(task("master"), plugins={"mpi": []}), f"{W}The specified mpi worker task was not found"),
        (on({"event": "PodFailed", "action": "AbortJob", "timeout": "abc"}), f'{M}time: invalid duration "abc"'),
        (
            on({"event": "PodFailed", "action": "AbortJob", "timeout": 5}),
            f"{M}json: cannot unmarshal number into Go struct field LifecyclePolicy.spec.policies.timeout of type string",
        ),
        (job(queue="nosuch"), f'{W}unable to find job queue: queue.scheduling.volcano.sh "nosuch" not found;'),
        (job(queue="rec-q1"), f"{W}can only submit job to queue with state `Open`, queue `rec-q1` status is `Closed`;"),
        (job(queue="root"), f"{W}can not submit job to root queue;"),
        (job(queue="rec-p"), f"{W}can only submit job to leaf queue, queue `rec-p` has 1 child queues;"),
        (
            job(ttlSecondsAfterFinished="5"),
            f"{M}json: cannot unmarshal string into Go struct field JobSpec.spec.ttlSecondsAfterFinished of type int32",
        ),
        (
            job(task(dependsOn={"name": ["t"]})),
            f"{W}job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG);",
        ),
        (
            job(task(dependsOn={"name": ["u"]}), task("u", dependsOn={"name": ["t"]})),
            f"{W}job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG);",
        ),
        (
            job(task(dependsOn={"name": ["x"]})),
            f"{W}job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG);",
        ),
        (
            job(task(dependsOn=["a"])),
            f"{M}json: cannot unmarshal array into Go struct field TaskSpec.spec.tasks.dependsOn of type v1alpha1.DependsOn",
        ),
        (job(volumes=[{"mountPath": "/a"}]), f"{W}either VolumeClaim or VolumeClaimName must be specified;"),
        (
            job(volumes=[{"mountPath": "/a", "volumeClaim": {"a": 1}, "volumeClaimName": "x"}]),
            f"{W}conflict: If you want to use an existing PVC, just specify VolumeClaimName.If you want to create a new PVC, you do not need to specify VolumeClaimName",
        ),
        (templated(containers=[]), f"{W}spec.task[0].template.spec.containers: Required value."),
        (
            templated(restartPolicy="Foo"),
            f'{W}spec.task[0].template.spec.restartPolicy: Unsupported value: "Foo": supported values: "Always", "OnFailure", "Never".',
        ),
        (templated(containers=[{"name": "c"}]), f"{W}spec.task[0].template.spec.containers[0].image: Required value."),
        (
            templated(
                containers=[
                    {"name": "c", "image": "x", "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}
                ]
            ),
            f'{W}spec.task[0].template.spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1.',
        ),
        (
            templated(containers=[{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1x"}}}]),
            f"{M}quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            job(networkTopology={"highestTierAllowed": 1, "highestTierName": "x"}),
            f"{W}must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously",
        ),
        (
            job(task(replicas=3, partitionPolicy={"totalPartitions": 2, "partitionSize": 2})),
            f"{W}'Replicas' are not equal to TotalPartitions*PartitionSize in task: t, job: adm",
        ),
        (
            job(task(replicas=2, minAvailable=3), plugins={"foo": []}, queue="nosuch"),
            f"{W}'minAvailable' is greater than 'replicas' in task: t, job: adm; job 'minAvailable' should not be greater than total replicas in tasks; unable to find job plugin: foo; unable to find job queue: queue.scheduling.volcano.sh \"nosuch\" not found;",
        ),
    ],
)
def test_refused(given_: dict[str, Any], message: str) -> None:  # the texts are as long as they are
    with pytest.raises(ApiError) as caught:
        admit(given_)
    assert (caught.value.code, caught.value.reason, str(caught.value)) == (400, "", message)


@pytest.mark.parametrize(
    ("policies", "fault"),
    [
        (
            [{"event": "PodRunning", "action": "AbortJob"}],
            'spec.policies: Invalid value: "PodRunning": invalid policy event',
        ),
        ([{"event": "PodFailed", "action": "Foo"}], 'spec.policies: Invalid value: "Foo": invalid policy action'),
        ([{"event": "PodFailed"}], 'spec.policies: Invalid value: "": invalid policy action'),
        ([{"exitCode": 0, "action": "AbortJob"}], "0 is not a valid error code"),
        (
            [{"exitCode": 3, "event": "PodFailed", "action": "AbortJob"}],
            "must not specify event and exitCode simultaneously",
        ),
        ([{"exitCode": 3, "action": "AbortJob"}] * 2, "duplicate exitCode 3"),
        ([{}], "either event and exitCode should be specified"),
        ([FAILED, FAILED], "duplicate event PodFailed  across different policy"),
        ([{"event": "*", "action": "AbortJob"}, FAILED], "if there's * here, no other policy should be here"),
    ],
)
def test_refused_policies(policies: list[dict[str, Any]], fault: str) -> None:
    with pytest.raises(ApiError) as caught:
        admit(on(*policies))
    assert str(caught.value).startswith(policy_fault(fault))
    assert str(caught.value).endswith("];")
    with pytest.raises(ApiError) as caught:
        admit(job(task(policies=policies)))
    assert fault.replace("spec.policies", "spec.tasks.policies") in str(caught.value)


@pytest.mark.parametrize(
    "given_",
    [
        on({"event": "PodFailed", "action": "ResumeJob"}),
        on({"event": "JobUpdated", "action": "RestartPartition"}),
        on({"event": "PodFailed", "events": ["PodFailed", "PodEvicted"], "action": "AbortJob"}),
        on({"exitCode": -1}, {"exitCode": 5, "action": "Foo"}),
        on({"event": "*", "action": "AbortJob"}, {"exitCode": 3, "action": "AbortJob"}),
        on({"event": "PodFailed", "action": "AbortJob", "timeout": "-5s"}),
        job(task(policies=[FAILED]), policies=[{"event": "*", "action": "AbortJob"}]),
        job(maxRetry=0),
        job(minSuccess=5),
        job(priorityClassName="nosuch"),
        job(plugins={"ssh": ["--no-such-flag"], "svc": []}),
        job(name="1a", plugins={"svc": []}),
        job(task(dependsOn={"name": ["u"], "iteration": "some"}), task("u")),
        job(task(template={"spec": {"containers": [{"name": "c", "image": "x"}]}})),
        job(ttlSecondsAfterFinished=0),
    ],
)
def test_accepted(given_: dict[str, Any]) -> None:
    admit(given_)


def test_volumes_are_refused_in_words() -> None:
    with pytest.raises(ApiError, match="the embedded engine has no PersistentVolumeClaims"):
        admit(job(volumes=[{"mountPath": "/a", "volumeClaimName": "x"}]))


def test_no_spec() -> None:
    with pytest.raises(ApiError) as caught:
        mutate_job({"metadata": {"name": "x"}})
    assert (caught.value.code, caught.value.reason) == (500, "InternalError")


FIXED = (
    f"{W}job updates may not change fields other than `minAvailable`, `tasks[*].replicas under spec` and "
    "`PriorityClassName`"
)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda spec: spec.update(maxRetry=9), FIXED),
        (lambda spec: spec.update(queue="other"), FIXED),
        (lambda spec: spec["tasks"][0].update(name="u"), FIXED),
        (lambda spec: spec["tasks"][0]["template"]["spec"]["containers"][0].update(image="y"), FIXED),
        (lambda spec: spec["tasks"].append(task("u")), f"{W}job updates may not add or remove tasks"),
        (lambda spec: spec["tasks"][0].update(replicas=1), f"{W}'minAvailable' must be <= 'replicas' in task: t"),
        (lambda spec: spec.update(minAvailable=9), f"{W}job 'minAvailable' must not be greater than total replicas"),
        (lambda spec: spec["tasks"][0].update(replicas=5), None),
        (lambda spec: spec.update(minAvailable=1, priorityClassName="x"), None),
        (lambda spec: spec["tasks"][0].update(minAvailable=0), None),
    ],
)
def test_updates(change: Any, message: str | None) -> None:
    old = mutate_job(job(task(replicas=2)))
    new = deepcopy(old)
    change(new["spec"])
    if message is None:
        validate_job_update(new, old)
        return
    with pytest.raises(ApiError) as caught:
        validate_job_update(new, old)
    assert str(caught.value) == message


def queue(name: str = "q", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": spec}


def admit_queue(given_: dict[str, Any]) -> dict[str, Any]:
    done = mutate_queue(given_)
    above = {"rec-gp": queue("rec-gp", capability={"cpu": "3"}), "busy": queue("busy")}
    validate_queue(done, find_queue=above.get, has_pods=lambda name: name == "busy")
    return done


def test_queue_defaults() -> None:
    assert admit_queue({"metadata": {"name": "q"}})["spec"] == {
        "weight": 1,
        "reclaimable": True,
        "dequeueStrategy": "traverse",
        "parent": "root",
    }
    assert "parent" not in admit_queue(queue("root"))["spec"]


def test_queue_hierarchy() -> None:
    given_ = queue()
    given_["metadata"]["annotations"] = {"volcano.sh/hierarchy": "a/b", "volcano.sh/hierarchy-weights": "1/2"}
    notes = admit_queue(given_)["metadata"]["annotations"]
    assert tuple(notes.values()) == ("root/a/b", "1/1/2")


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        (
            queue(deserved={"cpu": "2"}, capability={"cpu": "1"}),
            'requestBody.spec.deserved: Invalid value: "cpu 2000.00, memory 0.00": deserved should less equal than capability',
        ),
        (
            queue(guarantee={"resource": {"cpu": "1"}}),
            'requestBody.spec.guarantee: Invalid value: "cpu 1000.00, memory 0.00": guarantee should less equal than deserved',
        ),
        (
            queue(capability={"cpu": "-1"}),
            '[requestBody.spec.capability.cpu: Invalid value: "-1": must be greater than or equal to 0, requestBody.spec.deserved: Invalid value: "cpu 0.00, memory 0.00": deserved should less equal than capability]',
        ),
        (queue(parent="q"), "queue q cannot use itself as parent"),
        (
            queue(parent="nosuch"),
            'failed to get parent queue of queue q: queue.scheduling.volcano.sh "nosuch" not found',
        ),
        (
            queue(parent="rec-gp", capability={"cpu": "9"}),
            "queue q capability (cpu 9000.00, memory 0.00) exceeds parent queue rec-gp capability (cpu 3000.00, memory 0.00)",
        ),
        (queue(parent="busy"), "queue busy cannot be the parent queue of queue q because it has allocated Pods"),
    ],
)
def test_refused_queues(given_: dict[str, Any], message: str) -> None:
    with pytest.raises(ApiError) as caught:
        admit_queue(given_)
    assert str(caught.value) == WQ + message


def test_deleting_queues() -> None:
    validate_queue_delete("q", [])
    with pytest.raises(ApiError, match="`default` queue can not be deleted"):
        validate_queue_delete("default", [])
    with pytest.raises(ApiError, match="queue q can not be deleted because it has 1 child queues: c"):
        validate_queue_delete("q", ["c"])


def test_a_namespace_may_name_the_queue() -> None:
    notes = {"scheduling.volcano.sh/queue-name": "rec-nsq"}
    assert mutate_pod_group({"spec": {"queue": "default"}}, notes)["spec"]["queue"] == "rec-nsq"
    assert mutate_pod_group({"spec": {"queue": "other"}}, notes)["spec"]["queue"] == "other"


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_whatever_comes_is_read_or_refused(data: st.DataObject) -> None:
    """Mutation runs before the schema, so it meets every JSON there is; any part of a job may be anything."""
    given_ = job(
        task(
            policies=[dict(FAILED)], dependsOn={"name": ["t"]}, partitionPolicy={"minPartitions": 1, "partitionSize": 1}
        ),
        plugins={"ssh": []},
        policies=[dict(FAILED)],
    )
    place: Any = given_["spec"]
    while isinstance(place, dict | list) and place:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else list(range(len(place)))))
        if data.draw(st.booleans()):
            place[key] = data.draw(_json)
            break
        place = place[key]
    try:
        mutate_job(given_)
    except ApiError as error:
        assert error.code in {400, 500}
