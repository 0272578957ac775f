"""Hypothesis strategies for what a job holds, made from the table of its fields: a new field is drawn by itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from hpcbatch.model.dependency import DependencyProgress
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.stored import ANY_INDICES, COUNTED_INDICES, INDICES, OBJECT_NAME, Kind, Stored, stored_fields
from hpcbatch.record.batchjob import full_status_to_json
from hpcbatch.record.manifest import to_manifest
from hpcbatch.record.rows import UNREADABLE
from hpcbatch.units import rfc3339
from tests import schema_values
from tests.schema_values import Leaves

_CHARACTERS = st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"])
_NO_VALUE = object()
TIMES = st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2100, 1, 1)).map(
    lambda time: time.replace(microsecond=0, tzinfo=UTC)
)
_SETS = st.sets(st.integers(0, 60), min_size=1).map(Indices.of)
_WAITS = st.lists(st.sampled_from(["afterok:1", "beforeany:2", "singleton"]), max_size=2).map(tuple)
_PROGRESS = st.builds(
    DependencyProgress, met=_WAITS, joined=_WAITS, left=st.sampled_from(["", "afterok:3!"]), followers=_WAITS
)


def values(kind: Kind) -> st.SearchStrategy[Any]:
    """Values of the model. What its class refuses is not drawn."""
    if kind in (INDICES, ANY_INDICES, COUNTED_INDICES):
        return _SETS
    if kind.parts == stored_fields(DependencyProgress):
        return _PROGRESS
    return _json_of(kind).map(_reader(kind.from_json)).filter(lambda value: value is not _NO_VALUE)


def _json_of(kind: Kind) -> st.SearchStrategy[Any]:
    if not kind.parts:
        return schema_values.values(kind.schema, _PLAIN)
    drawn = {part.json: values(part.kind).map(part.kind.to_json) for part in kind.parts}
    required = {part.json: drawn.pop(part.json) for part in kind.parts if part.is_required}
    return schema_values.some_of(drawn, required)


def _reader(from_json: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def read(given: Any) -> Any:
        try:
            return from_json(given)
        except UNREADABLE:
            return _NO_VALUE

    return read


def _integers(schema: Mapping[str, Any]) -> st.SearchStrategy[int]:
    """Small enough for all of a job's chunks together."""
    return st.integers(max(schema.get("minimum", -9), -9), min(schema.get("maximum", 300), 300))


def _texts(schema: Mapping[str, Any]) -> st.SearchStrategy[str]:
    if schema == OBJECT_NAME.schema:
        return st.sampled_from(["n-0", "n.a"])
    if schema.get("format") == "date-time":
        return TIMES.map(rfc3339)
    pattern, least = schema.get("pattern", ""), schema.get("minLength", 0)
    if pattern and not pattern.startswith("^[^"):
        return st.from_regex(pattern.replace("$", r"\Z"), fullmatch=True).filter(lambda text: len(text) >= least)
    return st.text(_CHARACTERS, min_size=least, max_size=9).filter(lambda text: re.search(pattern, text) is not None)


_PLAIN = Leaves(_integers, _texts)


def _held(part: Stored) -> st.SearchStrategy[Any]:
    """Mostly the default: with all fields of several jobs hypothesis has more to draw than it may, and gives up."""
    if part.is_required:
        return values(part.kind)
    return st.integers(0, 3).flatmap(lambda number: values(part.kind) if number == 3 else st.just(part.default))


def specs(cls: type[JobSpec] = JobSpec, *, only: frozenset[str] | None = None) -> st.SearchStrategy[JobSpec]:
    """`only`: the names that the BatchJob has for the fields which may differ from their defaults."""
    parts = [part for part in stored_fields(cls) if only is None or part.json in only or part.is_required]
    return st.builds(cls, **{part.attribute: _held(part) for part in parts})


def statuses() -> st.SearchStrategy[JobStatus]:
    return st.builds(JobStatus, submit_time=TIMES, **{part.attribute: _held(part) for part in stored_fields(JobStatus)})


def batchjob_of(record: JobRecord) -> dict[str, Any]:
    """The BatchJob of a record, as commands and controller write it."""
    obj = to_manifest(record.spec, name=record.object_name, submission_secret="s")
    obj["metadata"]["namespace"] = record.namespace
    if record.status.submit_time is not None:
        obj["metadata"]["creationTimestamp"] = rfc3339(record.status.submit_time)
    obj["status"] = full_status_to_json(record)
    return obj
