"""An alteration on its way: from the job as it is to be, through request and merge patch, to the altered record."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.client.alter import difference, replacing
from hpcbatch.controller.requests import merge
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.spec import Arrangement, Chunk, JobSpec, Output, Sharing
from hpcbatch.record.batchjob import altered_spec, spec_from_json, spec_to_json
from hpcbatch.record.fields import ALTERABLE

CRD = yaml.safe_load((Path(__file__).parents[3] / "deploy/crd/batchjobs.yaml").read_text())
SPEC = CRD["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
ALTERATION = SPEC["alteration"]
CHARACTERS = st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"])
TEXT = st.text(CHARACTERS, min_size=1, max_size=5)
OUTPUTS = st.builds(Output, path=st.none() | TEXT, append=st.booleans())
CHUNKS = st.builds(Chunk, count=st.integers(1, 9), cpus=st.integers(0, 9), mem_bytes=st.none() | st.integers(0, 9))
SPECS = st.builds(
    JobSpec,
    dialect=st.just(Dialect.PBS), name=TEXT, queue=st.none() | TEXT,
    chunks=st.lists(CHUNKS, min_size=1, max_size=2).map(tuple), arrangement=st.sampled_from(Arrangement),
    sharing=st.sampled_from(Sharing), walltime_s=st.none() | st.integers(1, 9), interpreter=st.none() | TEXT,
    work_dir=st.none() | TEXT, stdout=OUTPUTS, stderr=st.none() | OUTPUTS, stdout_to_stderr=st.booleans(),
    begin_time=st.none() | st.just(datetime(2026, 1, 1, tzinfo=UTC)), priority=st.integers(-9, 9),
    nice=st.integers(-9, 9), rerunnable=st.booleans(), account=st.none() | TEXT,
    mail_points=st.text(CHARACTERS, max_size=3), mail_users=st.lists(TEXT, max_size=2).map(tuple),
    umask=st.none() | st.integers(0, 0o777),
    keep_output=st.text(CHARACTERS, max_size=2), remove_output=st.text(CHARACTERS, max_size=2),
    attributes=st.dictionaries(st.sampled_from("abc"), st.text(CHARACTERS, max_size=3)),
)  # fmt: skip
JSON = st.recursive(
    st.integers() | st.text(max_size=3) | st.booleans() | st.lists(st.integers(), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=8,
)


def patched(target: Any, patch: Any) -> Any:
    """A JSON merge patch applied (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    found = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = patched(found.get(name), value)
    return found


@given(st.lists(SPECS, min_size=2, max_size=4))
def test_the_job_becomes_what_was_wanted(specs: list[JobSpec]) -> None:
    submitted = spec_to_json(specs[0])
    record = JobRecord(job_id=1, namespace="n", object_name="o", spec=specs[0], status=JobStatus(), queue="q")
    for wanted in specs[1:]:
        fields, cleared = difference(spec_to_json(record.spec), spec_to_json(wanted))
        jsonschema.validate({"id": "x", "fields": fields, "cleared": cleared}, ALTERATION)
        altered = merge(record, {"fields": fields, "cleared": cleared}, has_started=False)
        found = spec_from_json(altered_spec(submitted, altered))
        assert found == wanted
        record = replace(record, spec=found, status=replace(record.status, altered=altered))
        assert difference(spec_to_json(found), spec_to_json(wanted)) == ({}, [])


@given(JSON, st.dictionaries(st.sampled_from("abcd"), JSON, max_size=3))
def test_a_request_takes_the_place_of_the_one_before(before: Any, request: dict[str, Any]) -> None:
    assert patched(before, replacing(before, request)) == request


def test_all_that_may_be_altered_is_in_the_schema() -> None:
    assert set(ALTERATION["properties"]["fields"]["properties"]) == ALTERABLE
    assert set(SPEC) >= ALTERABLE - {"arrayLimit"}
