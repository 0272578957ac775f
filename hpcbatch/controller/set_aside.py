"""Jobs whose handling fails: retried ever more rarely, and marked, so that they do not hold up others."""

from __future__ import annotations

import logging
from collections.abc import Callable

from hpcbatch.api.informer import Informer, WorkQueue
from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.dataclass import replace
from hpcbatch.errors import ApiError, HpcBatchError, InvalidError, UnreachableError
from hpcbatch.model.record import JobRecord
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.state import JobState, Reason

_LOG = logging.getLogger(__name__)
_BROKEN_AFTER = 3  # failures in a row: the first may come from a lagging cache
_LONGEST_S = 3600.0
_SHOWN = 1000  # characters of an error in a job's status

Key = tuple[str, str]


class SetAside:
    """`refuse` refuses a job that has no number yet; `wrote` gets each written object."""

    def __init__(
        self,
        api: Api,
        batchjobs: Informer,
        queue: WorkQueue[Key],
        *,
        refuse: Callable[[Object, str, str], None],
        wrote: Callable[[Object], None],
    ) -> None:
        self._api, self._batchjobs, self._queue = api, batchjobs, queue
        self._refuse, self._wrote = refuse, wrote

    def failed(self, key: Key, error: Exception) -> None:
        """Retry after a failure of the API; set a job aside that cannot be handled as it is."""
        is_trouble = isinstance(error, ApiError | UnreachableError) and not isinstance(error, InvalidError)
        text = error if isinstance(error, HpcBatchError) else f"{type(error).__name__}: {error}"
        if is_trouble or self._queue.failures(key) < _BROKEN_AFTER:
            delay_s = self._queue.retry(key)
        else:
            delay_s = self._queue.retry(key, _LONGEST_S)
            try:
                self._set_aside(key, f"the controller cannot handle the job: {text}"[:_SHOWN])
            except Exception:
                _LOG.exception("marking job %s/%s", *key)
        _LOG.warning("job %s/%s: %.1000s; next try in %.1f s", *key, text, delay_s, exc_info=not is_trouble)

    def _set_aside(self, key: Key, message: str) -> None:
        """Refuse an unadmitted job, mark an admitted one."""
        obj = self._batchjobs.get(*key)
        if obj is None:
            return
        status = obj.get("status", {})
        if "jobId" not in status:
            if "refusal" not in status:
                self._refuse(obj, RefusalCode.BAD_SPEC, message)
            return
        # once: each write causes an event, and so another look
        if not JobState(status["state"]).is_final and status.get("reason") != Reason.BROKEN:
            mark = {"reason": Reason.BROKEN.value, "message": message}
            self._wrote(self._api.patch(BATCHJOBS, key[1], {"status": mark}, key[0], subresource="status"))

    def handled(self, key: Key) -> None:
        """Remove the mark of a job that can be handled again, unless its message has changed."""
        obj = self._batchjobs.get(*key)
        if obj is None or obj.get("status", {}).get("reason") != Reason.BROKEN:
            return
        version = {"resourceVersion": obj["metadata"]["resourceVersion"]}
        body = {"metadata": version, "status": {"reason": Reason.NONE.value, "message": None}}
        try:
            self._wrote(self._api.patch(BATCHJOBS, key[1], body, key[0], subresource="status"))
        except HpcBatchError:  # a conflict: its status has changed
            self._queue.retry(key)


def unmarked(record: JobRecord) -> JobRecord:
    """The record as before it was set aside, as far as known: the job is looked at anew."""
    if record.status.reason is not Reason.BROKEN:
        return record
    return replace(record, status=replace(record.status, reason=Reason.NONE, message=""))
