"""qorder: two waiting jobs take each other's places, when both ask for it by the same id."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hpcbatch.api.informer import Informer
from hpcbatch.api.port import Object
from hpcbatch.dataclass import replace
from hpcbatch.errors import RefusedError
from hpcbatch.model.record import JobRecord
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.state import WAITING
from hpcbatch.policy.order import exchanged_place
from hpcbatch.policy.requests import EXCHANGE
from hpcbatch.record.batchjob import record_from
from hpcbatch.record.rows import UNREADABLE


class Exchanges:
    """Each job is changed by a write of its own; whichever is the first says in its status what it has changed, so that
    the other changes as much the other way, whenever the controller is killed. That both ask for it shows that whoever
    asks may change both.
    """

    def __init__(
        self,
        batchjobs: Informer,
        rank_of: Callable[[JobRecord], float | None],
        wake: Callable[[tuple[str, str]], None],
    ) -> None:
        self._batchjobs, self._rank_of, self._wake = batchjobs, rank_of, wake

    def is_ready(self, obj: Object, request: Mapping[str, Any]) -> bool:
        """Whether the other job asks for it too, or is not there."""
        other = self._other(request)
        return other is None or _asks(other, request["id"], obj)

    def exchanged(self, record: JobRecord, request: Mapping[str, Any]) -> JobRecord:
        """Raises RefusedError for a job that does not wait any longer."""
        obj = self._other(request)
        try:
            other = None if obj is None else record_from(obj)
        except UNREADABLE:
            other = None
        if record.status.state not in WAITING or other is None or other.status.state not in WAITING:
            raise RefusedError(RefusalCode.NOT_RUNNING, "the job is not waiting")
        place = exchanged_place(record, other, request["id"], self._rank_of)
        self._wake((other.namespace, other.object_name))
        return replace(record, status=replace(record.status, order=place))

    def _other(self, request: Mapping[str, Any]) -> Object | None:
        return self._batchjobs.get(request["namespace"], request["name"])


def _asks(other: Object, request_id: str, obj: Object) -> bool:
    request = other["spec"].get(EXCHANGE) or {}
    metadata = obj["metadata"]
    return (request.get("id"), request.get("namespace"), request.get("name")) == (
        request_id,
        metadata["namespace"],
        metadata["name"],
    )
