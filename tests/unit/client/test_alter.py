"""An alteration on its way: from the job as it is to be, through request and merge patch, to the altered record."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.client.alter import difference, replacing
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.spec import JobSpec
from hpcbatch.policy.requests import merge
from hpcbatch.record import crd
from hpcbatch.record.batchjob import altered_spec, spec_from_json
from hpcbatch.record.fields import ALTERABLE
from hpcbatch.record.manifest import spec_to_json
from tests.job_values import specs

(VERSION,) = crd.definition()["spec"]["versions"]
SPEC = VERSION["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
ALTERATION = jsonschema.Draft7Validator(SPEC["alteration"])
SPECS = specs(only=ALTERABLE).map(lambda spec: replace(spec, dialect=Dialect.PBS))
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
def test_the_job_becomes_what_was_wanted(jobs: list[JobSpec]) -> None:
    submitted = spec_to_json(jobs[0])
    record = JobRecord(job_id=1, namespace="n", object_name="o", spec=jobs[0], status=JobStatus(), queue="q")
    for wanted in jobs[1:]:
        fields, cleared = difference(spec_to_json(record.spec), spec_to_json(wanted))
        ALTERATION.validate({"id": "x", "fields": fields, "cleared": cleared})
        altered = merge(record, {"fields": fields, "cleared": cleared}, has_started=False)
        found = spec_from_json(altered_spec(submitted, altered))
        assert found == wanted
        record = replace(record, spec=found, status=replace(record.status, altered=altered))
        assert difference(spec_to_json(found), spec_to_json(wanted)) == ({}, [])


@given(JSON, st.dictionaries(st.sampled_from("abcd"), JSON, max_size=3))
def test_a_request_takes_the_place_of_the_one_before(before: Any, request: dict[str, Any]) -> None:
    assert patched(before, replacing(before, request)) == request


def test_all_that_may_be_altered_is_in_the_schema() -> None:
    assert set(SPEC["alteration"]["properties"]["fields"]["properties"]) == ALTERABLE
    assert set(SPEC) >= ALTERABLE - {"arrayLimit"}
