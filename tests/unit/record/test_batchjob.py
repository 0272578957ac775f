"""The record of a job in its JSON form and back."""

from __future__ import annotations

from dataclasses import replace

import jsonschema
import pytest
from hypothesis import given

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from hpcbatch.record import batchjob, crd
from hpcbatch.record.manifest import spec_to_json, to_manifest
from tests.job_values import batchjob_of, specs, statuses

SCHEMA = crd.definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)


@given(specs())
def test_a_spec_comes_back_from_its_manifest_and_fits_the_schema(spec: JobSpec) -> None:
    manifest = to_manifest(spec, name="x", submission_secret="s")
    VALIDATOR.validate(manifest)
    assert batchjob.spec_from_json(manifest["spec"]) == spec


@given(specs(), statuses())
def test_a_record_comes_back_from_its_batchjob_and_fits_the_schema(spec: JobSpec, status: JobStatus) -> None:
    record = JobRecord(job_id=7, namespace="ns", object_name="x", spec=spec, status=status, queue="q")
    obj = batchjob_of(record)
    VALIDATOR.validate(obj)
    found = batchjob.record_from(obj)
    assert found.status.walltime_s == record.walltime_s  # the limit in force is always written
    assert replace(found, status=replace(found.status, walltime_s=status.walltime_s)) == record


@pytest.mark.parametrize("status", [{}, {"state": "Refused"}])
def test_a_job_without_number_is_no_record(status: dict[str, str]) -> None:
    with pytest.raises(HpcBatchError, match="has not been admitted"):
        batchjob.record_from({"metadata": {"namespace": "ns", "name": "x"}, "spec": {}, "status": status})


@pytest.mark.parametrize(
    ("spec", "run", "is_suspended"),
    [
        ({}, 1, False),
        ({"suspended": False}, 1, False),
        ({"suspended": True}, 3, True),
        ({"suspended": True, "suspendedRun": 1}, 1, True),
        ({"suspended": True, "suspendedRun": 1}, 2, False),
        ({"suspended": False, "suspendedRun": 1}, 1, False),
    ],
)
def test_a_suspension_is_one_of_its_run(spec: dict[str, object], run: int, is_suspended: bool) -> None:
    assert batchjob.is_suspended(spec, run) is is_suspended


@given(specs(), statuses())
def test_records_of_jobs_submitted_alike_share_what_is_equal(spec: JobSpec, status: JobStatus) -> None:
    first = JobRecord(job_id=7, namespace="ns", object_name="x", spec=spec, status=status, queue="q")
    other = replace(first, status=replace(status, message="other"))
    objs = [batchjob_of(one) for one in (first, replace(first, job_id=8, object_name="y"), other)]
    objs[1]["spec"]["submissionSecret"] = "of-its-own"
    found = [batchjob.shown_record(obj) for obj in objs]
    assert found == [batchjob.record_from(obj) for obj in objs]
    assert found[0].spec is found[1].spec
    assert found[0].status is found[1].status


def test_what_an_alteration_changed_is_shared_with_nobody_else() -> None:
    spec, status = {"dialect": "pbs", "name": "n", "chunks": [ONE]}, {"jobId": "7", "state": "Held", "owner": "alice"}
    metadata = {"namespace": "ns", "name": "x", "creationTimestamp": "2026-01-02T03:04:05Z"}
    altered = {**status, "altered": {"name": "other"}}
    found = [batchjob.shown_record({"metadata": metadata, "spec": spec, "status": one}) for one in (status, altered)]
    assert [one.spec.name for one in found] == ["n", "other"]
    later = {**metadata, "creationTimestamp": "2026-01-02T03:04:06Z"}
    assert batchjob.shown_record({"metadata": later, "spec": spec, "status": status}).status != found[0].status


ONE = {"count": 1, "cpus": 1, "ranks": 1}
NONSENSE: list[dict[str, object]] = [
    {},
    {"dialect": "nqs", "name": "x", "chunks": []},
    {"dialect": "pbs", "name": "x"},
    {"dialect": "pbs", "name": "x", "chunks": [{**ONE, "resources": {"ngpus": 0}}]},
    {"dialect": "pbs", "name": "x", "chunks": [{**ONE, "resources": {"ngpus": "2"}}]},
    {"dialect": "pbs", "name": "x", "chunks": [{**ONE, "resources": ["ngpus"]}]},
    {"dialect": "pbs", "name": "x", "chunks": [{**ONE, "properties": ["a", "a"]}]},
    {"dialect": "pbs", "name": "x", "chunks": [{**ONE, "count": 100_001}]},
    {"dialect": "pbs", "name": "x", "chunks": [ONE], "resourcesPerPod": {"gpu": -1}},
]


@pytest.mark.parametrize("spec", NONSENSE, ids=str)
def test_nonsense_is_an_error(spec: dict[str, object]) -> None:
    with pytest.raises(HpcBatchError):
        batchjob.spec_from_json(spec)


def test_the_manifest_of_a_submission() -> None:
    spec = JobSpec(dialect=Dialect.PBS, name="x")
    assert to_manifest(spec, name="n", submission_secret="s", export_none=True) == {
        "apiVersion": "hpcbatch.io/v1alpha1",
        "kind": "BatchJob",
        "metadata": {"name": "n", "labels": {"app.kubernetes.io/managed-by": "hpcbatch"}},
        "spec": {**spec_to_json(spec), "submissionSecret": "s", "exportNone": True},
    }
    assert "exportNone" not in to_manifest(spec, name="n", submission_secret="s")["spec"]


def test_the_status_names_the_volcano_job() -> None:
    spec = JobSpec(dialect=Dialect.PBS, name="x")
    record = JobRecord(job_id=7, namespace="ns", object_name="x", spec=spec, status=JobStatus(), queue="q")
    assert batchjob.full_status_to_json(record, volcano_job="v")["volcanoJob"] == "v"
    assert "volcanoJob" not in batchjob.full_status_to_json(record)


def test_what_cannot_be_read_is_one_line() -> None:
    with pytest.raises(HpcBatchError, match="not a BatchJob's spec: "):
        batchjob.spec_from_json({"name": "x"})
    with pytest.raises(HpcBatchError, match="not a BatchJob's status: "):
        batchjob.status_from_json({"state": "Lost"}, None)


def broken(spec: dict[str, object], state: str) -> JobRecord:
    metadata = {"namespace": "ns", "name": "x"}
    status = {"jobId": 7, "state": state, "owner": "alice", "queue": "q"}
    return batchjob.shown_record({"metadata": metadata, "spec": spec, "status": status})


@pytest.mark.parametrize(("state", "shown"), [("Running", JobState.RUNNING), ("Lost", JobState.HELD)])
def test_a_record_that_cannot_be_read_is_shown_as_broken(state: str, shown: JobState) -> None:
    record = broken({"name": "n"}, state)
    assert (record.job_id, record.namespace, record.object_name, record.queue) == (7, "ns", "x", "q")
    assert (record.spec.name, record.status.owner, record.status.state) == ("n", "alice", shown)
    assert record.status.reason is Reason.BROKEN
    assert record.status.message.startswith("its record cannot be read: not a BatchJob's spec: ")


def test_an_array_of_too_many_members_is_broken() -> None:
    array = {"indices": "0-99999999"}
    status = broken({"dialect": "pbs", "name": "n", "chunks": [ONE], "array": array}, "Held").status
    assert status.reason is Reason.BROKEN
    assert status.message == "its record cannot be read: an array of 100000000 members"


def test_a_broken_job_without_number_is_not_shown() -> None:
    with pytest.raises(HpcBatchError, match="has not been admitted"):
        batchjob.shown_record({"metadata": {"namespace": "ns", "name": "x"}, "spec": {}, "status": {"state": "Held"}})
