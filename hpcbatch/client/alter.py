"""Alterations of waiting jobs and, within limits, of running ones: the controller makes or refuses them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hpcbatch.api.client import TableApi
from hpcbatch.api.port import Api, Object
from hpcbatch.client.changes import await_reply, change_spec, check_unfinished
from hpcbatch.client.request_ids import random_id
from hpcbatch.errors import JobFinishedError, RefusedError, UnknownJobError
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import WAITING
from hpcbatch.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord
    from hpcbatch.model.spec import JobSpec

_ALTERATION, _ATTRIBUTES = "alteration", "attributes"


def alter(
    api: Api, row: JobRow, change: Callable[[JobRecord], JobSpec], *, array_limit: int | None = None
) -> Object | None:
    """Change a job to what `change` makes of its record, completely or not at all; None if nothing changes.
    `array_limit` is how many members of an array may run at once, 0: as many as fit.

    Raises RefusedError with the controller's message, JobFinishedError, or UnreachableError if it did not reply.
    """
    from hpcbatch.record.batchjob import record_from
    from hpcbatch.record.manifest import spec_to_json

    def updated(obj: Object) -> Object:
        record = record_from(obj)
        fields, cleared = difference(spec_to_json(record.spec), spec_to_json(change(record)))
        if array_limit is not None:
            fields["arrayLimit"] = array_limit
        if not fields and not cleared:
            return {}
        request = {"id": random_id(), "fields": fields, "cleared": cleared}
        # a merge patch adds to an object, but this request replaces the one before
        return {_ALTERATION: replacing(obj["spec"].get(_ALTERATION), request)}

    check_unfinished(row)
    requested = change_spec(api, row, updated, kind=_ALTERATION)
    return None if requested is None else await_reply(api, row, requested, _ALTERATION)


def alter_with_members(
    api: TableApi, row: JobRow, change: Callable[[JobRecord], JobSpec], *, array_limit: int | None = None
) -> None:
    """The same; of an array also its members that have a record but have not started. Raises as `alter` for the array;
    a member that starts meanwhile stays as it is.
    """
    alter(api, row, change, array_limit=array_limit)
    if not row.array_indices:
        return
    from hpcbatch.client.arrays import own_rows

    def of_waiting(record: JobRecord) -> JobSpec:
        return change(record) if record.status.state in WAITING else record.spec

    for member in own_rows(api, row, ended=False).values():
        if member.state in WAITING:
            try:
                alter(api, member, of_waiting)
            except (JobFinishedError, UnknownJobError):
                continue
            except RefusedError as refused:
                if refused.code not in {RefusalCode.STARTED, RefusalCode.ENDING}:
                    raise


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The fields that differ in `after`, and those that it lacks; attributes are compared one by one."""
    fields = {name: value for name, value in after.items() if before.get(name) != value}
    cleared = [name for name in before if name not in after and name != _ATTRIBUTES]
    old, new = before.get(_ATTRIBUTES, {}), after.get(_ATTRIBUTES, {})
    changed = {name: value for name, value in new.items() if old.get(name) != value}
    fields.pop(_ATTRIBUTES, None)
    if changed:
        fields[_ATTRIBUTES] = changed
    return fields, cleared + [f"{_ATTRIBUTES}.{name}" for name in old if name not in new]


def replacing(old: Any, new: Mapping[str, Any]) -> Object:
    """The merge patch that turns `old` into `new`."""
    before: Mapping[str, Any] = old if isinstance(old, Mapping) else {}
    patch: Object = {name: None for name in before if name not in new}
    for name, value in new.items():
        patch[name] = replacing(before.get(name), value) if isinstance(value, Mapping) else value
    return patch
