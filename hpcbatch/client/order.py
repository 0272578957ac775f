"""The order of waiting jobs: two change places, or one is brought to the front."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from hpcbatch.api.client import TableApi
from hpcbatch.api.port import Object
from hpcbatch.client.alter import alter_with_members
from hpcbatch.client.changes import await_reply, change_spec, check_unfinished
from hpcbatch.client.queues import list_settings, read_priority
from hpcbatch.client.request_ids import random_id
from hpcbatch.client.rights import check_may_change_all
from hpcbatch.client.watch import wait_until
from hpcbatch.dataclass import replace
from hpcbatch.model.chunk import Chunk, on_hosts
from hpcbatch.model.row import JobRow
from hpcbatch.model.spec import MAX_FIXED_PRIORITY
from hpcbatch.model.state import WAITING
from hpcbatch.policy.order import HIGHEST, exchanged, weight_of
from hpcbatch.policy.requests import EXCHANGE
from hpcbatch.record.batchjob import shown_record
from hpcbatch.record.rows import row_of
from hpcbatch.record.state import state_of
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord
    from hpcbatch.model.spec import JobSpec

_START_S = 15.0


def exchange(api: TableApi, one: JobRow, other: JobRow, own_namespace: str) -> None:
    """Both or none: whoever may not change one of them is refused before anything changes. Raises ForbiddenError, and
    what an alteration raises.
    """
    if {one.namespace, other.namespace} != {own_namespace}:
        check_may_change_all(api, "changes the order of others")
    has_plan = not list_settings(api).get("startedByVolcano")
    if not has_plan or (weight_of(one) != weight_of(other) and not read_priority(api).ranks):
        weights = exchanged(one, other)
        for row in (one, other):
            if weights[row.job_id] != weight_of(row):
                _set_weight(api, row, weights[row.job_id])
    if has_plan:
        _exchange_places(api, one, other)


def _exchange_places(api: TableApi, one: JobRow, other: JobRow) -> None:
    """The controller exchanges them when both ask for it."""
    request_id = random_id()
    requested: list[tuple[JobRow, Object | None]] = []
    for row, with_row in ((one, other), (other, one)):
        asked = {EXCHANGE: {"id": request_id, "namespace": with_row.namespace, "name": with_row.object_name}}
        check_unfinished(row)
        requested.append((row, change_spec(api, row, partial(_same, asked), kind=EXCHANGE)))
    for row, obj in requested:
        if obj is not None:
            await_reply(api, row, obj, EXCHANGE)


def _same(asked: Object, _: Object) -> Object:
    return asked


def bring_forward(api: TableApi, row: JobRow, hosts: Sequence[str] = ()) -> JobRow | None:
    """Put a job before all others, its chunks on `hosts` if any are named, until it starts: None. Else it gets back
    what it had; returned is how it waited in the meantime. Raises ForbiddenError for users who may not change all jobs.
    """
    check_may_change_all(api, "starts one before others")
    chunks: tuple[Chunk, ...] = ()

    def first(record: JobRecord) -> JobSpec:
        nonlocal chunks
        chunks = record.spec.chunks
        found = replace(record.spec, priority=HIGHEST + record.spec.nice, fixed_priority=MAX_FIXED_PRIORITY)
        return replace(found, chunks=on_hosts(chunks, hosts)) if hosts else found

    def as_before(record: JobRecord) -> JobSpec:
        found = replace(record.spec, priority=weight_of(row) + record.spec.nice, fixed_priority=None)
        return replace(found, chunks=chunks) if hosts else found

    alter_with_members(api, row, first)
    obj = wait_until(api, row, lambda seen: state_of(seen) not in WAITING, timeout_s=_START_S)
    if state_of(obj) not in WAITING:
        return None
    alter_with_members(api, row, as_before)
    return row_of(shown_record(obj))


def _set_weight(api: TableApi, row: JobRow, weight: int) -> None:
    def changed(record: JobRecord) -> JobSpec:
        return replace(record.spec, priority=weight + record.spec.nice)

    alter_with_members(api, row, changed)
