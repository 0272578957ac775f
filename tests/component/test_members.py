"""Requests for members of arrays and their records, on the engine's registry."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hpcbatch.api.names import ARRAY_ID_LABEL
from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.client import arrays, changes, listing
from hpcbatch.client.changes import request_delete
from hpcbatch.client.holds import hold, release
from hpcbatch.client.requeue import requeue
from hpcbatch.client.watch import settle
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.errors import ConflictError, HpcBatchError, JobFinishedError, RefusedError, UnknownJobError
from hpcbatch.model.array import Array, ArrayStatus, Membership
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.indices import Indices
from hpcbatch.model.row import JobRow
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState
from hpcbatch.record.rows import row_of
from tests.component.api_server import Cluster, cluster
from tests.component.batchjobs import NS, put_job, record_of

ALL = Indices.parse("0-9")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Cluster]:
    with cluster(tmp_path) as running:
        yield running


@pytest.fixture
def registry(server: Cluster) -> Registry:
    return server.registry


def put_array(registry: Registry, state: JobState = JobState.RUNNING, **sets: str) -> JobRow:
    """Job 12, an array of 0-9; of the members in `active` and `succeeded` there are records."""
    found: dict[str, Any] = {name: Indices.parse(text) for name, text in sets.items()}
    status = ArrayStatus(**found)
    spec = JobSpec(dialect=Dialect.SLURM, name="arr", chunks=(Chunk(),), array=Array(indices=ALL))
    record = put_job(registry, 12, state, spec=spec, array=status)
    for index in (*status.active, *status.succeeded):
        own = JobSpec(
            dialect=Dialect.SLURM,
            name="arr",
            chunks=(Chunk(),),
            member_of=Membership(array_id=12, array_name=record.object_name, index=index),
        )
        put_member(registry, record.object_name, index, own, JobState.RUNNING if index in status.active else None)
    return find(registry)


def put_member(registry: Registry, array: str, index: int, spec: JobSpec, state: JobState | None) -> None:
    """Under the name that the controller gives it."""
    put_job(registry, 100 + index, state or JobState.FINISHED, spec=spec)
    made = registry.get(BATCHJOBS, f"pbs-{100 + index}", NS)
    registry.delete(BATCHJOBS, made["metadata"]["name"], NS)
    name = {"name": f"{array}-{index}", "namespace": NS, "labels": {"placed": "by-hand", ARRAY_ID_LABEL: "12"}}
    created = registry.create(BATCHJOBS, {**made, "metadata": name}, NS)
    registry.replace(BATCHJOBS, created | {"status": made["status"]}, NS, subresource="status")


def find(registry: Registry) -> JobRow:
    return row_of(record_of(registry, "pbs-12"))


def asked(registry: Registry) -> dict[str, str]:
    return dict(registry.get(BATCHJOBS, "pbs-12", NS)["spec"].get("arrayRequest") or {})


def test_records_of_members(server: Cluster) -> None:
    registry, api = server.registry, server.client()
    put_array(registry, pending="7-9", active="5-6", succeeded="0-4")
    array = listing.find(api, NS, 12)
    assert sorted(arrays.own_rows(api, array)) == [0, 1, 2, 3, 4, 5, 6]
    assert sorted(arrays.own_rows(api, array, ended=False)) == [5, 6]
    assert sorted(arrays.own_rows(api, array, Indices.parse("4-8"))) == [4, 5, 6]
    assert arrays.own_rows(api, array, Indices.parse("7-9")) == {}
    own = arrays.own_rows(api, array)
    records = arrays.get_records(api, array, own.values())
    assert [record.spec.member_of and record.spec.member_of.index for record in records] == list(own)
    hold(api, array, Indices.parse("7,9"))
    assert listing.find(api, NS, 12).array_held == "7,9"


def test_a_member_that_is_split_off_has_its_number(server: Cluster) -> None:
    """The controller makes its record first, then takes the index from those that wait, then gives the number."""
    registry, api = server.registry, server.client()
    array = put_array(registry, pending="7-9", active="5-6", succeeded="0-4")
    name = f"{array.object_name}-6"
    admitted = registry.get(BATCHJOBS, name, NS)
    unnumbered = registry.replace(BATCHJOBS, admitted | {"status": {}}, NS, subresource="status")

    def admit() -> None:
        obj = {**unnumbered, "status": admitted["status"]}
        registry.replace(BATCHJOBS, obj, NS, subresource="status")

    late = threading.Timer(0.5, admit)
    late.start()
    try:
        assert sorted(arrays.split(api, array, Indices.parse("5-6"))) == [5, 6]
    finally:
        late.join()


def test_a_member_is_requeued_while_its_deleted_array_ends(server: Cluster) -> None:
    """Its members are over before the controller has written that the array is."""
    registry, api = server.registry, server.client()
    array = put_array(registry, succeeded="0-9")
    registry.patch(BATCHJOBS, "pbs-12", {"spec": {"deleteRequested": True}}, NS)
    member = f"{array.object_name}-3"

    def end_the_array() -> None:
        """And answer the request that comes then."""
        registry.patch(BATCHJOBS, "pbs-12", {"status": {"state": JobState.DELETED.value}}, NS, subresource="status")
        for event in registry.watch(BATCHJOBS, NS, fields=f"metadata.name={member}"):
            if request := event.object["spec"].get("rerunRequest"):
                reply = {"handled": {"rerunRequest": request["id"]}, "answered": {"id": request["id"]}}
                registry.patch(BATCHJOBS, member, {"status": reply}, NS, subresource="status")
                return

    late = threading.Timer(0.5, end_the_array)
    late.daemon = True  # it waits for what a failure leaves out
    late.start()
    try:
        requeue(api, array, Indices.parse("3"), hold=False, is_special=False, running_only=False)
    finally:
        late.join(10)
    assert not registry.get(BATCHJOBS, "pbs-12", NS)["spec"]["deleteRequested"]


def test_no_member_is_requeued_while_others_of_a_deleted_array_run(server: Cluster) -> None:
    registry, api = server.registry, server.client()
    array = put_array(registry, active="5", succeeded="0-4")
    registry.patch(BATCHJOBS, "pbs-12", {"spec": {"deleteRequested": True}}, NS)
    with pytest.raises(RefusedError, match="about to end"):
        requeue(api, array, None, hold=False, is_special=False, running_only=False)
    assert "rerunRequest" not in registry.get(BATCHJOBS, f"{array.object_name}-0", NS)["spec"]


def test_a_listing_without_members(server: Cluster) -> None:
    put_array(server.registry, pending="7-9", active="5-6", succeeded="0-4")
    api = server.client()
    assert [row.job_id for row in listing.list_rows(api, NS, finished=False, members=False)] == [12]
    assert [row.job_id for row in listing.list_rows(api, NS, finished=False)] == [12, 105, 106]
    assert [row.job_id for row in listing.list_rows(api, NS, members=False)] == [12]


def test_requests_add_up(registry: Registry) -> None:
    array = put_array(registry, pending="2-9", active="0-1")
    request_delete(registry, array, Indices.parse("3"))
    request_delete(registry, array, Indices.parse("4-5,0"))
    hold(registry, array, Indices.parse("7-9"))
    assert asked(registry) == {"deleted": "0,3-5", "held": "7-9"}
    release(registry, array, Indices.parse("8"))
    assert asked(registry)["held"] == "7,9"
    release(registry, array)
    assert asked(registry) == {"deleted": "0,3-5", "held": ""}


def test_member_of_a_held_array_is_released_alone(registry: Registry) -> None:
    array = put_array(registry, JobState.HELD, pending="0-9")
    registry.patch(BATCHJOBS, "pbs-12", {"spec": {"hold": True}}, NS)
    release(registry, array, Indices.parse("4"))
    assert asked(registry) == {"held": "0-3,5-9"}
    assert not registry.get(BATCHJOBS, "pbs-12", NS)["spec"]["hold"]


@pytest.mark.parametrize("request_", [request_delete, hold, release])
def test_members_that_have_ended(registry: Registry, request_: object) -> None:
    array = put_array(registry, pending="7-9", active="6", succeeded="0-4", deleted="5")
    assert callable(request_)
    with pytest.raises(JobFinishedError):
        request_(registry, array, Indices.parse("0-5"))
    request_(registry, array, Indices.parse("5-6"))
    with pytest.raises(UnknownJobError):
        arrays.check_known(array, Indices.parse("10-12"))


def test_ended_and_removed_arrays(registry: Registry) -> None:
    array = put_array(registry, JobState.FINISHED, pending="0-9")
    with pytest.raises(JobFinishedError):
        hold(registry, array, Indices.parse("1"))
    registry.delete(BATCHJOBS, "pbs-12", NS)
    with pytest.raises(UnknownJobError):
        hold(registry, array, Indices.parse("1"))


def test_many_at_once_lose_nothing(registry: Registry) -> None:
    array = put_array(registry, pending="0-9")
    threads = [
        threading.Thread(target=request_delete, args=(registry, array, Indices.of([index]))) for index in range(10)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert asked(registry) == {"deleted": "0-9"}


def test_endless_conflicts_are_told(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    array = put_array(registry, pending="0-9")

    def conflict(*_: object, **__: object) -> None:
        raise ConflictError(409, "Conflict", "changed")

    monkeypatch.setattr(registry, "patch", conflict)
    monkeypatch.setattr(changes, "_CHANGE_S", 0.05)
    with pytest.raises(HpcBatchError, match="being changed by others"):
        hold(registry, array, Indices.parse("1"))


def test_command_waits_until_members_are_gone(registry: Registry) -> None:
    array = put_array(registry, pending="1-9", active="0")
    answered = request_delete(registry, array, Indices.parse("0-2"))

    def controller() -> None:
        for name, change in (
            ("pbs-12", {"array": {"pending": "3-9"}}),
            ("pbs-12-0", {"state": JobState.EXITING.value}),
        ):
            obj = registry.get(BATCHJOBS, name, NS)
            status = obj["status"] | {key: value for key, value in change.items() if key == "state"}
            if "array" in change:
                status["array"] = {"active": "0", "pending": "3-9", "deleted": "1-2"}
            registry.replace(BATCHJOBS, obj | {"status": status}, NS, subresource="status")

    acting = threading.Timer(0.1, controller)
    acting.start()
    settle(registry, [], [(answered, Indices.parse("0-2"))], timeout_s=20)
    acting.join(10)
    member = registry.get(BATCHJOBS, "pbs-12-0", NS)
    assert member["status"]["state"] == "Exiting"
    # nobody acts: the command does not wait for ever
    settle(registry, [], [(answered, Indices.parse("3"))], timeout_s=0.1)
