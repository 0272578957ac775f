"""Requests in a BatchJob's spec: finds what the site grants of an alteration; policy decides the rest.

A request's change and its reply are one write of the status, so it is handled once, whenever the controller dies.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from hpcbatch.api.port import Object
from hpcbatch.controller.exchanges import Exchanges
from hpcbatch.controller.intake import Intake, taken_spec
from hpcbatch.controller.site_source import SiteSource
from hpcbatch.dataclass import replace
from hpcbatch.errors import ApiError, HpcBatchError, RefusedError, UnreachableError
from hpcbatch.model.record import JobRecord
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState
from hpcbatch.policy.admission import grant_walltime, with_grant
from hpcbatch.policy.alterations import noted
from hpcbatch.policy.requests import (
    ALTERATION,
    EXCHANGE,
    RERUN,
    RUNNING,
    merge,
    open_request,
    open_rerun,
    replied,
    rerun,
    with_limit,
)
from hpcbatch.policy.vocabulary import RESERVATION
from hpcbatch.record.batchjob import altered_spec
from hpcbatch.record.fields import ARRAY_LIMIT, OF_SIZE

_GRANTED = OF_SIZE | {"queue", "otherQueues", "walltimeSeconds", "minWalltimeSeconds", "deadline", "account"}
"""Fields that the site has to grant."""


class Requests:
    """Handles the open requests."""

    def __init__(self, intake: Intake, sites: SiteSource, exchanges: Exchanges) -> None:
        self._intake, self._sites, self._exchanges = intake, sites, exchanges

    def are_open(self, obj: Object, record: JobRecord) -> bool:
        found = open_request(obj, record)
        return found is not None and (found[0] != EXCHANGE or self._exchanges.is_ready(obj, found[1]))

    def handle(self, obj: Object, record: JobRecord, *, is_placed: bool) -> JobRecord:
        """The record after one open request of `obj`, with the reply to it. `is_placed`: its pods have nodes."""
        if (found := open_request(obj, record)) is None:
            return record
        kind, request = found
        refusal = None
        try:
            if kind == ALTERATION:
                record = noted(record, self._alter(obj, record, request, is_placed), datetime.now(UTC))
            elif kind == EXCHANGE:
                record = self._exchanges.exchanged(record, request)
            else:
                record = rerun(record, request, is_placed=is_placed, now=datetime.now(UTC))
        except (ApiError, UnreachableError):
            raise
        except HpcBatchError as error:
            refusal = error
        return replied(record, kind, request["id"], refusal)

    @staticmethod
    def handle_ended(obj: Object, record: JobRecord) -> JobRecord | None:
        """The record of an ended job after a request to queue it again, with the reply; None if there is none."""
        request = open_rerun(obj, record)
        if request is None:
            return None
        refusal = None
        late = (obj["spec"].get(ALTERATION) or {}).get("id")
        try:
            record = rerun(record, request, is_placed=False, now=datetime.now(UTC))
            if late:  # its sender was told that the job had ended
                handled = {**record.status.handled, ALTERATION: late}
                record = replace(record, status=replace(record.status, handled=handled))
        except RefusedError as error:
            refusal = error
        return replied(record, RERUN, request["id"], refusal)

    def _alter(self, obj: Object, record: JobRecord, request: Mapping[str, Any], is_placed: bool) -> JobRecord:
        status = record.status
        if status.state is JobState.EXITING or obj["spec"].get("deleteRequested"):
            raise RefusedError(RefusalCode.ENDING, "the job is about to end")
        is_array = record.spec.array is not None
        has_started = (status.state in RUNNING or is_placed) and not is_array
        altered = merge(record, request, has_started=has_started)
        spec = taken_spec(altered_spec(obj["spec"], altered))
        new = replace(record, spec=spec, status=replace(status, altered=altered))
        if spec.dependency is None:
            new = replace(new, status=replace(new.status, dependency=None))
        elif (spec.dependency, spec.name) != (record.spec.dependency, record.spec.name):
            self._intake.dependents.check_no_cycle(new)
            self._intake.dependents.check_known(new)
        if ARRAY_LIMIT in request.get("fields", {}):
            new = replace(new, status=with_limit(new.status, request["fields"][ARRAY_LIMIT]))
        site = self._sites.in_force.config
        changed = {*request.get("fields", ()), *request.get("cleared", ())}
        if "fixedPriority" in changed and new.status.order is not None:  # the priority is to be that number
            new = replace(new, status=replace(new.status, order=replace(new.status.order, shift_millis=0)))
        moves = _reservation(spec) != _reservation(record.spec)
        if has_started and moves:
            raise RefusedError(RefusalCode.STARTED, "attributes")
        if has_started:
            queue = site.queue(record.queue)
            is_as_before = spec.walltime_s == record.spec.walltime_s and status.full_walltime_s is None
            if queue is None or is_as_before or "walltimeSeconds" not in changed:
                return new
            limited = replace(new.status, walltime_s=grant_walltime(spec, queue), full_walltime_s=None)
            return replace(new, status=limited)
        if not changed & _GRANTED and not moves:
            return new
        moved = spec if "queue" in changed else replace(spec, queue=record.queue, other_queues=())
        if "queue" in changed and "otherQueues" not in changed:
            moved = replace(moved, other_queues=())
        # an admin may still act for a disabled user
        owner = replace(self._intake.owner(record.namespace), is_disabled=False)
        queue, granted = self._intake.grant(moved, owner, site, stays_in=record.queue)
        if granted.renamed:
            altered = {**altered, **granted.renamed}
            new = replace(new, spec=taken_spec(altered_spec(obj["spec"], altered)))
        return replace(new, queue=queue.name, status=with_grant(new.status, granted, altered))


def _reservation(spec: JobSpec) -> str:
    return spec.attributes.get(RESERVATION, "")
