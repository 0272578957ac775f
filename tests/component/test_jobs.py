"""The steps of submission and of requests, on the engine's registry, with a few lines in the controller's place."""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from hpcbatch.api.names import HASTY_ANNOTATION, SECRET_TYPE
from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import BATCHJOBS, NAMESPACES, NODES, PODS, QUEUES, SECRETS
from hpcbatch.api.transport import LostError
from hpcbatch.client import changes, listing
from hpcbatch.client.holds import hold, release
from hpcbatch.client.nodes import list_nodes
from hpcbatch.client.queues import list_queues
from hpcbatch.client.submit import submit
from hpcbatch.client.watch import settle
from hpcbatch.dialects.lsf import errors as lsf_errors
from hpcbatch.dialects.pbs import errors as pbs_errors
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Store
from hpcbatch.errors import (
    ApiError,
    ForbiddenError,
    HpcBatchError,
    JobFinishedError,
    NotFoundError,
    RefusedError,
    UnknownJobError,
    UnreachableError,
)
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.labels import HAS_CPUS_ANNOTATION
from hpcbatch.model.record import ExecHost, JobRecord, JobStatus
from hpcbatch.model.refusal import BUSY
from hpcbatch.model.row import JobRow
from hpcbatch.model.spec import JobSpec, Submission
from hpcbatch.model.state import JobState
from hpcbatch.record.batchjob import full_status_to_json, record_from
from hpcbatch.record.rows import row_of
from tests.component.batchjobs import NS, Answering, admitted, put_job, record_of


def submission(name: str = "ring", **changes: Any) -> Submission:
    spec = JobSpec(dialect=Dialect.PBS, name=name, chunks=(Chunk(count=2, cpus=2),), server="pbs1", submit_dir="/d")
    given: dict[str, Any] = {
        "spec": spec,
        "script": b"#!/bin/sh\n\xff\0",
        "environment": {"A": "x\ny", "B": "\udcff=1"},
    }
    return Submission(**(given | changes))


class Unreliable:
    """The API over a connection that breaks when `breaks` says so, before or after the request was done."""

    def __init__(self, api: Api, breaks: Callable[[str, Object], str | None]) -> None:
        self._api, self._breaks = api, breaks

    def create(self, resource: Any, obj: Any, namespace: str | None = None) -> Object:
        when = self._breaks(resource.kind, obj)
        if when == "before":
            raise LostError("broke")
        created = self._api.create(resource, obj, namespace)
        if when == "after":
            raise LostError("broke")
        return created

    def __getattr__(self, name: str) -> Any:
        return getattr(self._api, name)


def nothing_is_left(registry: Registry) -> bool:
    return not registry.list(BATCHJOBS).items and not registry.list(SECRETS, fields=f"type={SECRET_TYPE}").items


def test_submission_becomes_record_and_secret(registry: Registry) -> None:
    with Answering(registry):
        first = submit(registry, NS, submission())
        second = submit(registry, NS, submission(export_none=True))
    assert (first.job_id, first.server, second.job_id) == (1, "pbs1", 2)
    record = registry.get(BATCHJOBS, first.object_name, NS)
    assert record_from(record).spec == submission().spec
    secret = registry.get(SECRETS, record["spec"]["submissionSecret"], NS)
    assert (secret["type"], secret["immutable"]) == ("hpcbatch.io/submission", True)
    assert base64.b64decode(secret["data"]["script"]) == b"#!/bin/sh\n\xff\0"
    assert base64.b64decode(secret["data"]["environment"]) == b"A=x\ny\0B=\xff=1"
    assert registry.get(BATCHJOBS, second.object_name, NS)["spec"]["exportNone"] is True
    assert listing.environment_of(registry, record) == {"A": "x\ny", "B": "\udcff=1"}


def test_refused_jobs_leave_nothing(registry: Registry) -> None:
    def refuse(obj: Object) -> Object:
        return obj | {"status": {"state": "Refused", "refusal": {"code": "UnknownQueue", "message": "nosuch"}}}

    with Answering(registry, refuse), pytest.raises(RefusedError) as caught:
        submit(registry, NS, submission())
    assert (caught.value.code, str(caught.value)) == ("UnknownQueue", "nosuch")
    assert nothing_is_left(registry)


def test_without_a_controller_nothing_is_left(registry: Registry) -> None:
    with pytest.raises(UnreachableError, match="controller did not answer"):
        submit(registry, NS, submission(), timeout_s=0.1)
    assert nothing_is_left(registry)


def test_an_interrupt_takes_the_job_back(registry: Registry) -> None:
    class Interrupted(Unreliable):
        def watch(self, *args: Any, **kwargs: Any) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        submit(Interrupted(registry, lambda *_: None), NS, submission())
    assert nothing_is_left(registry)


def test_an_answer_in_the_last_moment_counts(registry: Registry) -> None:
    class Late(Unreliable):
        def watch(self, resource: Any, namespace: Any, **kwargs: Any) -> Any:
            for obj in registry.list(BATCHJOBS).items:
                registry.replace(BATCHJOBS, admitted(obj, 7), NS, subresource="status")
            raise ForbiddenError(403, "Forbidden", "no watching")

    api = Late(registry, lambda *_: None)
    assert submit(api, NS, submission()).job_id == 7  # type: ignore[arg-type]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("kind", ["Secret", "BatchJob"])
def test_a_broken_connection_never_makes_two_jobs(registry: Registry, kind: str, when: str) -> None:
    broken: list[str] = []

    def breaks(what: str, _: Object) -> str | None:
        if what == kind and not broken:
            broken.append(what)
            return when
        return None

    with Answering(registry):
        api = Unreliable(registry, breaks)
        assert submit(api, NS, submission()).job_id == 1
    assert broken == [kind]
    assert len(registry.list(BATCHJOBS).items) == 1
    assert len(registry.list(SECRETS, fields=f"type={SECRET_TYPE}").items) == 1


def test_a_busy_server_says_so_and_leaves_nothing(registry: Registry) -> None:
    seen: list[Object] = []

    def refuse(obj: Object) -> Object:
        seen.append(obj)
        return obj | {"status": {"state": "Refused", "refusal": {"code": BUSY, "message": "40 wait"}}}

    said = "the server is busy (40 wait): the job was not submitted, try again"
    with Answering(registry, refuse), pytest.raises(UnreachableError, match=re.escape(said)) as caught:
        submit(registry, NS, submission(), is_hasty=True)
    assert [HASTY_ANNOTATION in obj["metadata"]["annotations"] for obj in seen] == [True]
    assert nothing_is_left(registry)
    lines, code = pbs_errors.describe(caught.value, "qsub")
    assert (lines.splitlines()[1], code) == (f"qsub: {said}", 255)
    assert lsf_errors.describe(caught.value, "bsub")[0] == f"LSF daemon not responding ... {said}. Job not submitted."


def test_a_record_that_is_refused_by_the_schema_leaves_no_secret(registry: Registry) -> None:
    bad = submission(spec=JobSpec(dialect=Dialect.PBS, name="x" * 2000))
    with pytest.raises(ApiError):
        submit(registry, NS, bad)
    assert nothing_is_left(registry)


def test_a_missing_namespace_is_named(registry: Registry) -> None:
    with pytest.raises(NotFoundError, match='namespaces "nobody" not found'):
        submit(registry, "nobody", submission())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"script": b"x" * (1 << 20)}, "the script (1048576 bytes) and the environment"),
        ({"environment": {"A": "x" * (1 << 20)}}, "(1048578 bytes) are more than the 1024 KiB"),
        ({"spec": JobSpec(dialect=Dialect.PBS, name="a\udcff")}, "is not UTF-8 text"),
    ],
    ids=["script", "environment", "name"],
)
def test_what_kubernetes_cannot_hold_is_told_before(registry: Registry, changes: Any, message: str) -> None:
    with pytest.raises(HpcBatchError) as caught:
        submit(registry, NS, submission(**changes))
    assert message in str(caught.value)
    assert nothing_is_left(registry)


@pytest.mark.parametrize(
    ("request_", "field", "value"),
    [(changes.request_delete, "deleteRequested", True), (hold, "hold", True), (release, "hold", False)],
    ids=["delete", "hold", "release"],
)
def test_requests_stand_in_the_record(registry: Registry, request_: Any, field: str, value: bool) -> None:
    row = row_of(put_job(registry, 1, JobState.QUEUED))
    changed = request_(registry, row)
    assert changed["spec"][field] is value
    assert registry.get(BATCHJOBS, "pbs-1", NS)["spec"][field] is value


@pytest.mark.parametrize("request_", [changes.request_delete, hold, release], ids=["delete", "hold", "release"])
@pytest.mark.parametrize("state", [state for state in JobState if state.is_final and state is not JobState.REFUSED])
def test_requests_come_too_late_for_ended_jobs(registry: Registry, request_: Any, state: JobState) -> None:
    row = row_of(put_job(registry, 1, state))
    with pytest.raises(JobFinishedError):
        request_(registry, row)


def test_jobs_that_went_away_are_unknown(registry: Registry) -> None:
    row = row_of(put_job(registry, 1, JobState.QUEUED))
    registry.delete(BATCHJOBS, row.object_name, NS)
    for request in (changes.request_delete, hold, changes.forget, listing.get_record):
        with pytest.raises(UnknownJobError):
            request(registry, row)


def test_a_job_that_has_not_ended_is_ended_and_then_forgotten(registry: Registry) -> None:
    row = row_of(put_job(registry, 1, JobState.RUNNING))
    watch = registry.watch(BATCHJOBS)
    with Answering(registry):
        changes.end(registry, row)
    changes.forget(registry, row)
    events = iter(watch)
    last = next(event for event in events if event.type == "DELETED")
    watch.close()
    assert last.object["status"]["state"] == "Deleted"


def test_a_job_that_does_not_end_keeps_its_record(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "END_S", 0.0)
    row = row_of(put_job(registry, 1, JobState.RUNNING))
    with pytest.raises(HpcBatchError, match="has not ended after"):
        changes.end(registry, row)
    assert registry.get(BATCHJOBS, "pbs-1", NS)["spec"]["deleteRequested"] is True


def held(registry: Registry, row: JobRow) -> Object:
    """The BatchJob with its new hold."""
    obj = hold(registry, row)
    assert obj is not None
    return obj


def test_settle_waits_until_the_controller_has_acted(registry: Registry) -> None:
    rows = [row_of(put_job(registry, number, JobState.QUEUED)) for number in (1, 2, 3)]
    changed = [
        changes.request_delete(registry, rows[0]),
        held(registry, rows[1]),
        held(registry, rows[2]),
    ]
    released = threading.Event()

    def act() -> None:
        released.wait(10)
        for name, state in (("pbs-1", JobState.DELETED), ("pbs-2", JobState.HELD)):
            obj = registry.get(BATCHJOBS, name, NS)
            registry.replace(BATCHJOBS, admitted(obj, 1, state), NS, subresource="status")
        registry.delete(BATCHJOBS, "pbs-3", NS)

    actor = threading.Thread(target=act)
    actor.start()
    released.set()
    settle(registry, changed, timeout_s=30)
    actor.join(10)
    assert record_of(registry, "pbs-1").status.state is JobState.DELETED
    assert record_of(registry, "pbs-2").status.state is JobState.HELD


def test_settle_gives_up_quietly(registry: Registry) -> None:
    row = row_of(put_job(registry, 1, JobState.QUEUED))
    settle(registry, [held(registry, row)], timeout_s=0.05)


def test_settle_does_not_wait_for_what_a_running_job_cannot_do(registry: Registry) -> None:
    row = row_of(put_job(registry, 1, JobState.RUNNING))
    settle(registry, [held(registry, row)], timeout_s=600)


def test_records_of_jobs_without_a_number_are_not_listed(registry: Registry) -> None:
    put_job(registry, 12, JobState.FINISHED)
    put_job(registry, 3, JobState.QUEUED)
    registry.create(
        BATCHJOBS,
        {
            "apiVersion": "hpcbatch.io/v1alpha1",
            "kind": "BatchJob",
            "metadata": {"name": "new"},
            "spec": {"dialect": "pbs", "name": "n", "chunks": [{"count": 1, "cpus": 1, "ranks": 1}]},
        },
        NS,
    )
    assert [o["status"]["jobId"] for o in listing.list_objects(registry, NS)] == ["3", "12"]
    assert [o["status"]["jobId"] for o in listing.list_objects(registry, NS, finished=False)] == ["3"]


def test_where_others_are_hidden_one_sees_ones_own(registry: Registry) -> None:
    registry.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bob"}})
    put_job(registry, 1, JobState.QUEUED)

    class Restricted(Unreliable):
        def list(self, resource: Any, namespace: str | None = None, **kwargs: Any) -> Any:
            if namespace is None:
                raise ForbiddenError(403, "Forbidden", "not all namespaces")
            return registry.list(resource, namespace, **kwargs)

    api: Any = Restricted(registry, lambda *_: None)
    assert [o["status"]["jobId"] for o in listing.list_objects(api, NS)] == ["1"]
    assert listing.list_objects(api, "bob") == []


def test_what_was_forbidden_once_is_not_asked_again(registry: Registry) -> None:
    asked: list[tuple[str, str | None]] = []

    class Counting(Unreliable):
        def list(self, resource: Any, namespace: str | None = None, **kwargs: Any) -> Any:
            asked.append((resource.plural, namespace))
            if namespace is None:
                raise ForbiddenError(403, "Forbidden", "not all namespaces")
            return registry.list(resource, namespace, **kwargs)

        def get(self, resource: Any, name: str, namespace: str | None = None) -> Any:
            asked.append((resource.plural, namespace))
            raise ForbiddenError(403, "Forbidden", "no Secrets")

    put_job(registry, 1, JobState.QUEUED)
    api: Any = Counting(registry, lambda *_: None)
    for _ in range(3):
        (obj,) = listing.list_objects(api, NS)
        assert listing.environment_of(api, obj) is None
    assert asked == [("batchjobs", None), ("batchjobs", NS), ("secrets", NS), ("batchjobs", NS), ("batchjobs", NS)]


def test_a_job_that_was_admitted_before_it_could_be_taken_back_is_asked_to_end(registry: Registry) -> None:
    class Guarded(Unreliable):
        """Admits while the user presses Ctrl-C; then the record is no longer the user's to delete."""

        def watch(self, *args: Any, **kwargs: Any) -> Any:
            for obj in registry.list(BATCHJOBS).items:
                registry.replace(BATCHJOBS, admitted(obj, 7), NS, subresource="status")
            raise KeyboardInterrupt

        def delete(self, resource: Any, name: str, namespace: str | None = None) -> None:
            raise ForbiddenError(403, "Forbidden", "the job has not ended, so its record stays")

    with pytest.raises(KeyboardInterrupt):
        submit(Guarded(registry, lambda *_: None), NS, submission())  # type: ignore[arg-type]
    (left,) = registry.list(BATCHJOBS).items
    assert left["spec"]["deleteRequested"] is True


def test_a_cluster_without_hpcbatch_is_told() -> None:
    store = Store(":memory:")
    registry: Any = Registry(store)
    with pytest.raises(UnreachableError, match="does not run hpcbatch"):
        listing.list_objects(registry, NS)
    store.close()


def node(name: str, *, ready: str = "True", unschedulable: bool = False) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "spec": {"unschedulable": True} if unschedulable else {},
        "status": {
            "allocatable": {"cpu": "3900m", "memory": "8Gi"},
            "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": "2026-11-21T10:00:00Z"}],
            "nodeInfo": {"architecture": "arm64"},
        },
    }


def pod(name: str, node_name: str, cpu: str, phase: str = "Running", job: str = "") -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"hpcbatch.io/job-id": job} if job else {}},
        "spec": {
            "nodeName": node_name,
            "containers": [
                {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}},
                {"name": "d", "image": "i"},
            ],
        },
        "status": {"phase": phase},
    }


class Listed:
    """An API that holds these objects; nodes and pods of a cluster in any state are hard to bring about."""

    def __init__(self, **objects: list[Object] | ApiError) -> None:
        self._objects = objects

    def list(self, resource: Any, namespace: Any = None, *, labels: str = "", fields: str = "") -> Any:
        from hpcbatch.api.port import ObjectList

        found = self._objects[resource.plural]
        if isinstance(found, ApiError):
            raise found
        if resource is PODS:
            assert fields == "status.phase!=Succeeded,status.phase!=Failed"
            found = [p for p in found if p["status"]["phase"] not in {"Succeeded", "Failed"}]
        return ObjectList(tuple(found), "1")

    def get(self, resource: Any, name: str, namespace: Any = None) -> Any:
        raise NotFoundError(404, "NotFound", f"{resource.plural} {name!r} not found")

    def table(self, resource: Any, namespace: Any = None, *, labels: str = "", fields: str = "") -> Any:
        record = JobRecord(
            job_id=7,
            namespace=NS,
            object_name="j",
            spec=submission().spec,
            status=JobStatus(
                state=JobState.RUNNING,
                hosts=(ExecHost(node="node-2", pod="a", cpus=2), ExecHost(node="node-2", pod="b", cpus=1)),
            ),
            queue="default",
        )
        status = full_status_to_json(record) | {"workDir": "/d"}
        cells = {
            "Id": "7",
            "Job": "j",
            "State": "Running",
            "Dialect": "pbs",
            "Hosts": status["summary"]["hosts"],
        }
        columns = [
            "Id",
            "Job",
            "User",
            "Queue",
            "State",
            "Reason",
            "Nodes",
            "Cpus",
            "Mem",
            "Walltime",
            "CpuUsed",
            "Hosts",
            "Submitted",
            "Eligible",
            "Started",
            "Ended",
            "Begin",
            "ExitCode",
            "ExitSignal",
            "Priority",
            "Account",
            "WorkDir",
            "Command",
            "Session",
            "Message",
            "Dialect",
            "Server",
            "TresPerNode",
            "TresPerJob",
            "TresPerTask",
            "Features",
            "Qos",
        ]
        from hpcbatch.api.client import TableRow

        return columns, [TableRow([cells.get(name) for name in columns], NS, "j")]


def test_nodes_with_what_is_in_use() -> None:
    api: Any = Listed(
        nodes=[node("node-10"), node("node-2", unschedulable=True), node("node-1", ready="Unknown")],
        pods=[
            pod("a", "node-2", "2", job="12"),
            pod("b", "node-2", "500m", job="7"),
            pod("c", "node-2", "1", phase="Succeeded", job="8"),
            pod("waiting", "", "2", phase="Pending", job="9"),
            pod("daemon", "node-10", "300m"),
        ],
    )
    rows = list_nodes(api, NS)
    assert [(row.name, row.ready, row.schedulable, row.cpus, row.cpus_used, row.jobs) for row in rows] == [
        ("node-1", False, True, 3, 0, ()),
        ("node-2", True, False, 3, 2, ("7", "12")),
        ("node-10", True, True, 3, 0, ()),
    ]
    assert (rows[1].mem_bytes, rows[1].mem_used_bytes, rows[1].arch) == (8 << 30, 2 << 30, "arm64")
    assert rows[0].since == datetime(2026, 11, 21, 10, tzinfo=UTC)


def test_a_job_with_whole_nodes_has_more_cpus_than_its_pods_request() -> None:
    whole = pod("a", "node-2", "1", job="12")
    whole["metadata"]["annotations"] = {HAS_CPUS_ANNOTATION: "3"}
    odd = pod("b", "node-1", "2", job="13")
    odd["metadata"]["annotations"] = {HAS_CPUS_ANNOTATION: "9" * 5000}
    api: Any = Listed(nodes=[node("node-1"), node("node-2")], pods=[whole, odd])
    assert [row.cpus_used for row in list_nodes(api, NS)] == [2, 3]


def test_nodes_for_one_who_may_not_see_pods() -> None:
    api: Any = Listed(nodes=[node("node-2")], pods=ForbiddenError(403, "Forbidden", "pods"))
    (row,) = list_nodes(api, NS)
    assert (row.cpus_used, row.jobs) == (3, ("7",))


def test_queues(registry: Registry) -> None:
    def queue(name: str, **more: Any) -> Object:
        return {"metadata": {"name": name, "annotations": more.pop("annotations", {})}, **more}

    plain: Any = Listed(queues=[queue("root"), queue("fast"), queue("default", status={"state": "Closed"})])
    assert [(q.name, q.is_default, q.is_open) for q in list_queues(plain)] == [
        ("default", True, False),
        ("fast", False, True),
    ]
    assert [q.name for q in list_queues(registry)] == ["default"]
    assert registry.list(QUEUES).items
    assert not registry.list(NODES).items
