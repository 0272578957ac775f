"""Brings what listings read of a record up to date where another version of hpcbatch has written it."""

from __future__ import annotations

from collections.abc import Callable

from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.controller.records import Admitted
from hpcbatch.record.batchjob import has_row, row_to_json


class RowTexts:
    """`wrote` gets each written object."""

    def __init__(self, api: Api, wrote: Callable[[Object], None]) -> None:
        self._api, self._wrote = api, wrote
        self._is_dropped = False
        """The API keeps no such text: the definition of the records is older than this controller."""

    def renew(self, job: Admitted) -> bool:
        """True if it was written: the event of that leads to the next look."""
        if self._is_dropped or has_row(job.obj):
            return False
        record = job.record
        body = {
            "metadata": {"resourceVersion": job.obj["metadata"]["resourceVersion"]},
            "status": row_to_json(record),
        }
        written = self._api.patch(BATCHJOBS, record.object_name, body, record.namespace, subresource="status")
        self._wrote(written)
        self._is_dropped = not has_row(written)
        return True
