"""Reads the BatchJob custom resource as the model's values, and writes a job's status as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.indices import check_size
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.row import parse_time
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from hpcbatch.model.stored import Json, attributes_from_json, stored_fields, struct_to_json
from hpcbatch.model.text import printable_tree
from hpcbatch.record.cells import row_mark, row_text
from hpcbatch.record.fields import COMPUTED, OBJECT_ONLY
from hpcbatch.record.rows import UNREADABLE, unreadable
from hpcbatch.typed import Any, Final

_MOST_SHARED: Final = 512
_specs: dict[tuple[str, bool], JobSpec] = {}
_statuses: dict[tuple[str, bool, str | None], JobStatus] = {}
"""Of records read before: by their JSON as `repr()` spells it, and whether they were made printable."""


def spec_from_json(spec: Mapping[str, Any], cls: type[JobSpec] = JobSpec) -> JobSpec:
    """Read a BatchJob's spec. Raises HpcBatchError if it is incomplete or invalid."""
    try:
        return cls(**attributes_from_json(spec, stored_fields(cls)))
    except UNREADABLE as error:
        raise HpcBatchError(f"not a BatchJob's spec: {error}") from None


def status_to_json(status: JobStatus) -> Json:
    """The part of a BatchJob's status that JobStatus has; the controller adds number, queue and summary."""
    return struct_to_json(status, stored_fields(type(status)))


def status_from_json(
    status: Mapping[str, Any], submit_time: datetime | None, cls: type[JobStatus] = JobStatus
) -> JobStatus:
    """Read a BatchJob's status; an empty one is that of an unadmitted job."""
    try:
        return cls(**attributes_from_json(status, stored_fields(cls)), submit_time=submit_time)
    except UNREADABLE as error:
        raise HpcBatchError(f"not a BatchJob's status: {error}") from None


def full_status_to_json(record: JobRecord, *, volcano_job: str = "") -> Json:
    """The status to store for `record`: with everything that the printer columns need."""
    body = status_to_json(record.status)
    computed = {part.json: part.of(record) for part in COMPUTED}
    for part in COMPUTED:
        if (value := computed[part.json]) is not None:
            body[part.json] = part.kind.to_json(value)
    body |= {"row": row_text(record, computed), "rowMark": row_mark()}
    if volcano_job:
        body["volcanoJob"] = volcano_job
    return body


def row_to_json(record: JobRecord) -> Json:
    """The part of its status that only listings read."""
    status = full_status_to_json(record)
    return {name: status[name] for name in ("row", "rowMark")}


def has_row(obj: Json) -> bool:
    """Whether an admitted BatchJob has that part as this version writes it."""
    return bool(obj["status"].get("rowMark") == row_mark())


def record_from(obj: Json) -> JobRecord:
    """The whole record of an admitted job. Records of jobs that were submitted alike share spec and status, if these
    are equal. Raises HpcBatchError if it has no number yet.
    """
    return _record(obj, is_shown=False)


def shown_record(obj: Json) -> JobRecord:
    """As `record_from`, for views: an unreadable record is reduced to its readable parts and marked BROKEN, so that one
    job never prevents the listing of the others. Its texts contain no terminal control characters. Records of jobs that
    were submitted alike share spec and status, if these are equal. Raises HpcBatchError only if it has no number yet.
    """
    try:
        return _record(obj, is_shown=True)
    except UNREADABLE as error:
        metadata = obj["metadata"]
        spec, status = printable_tree(obj.get("spec", {})), printable_tree(obj.get("status", {}))
        if "jobId" not in status:
            raise
        state = status.get("state")
        return JobRecord(
            job_id=int(status["jobId"]),
            namespace=metadata["namespace"],
            object_name=metadata["name"],
            spec=JobSpec(dialect=str(spec.get("dialect")), name=str(spec.get("name"))),
            status=JobStatus(
                state=JobState(state) if state in list(JobState) else JobState.HELD,
                reason=Reason.BROKEN,
                message=unreadable(error),
                owner=str(status.get("owner", "")),
            ),
            queue=str(status.get("queue", "")),
        )


def _record(obj: Json, *, is_shown: bool) -> JobRecord:
    """`is_shown`: its texts are made printable. Raises one of UNREADABLE."""
    metadata, status = obj["metadata"], obj.get("status", {})
    if "jobId" not in status:
        raise HpcBatchError(f"BatchJob {metadata['namespace']}/{metadata['name']} has not been admitted yet")
    clean = printable_tree if is_shown else _unchanged
    asked = {name: value for name, value in obj["spec"].items() if name not in OBJECT_ONLY["spec"]}
    if altered := status.get("altered"):
        asked = altered_spec(asked, altered)
    key = repr(asked), is_shown
    spec = _specs.get(key)
    if spec is None:
        spec = spec_from_json(clean(asked, key[0]))
        if spec.array is not None:
            check_size(spec.array.indices)
        _keep(_specs, key, spec)
    unread, submitted = _not_read(), metadata.get("creationTimestamp")
    own = {name: value for name, value in status.items() if name not in unread}
    mark = repr(own), is_shown, submitted
    read = _statuses.get(mark)
    if read is None:
        read = status_from_json(clean(own, mark[0]), parse_time(submitted))
        _keep(_statuses, mark, read)
    return JobRecord(
        job_id=int(status["jobId"]),
        namespace=metadata["namespace"],
        object_name=metadata["name"],
        spec=spec,
        status=read,
        queue=clean(status.get("queue", ""), ""),
    )


@cache
def _not_read() -> frozenset[str]:
    """What a status has beside the fields of JobStatus: above all the number, in which jobs differ."""
    return frozenset(
        {*(part.json for part in COMPUTED), *OBJECT_ONLY["status"]} - {part.json for part in stored_fields(JobStatus)}
    )


def _unchanged(value: Any, _: str) -> Any:
    return value


def _keep(known: dict[Any, Any], key: Any, value: Any) -> None:
    if len(known) >= _MOST_SHARED:
        known.clear()
    known[key] = value


def altered_spec(spec: Mapping[str, Any], altered: Mapping[str, Any]) -> Json:
    """A BatchJob's spec with its alterations; None in `altered` removes a field."""
    return {name: value for name, value in {**spec, **altered}.items() if value is not None}


def is_suspended(spec: Mapping[str, Any], run_count: int) -> bool:
    """Whether the processes of the current run are to be stopped. A request for an earlier run has no effect."""
    return bool(spec.get("suspended")) and spec.get("suspendedRun", run_count) == run_count
