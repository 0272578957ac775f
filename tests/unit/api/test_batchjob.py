from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.api import batchjob, jobrow, jobspec
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import ExecHost, JobRecord, JobStatus
from hpcbatch.model.spec import Arrangement, Chunk, JobSpec, Output, Sharing
from hpcbatch.model.state import JobState, Reason

CRD = yaml.safe_load((Path(__file__).parents[3] / "deploy/crd/batchjobs.yaml").read_text())
VERSION = CRD["spec"]["versions"][0]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]

TEXT = st.text(min_size=1, max_size=20)
TIMES = st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2100, 1, 1)).map(
    lambda t: t.replace(microsecond=0, tzinfo=UTC)
)
CHUNKS = st.builds(
    Chunk, count=st.integers(1, 9), cpus=st.integers(0, 9), ranks=st.integers(0, 9),
    mem_bytes=st.none() | st.integers(0, 2**50), threads=st.none() | st.integers(1, 9),
)  # fmt: skip
OUTPUTS = st.builds(Output, path=st.none() | TEXT, append=st.booleans())
SPECS = st.builds(
    JobSpec,
    dialect=st.sampled_from(Dialect), name=TEXT, queue=st.none() | TEXT,
    chunks=st.lists(CHUNKS, min_size=1, max_size=3).map(tuple),
    mem_per_pod_bytes=st.none() | st.integers(0, 2**50),
    arrangement=st.sampled_from(Arrangement), sharing=st.sampled_from(Sharing),
    walltime_s=st.none() | st.integers(1, 10**9), interpreter=st.none() | TEXT,
    command=st.lists(st.text(), max_size=3).map(tuple), script_args=st.lists(st.text(), max_size=3).map(tuple),
    script_path=st.none() | TEXT, work_dir=st.none() | TEXT, submit_dir=TEXT, submit_host=TEXT,
    stdout=OUTPUTS, stderr=st.none() | OUTPUTS, stdout_to_stderr=st.booleans(), hold=st.booleans(),
    begin_time=st.none() | TIMES, priority=st.integers(-1024, 1023), rerunnable=st.booleans(),
    account=st.none() | TEXT, mail_points=st.text(), mail_users=st.lists(TEXT, max_size=2).map(tuple),
    umask=st.none() | st.integers(0, 0o777), server=TEXT, attributes=st.dictionaries(TEXT, st.text(), max_size=3),
)  # fmt: skip
HOSTS = st.builds(ExecHost, node=st.sampled_from(["n-0", "n.a"]), pod=TEXT, cpus=st.integers(0, 9))
STATUSES = st.builds(
    JobStatus,
    state=st.sampled_from(JobState), reason=st.sampled_from(Reason), message=st.text(), owner=TEXT, home=TEXT,
    layout=st.lists(CHUNKS, max_size=3).map(tuple),
    hosts=st.lists(HOSTS, max_size=3).map(tuple),
    start_time=st.none() | TIMES, end_time=st.none() | TIMES, exit_code=st.none() | st.integers(0, 255),
    exit_signal=st.none() | st.integers(1, 64), cpu_used_s=st.none() | st.integers(0, 10**6),
    run_count=st.integers(0, 9),
    submit_time=TIMES,
)  # fmt: skip


@given(SPECS)
def test_a_spec_comes_back_from_its_manifest_and_fits_the_schema(spec: JobSpec) -> None:
    manifest = jobspec.to_manifest(spec, name="x", submission_secret="s")
    jsonschema.validate(manifest, SCHEMA)
    assert jobspec.spec_from_json(manifest["spec"]) == spec


@given(SPECS, STATUSES)
def test_a_row_of_the_table_is_the_row_of_the_record(spec: JobSpec, status: JobStatus) -> None:
    record = JobRecord(job_id=7, namespace="ns", object_name="x", spec=spec, status=status, queue="q")
    obj = jobspec.to_manifest(spec, name="x", submission_secret="s")
    obj["metadata"] |= {"namespace": "ns", "creationTimestamp": batchjob.rfc3339(status.submit_time)}
    obj["status"] = batchjob.full_status_to_json(record, work_dir=spec.work_dir or status.home)
    jsonschema.validate(obj, SCHEMA)
    assert batchjob.record_from(obj) == record
    columns = {c["name"]: i for i, c in enumerate(VERSION["additionalPrinterColumns"])}
    cells = [at_path(obj, c["jsonPath"]) for c in VERSION["additionalPrinterColumns"]]
    assert jobrow.row_from_cells(columns, cells, "ns", "x") == record.row()


def at_path(obj: object, path: str) -> object:
    for part in path.strip(".").split("."):
        obj = obj.get(part) if isinstance(obj, dict) else None
    return obj


@pytest.mark.parametrize("status", [{}, {"state": "Refused"}])
def test_a_job_without_number_is_no_record(status: dict[str, str]) -> None:
    with pytest.raises(HpcBatchError, match="has not been admitted"):
        batchjob.record_from({"metadata": {"namespace": "ns", "name": "x"}, "spec": {}, "status": status})


def test_every_state_is_in_the_schema() -> None:
    assert set(SCHEMA["properties"]["status"]["properties"]["state"]["enum"]) == {s.value for s in JobState}
    assert set(SCHEMA["properties"]["spec"]["properties"]["dialect"]["enum"]) == {d.value for d in Dialect}


@pytest.mark.parametrize("spec", [{}, {"dialect": "nqs", "name": "x", "chunks": []}, {"dialect": "pbs", "name": "x"}])
def test_nonsense_is_an_error(spec: dict[str, object]) -> None:
    with pytest.raises(HpcBatchError):
        jobspec.spec_from_json(spec)
