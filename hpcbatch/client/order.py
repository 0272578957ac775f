"""The order of waiting jobs: two change places, or one is brought to the front."""

from __future__ import annotations

from hpcbatch.api.client import TableApi
from hpcbatch.client.alter import alter_with_members
from hpcbatch.client.rights import check_may_change_all
from hpcbatch.client.watch import wait_until
from hpcbatch.dataclass import replace
from hpcbatch.model.row import JobRow
from hpcbatch.model.spec import MAX_FIXED_PRIORITY
from hpcbatch.model.state import WAITING
from hpcbatch.policy.order import HIGHEST, exchanged, weight_of
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
    weights = exchanged(one, other)
    for row in (one, other):
        if weights[row.job_id] != weight_of(row):
            _set_weight(api, row, weights[row.job_id])


def bring_forward(api: TableApi, row: JobRow) -> JobRow | None:
    """Put a job before all others until it starts: None. Else it gets the priority back that it had; returned is how it
    waited in the meantime. Raises ForbiddenError for users who may not change all jobs.
    """
    check_may_change_all(api, "starts one before others")
    _set_first(api, row, HIGHEST, MAX_FIXED_PRIORITY)
    obj = wait_until(api, row, lambda seen: state_of(seen) not in WAITING, timeout_s=_START_S)
    if state_of(obj) not in WAITING:
        return None
    _set_first(api, row, weight_of(row), None)
    return row_of(shown_record(obj))


def _set_first(api: TableApi, row: JobRow, weight: int, fixed: int | None) -> None:
    def changed(record: JobRecord) -> JobSpec:
        return replace(record.spec, priority=weight + record.spec.nice, fixed_priority=fixed)

    alter_with_members(api, row, changed)


def _set_weight(api: TableApi, row: JobRow, weight: int) -> None:
    def changed(record: JobRecord) -> JobSpec:
        return replace(record.spec, priority=weight + record.spec.nice)

    alter_with_members(api, row, changed)
