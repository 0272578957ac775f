from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.api import batchjob, jobrow, jobspec
from hpcbatch.api.names import SCHEMA_ANNOTATION, SCHEMA_VERSION
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import ExecHost, JobRecord, JobStatus
from hpcbatch.model.spec import Arrangement, Chunk, JobSpec, Output, Sharing
from hpcbatch.model.state import JobState, Reason
from hpcbatch.model.text import UNPRINTABLE, is_printable

CRD = yaml.safe_load((Path(__file__).parents[3] / "deploy/crd/batchjobs.yaml").read_text())
VERSION = CRD["spec"]["versions"][0]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]

CHARACTERS = st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"])
ANY = st.text(CHARACTERS)
TEXT = st.text(CHARACTERS, min_size=1, max_size=20)
HOST = st.text(
    st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zs", "Zl", "Zp"], exclude_characters=";|"), min_size=1
)
TIMES = st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2100, 1, 1)).map(
    lambda t: t.replace(microsecond=0, tzinfo=UTC)
)
NAMES = st.text(CHARACTERS, min_size=1, max_size=5)
RESOURCES = st.dictionaries(NAMES, st.integers(1, 2**40), max_size=3).map(lambda d: tuple(sorted(d.items())))
CHUNKS = st.builds(
    Chunk, count=st.integers(1, 9), cpus=st.integers(0, 9), ranks=st.integers(0, 9),
    mem_bytes=st.none() | st.integers(0, 2**50), threads=st.none() | st.integers(1, 9),
    resources=RESOURCES, properties=st.sets(NAMES, max_size=3).map(lambda names: tuple(sorted(names))),
)  # fmt: skip
OUTPUTS = st.builds(Output, path=st.none() | TEXT, append=st.booleans())
SPECS = st.builds(
    JobSpec,
    dialect=st.sampled_from(Dialect), name=TEXT, queue=st.none() | TEXT,
    chunks=st.lists(CHUNKS, min_size=1, max_size=3).map(tuple),
    mem_per_pod_bytes=st.none() | st.integers(0, 2**50), resources_per_pod=RESOURCES,
    arrangement=st.sampled_from(Arrangement), sharing=st.sampled_from(Sharing),
    walltime_s=st.none() | st.integers(1, 10**9), interpreter=st.none() | TEXT,
    command=st.lists(st.text(), max_size=3).map(tuple), script_args=st.lists(st.text(), max_size=3).map(tuple),
    script_path=st.none() | TEXT, work_dir=st.none() | TEXT, submit_dir=TEXT, submit_host=HOST,
    stdout=OUTPUTS, stderr=st.none() | OUTPUTS, stdout_to_stderr=st.booleans(), hold=st.booleans(),
    begin_time=st.none() | TIMES, priority=st.integers(-1024, 1023), rerunnable=st.booleans(),
    account=st.none() | TEXT, mail_points=ANY, mail_users=st.lists(TEXT, max_size=2).map(tuple),
    umask=st.none() | st.integers(0, 0o777), image=st.none() | st.just("a/b:1"), server=HOST,
    attributes=st.dictionaries(TEXT | st.sampled_from(["tres_per_node", "constraint", "qos"]), ANY, max_size=3),
)  # fmt: skip
HOSTS = st.builds(ExecHost, node=st.sampled_from(["n-0", "n.a"]), pod=TEXT, cpus=st.integers(0, 9))
STATUSES = st.builds(
    JobStatus,
    state=st.sampled_from(JobState), reason=st.sampled_from(Reason), message=ANY, owner=TEXT, home=TEXT,
    layout=st.lists(CHUNKS, max_size=3).map(tuple),
    groups=st.lists(st.tuples(st.integers(0, 2**32 - 1), st.text()), max_size=3).map(tuple),
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
    status = replace(status, walltime_s=spec.walltime_s)  # the limit in force is always written
    record = JobRecord(job_id=7, namespace="ns", object_name="x", spec=spec, status=status, queue="q")
    obj = jobspec.to_manifest(spec, name="x", submission_secret="s")
    obj["metadata"] |= {"namespace": "ns", "creationTimestamp": batchjob.rfc3339(status.submit_time)}
    obj["status"] = batchjob.full_status_to_json(record, work_dir=spec.work_dir or status.home)
    jsonschema.validate(obj, SCHEMA)
    assert batchjob.record_from(obj) == record
    columns = {c["name"]: i for i, c in enumerate(VERSION["additionalPrinterColumns"])}
    cells = [at_path(obj, c["jsonPath"]) for c in VERSION["additionalPrinterColumns"]]
    assert jobrow.row_from_cells(columns, cells, "ns", "x") == record.row()


HOSTILE = "x\x1b[31m\n99.pbs1\u202e\x9b\r"


def test_what_others_wrote_is_text_on_its_line_in_every_view() -> None:
    """Records that are older than the definition's patterns, and what pods say of themselves."""
    spec = JobSpec(
        dialect=Dialect.SLURM, name=HOSTILE, account=HOSTILE, server=HOSTILE, work_dir=HOSTILE, script_path=HOSTILE,
        command=(HOSTILE,), attributes={HOSTILE: HOSTILE, "qos": HOSTILE},
    )  # fmt: skip
    status = JobStatus(message=HOSTILE, owner=HOSTILE, submit_time=datetime(2026, 1, 1, tzinfo=UTC))
    record = JobRecord(job_id=7, namespace="ns", object_name="x", spec=spec, status=status, queue=HOSTILE)
    obj = jobspec.to_manifest(spec, name="x", submission_secret="s")
    obj["metadata"] |= {"namespace": "ns", "creationTimestamp": "2026-01-01T00:00:00Z"}
    obj["status"] = batchjob.full_status_to_json(record, work_dir=HOSTILE)
    shown = batchjob.shown_record(obj)
    assert shown.spec.name == shown.spec.server == shown.status.message == "x^[[31m^J99.pbs1??^M"
    assert is_printable("".join(map(str, (*texts(shown), *texts(shown.row())))))
    columns = {c["name"]: i for i, c in enumerate(VERSION["additionalPrinterColumns"])}
    cells = [at_path(obj, c["jsonPath"]) for c in VERSION["additionalPrinterColumns"]]
    assert jobrow.row_from_cells(columns, cells, "ns", "x") == shown.row()


def texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from texts([*value, *value.values()])
    elif is_dataclass(value):
        yield from texts([getattr(value, field.name) for field in fields(value)])
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts(item)


@pytest.mark.parametrize("field", ["name", "queue", "account", "workDir", "submitDir", "scriptPath", "interpreter"])
def test_the_definition_refuses_what_cannot_be_printed(field: str) -> None:
    properties = SCHEMA["properties"]["spec"]["properties"]
    assert properties[field]["pattern"] == f"^[^{UNPRINTABLE}]*$"
    altered = properties["alteration"]["properties"]["fields"]["properties"]
    assert altered.get(field, properties[field]) == properties[field]


@pytest.mark.parametrize("server", ["a\n12.pbs1", "a;E;1", "a b", "a|b", "a\x1b[2J"])
def test_no_server_is_called_so(server: str) -> None:
    assert not re.search(SCHEMA["properties"]["spec"]["properties"]["server"]["pattern"], server)


def at_path(obj: object, path: str) -> object:
    for part in path.strip(".").split("."):
        obj = obj.get(part) if isinstance(obj, dict) else None
    return obj


@pytest.mark.parametrize("status", [{}, {"state": "Refused"}])
def test_a_job_without_number_is_no_record(status: dict[str, str]) -> None:
    with pytest.raises(HpcBatchError, match="has not been admitted"):
        batchjob.record_from({"metadata": {"namespace": "ns", "name": "x"}, "spec": {}, "status": status})


def test_the_definition_carries_its_version() -> None:
    assert CRD["metadata"]["annotations"] == {SCHEMA_ANNOTATION: str(SCHEMA_VERSION)}


def bounds(schema: Any) -> Iterator[float]:
    if isinstance(schema, dict):
        yield from (schema[key] for key in ("minimum", "maximum") if isinstance(schema.get(key), int))
        for part in schema.values():
            yield from bounds(part)


def test_kubernetes_can_hold_every_bound() -> None:
    """It compares integers with the bound as a float made an integer again: 2^63 - 1 would come out as -2^63."""
    found = list(bounds(SCHEMA))
    assert found
    assert all(-(2**63) <= float(bound) < 2**63 for bound in found)


@pytest.mark.parametrize(
    ("spec", "run", "is_suspended"),
    [
        ({}, 1, False), ({"suspended": False}, 1, False), ({"suspended": True}, 3, True),
        ({"suspended": True, "suspendedRun": 1}, 1, True), ({"suspended": True, "suspendedRun": 1}, 2, False),
        ({"suspended": False, "suspendedRun": 1}, 1, False),
    ],
)  # fmt: skip
def test_a_suspension_is_one_of_its_run(spec: dict[str, object], run: int, is_suspended: bool) -> None:
    assert batchjob.is_suspended(spec, run) is is_suspended


_ASKED_LATER = {
    "hold", "deleteRequested", "adminHolds", "suspended", "suspendedRun", "alteration", "rerunRequest", "signalRequest",
    "arrayRequest",
}  # fmt: skip


def test_what_may_change_after_submission() -> None:
    """The API server's rule names every other field, present or not."""
    spec = SCHEMA["properties"]["spec"]
    rule = " ".join(spec["x-kubernetes-validations"][0]["rule"].split())
    terms = []
    for name in spec["properties"]:
        if name in spec["required"]:
            terms.append(f"self.{name} == oldSelf.{name}")
        elif name not in _ASKED_LATER:
            terms.append(
                f"(has(self.{name}) ? has(oldSelf.{name}) && self.{name} == oldSelf.{name} : !has(oldSelf.{name}))"
            )
    assert all(term in rule for term in terms)
    assert len(rule) == len(" && ".join(terms))


def test_every_text_and_list_of_the_spec_has_a_bound() -> None:
    """What a user writes is bounded, and what rules look at has to be."""

    def check(schema: dict[str, object], path: str) -> None:
        bound = {"string": "maxLength", "array": "maxItems"}.get(str(schema["type"]))
        assert bound is None or bound in schema or "enum" in schema, path
        if "additionalProperties" in schema:
            assert "maxProperties" in schema, path
        parts = {**schema.get("properties", {}), "[]": schema.get("items"), "*": schema.get("additionalProperties")}
        for name, part in parts.items():
            if part is not None:
                check(part, f"{path}.{name}")

    check(SCHEMA["properties"]["spec"], "spec")


def test_every_state_is_in_the_schema() -> None:
    assert set(SCHEMA["properties"]["status"]["properties"]["state"]["enum"]) == {s.value for s in JobState}
    assert set(SCHEMA["properties"]["spec"]["properties"]["dialect"]["enum"]) == {d.value for d in Dialect}


ONE = {"count": 1, "cpus": 1, "ranks": 1}
NONSENSE: list[dict[str, object]] = [
    {}, {"dialect": "nqs", "name": "x", "chunks": []}, {"dialect": "pbs", "name": "x"},
    {"dialect": "pbs", "name": "x", "chunks": [{**ONE, "resources": {"ngpus": 0}}]},
    {"dialect": "pbs", "name": "x", "chunks": [{**ONE, "resources": {"ngpus": "2"}}]},
    {"dialect": "pbs", "name": "x", "chunks": [{**ONE, "resources": ["ngpus"]}]},
    {"dialect": "pbs", "name": "x", "chunks": [{**ONE, "properties": ["a", "a"]}]},
    {"dialect": "pbs", "name": "x", "chunks": [{**ONE, "count": 100_001}]},
    {"dialect": "pbs", "name": "x", "chunks": [ONE], "resourcesPerPod": {"gpu": -1}},
]  # fmt: skip


@pytest.mark.parametrize("spec", NONSENSE, ids=str)
def test_nonsense_is_an_error(spec: dict[str, object]) -> None:
    with pytest.raises(HpcBatchError):
        jobspec.spec_from_json(spec)
