"""Jobs whose handling fails: tried again ever more rarely, and marked, so that all others are served meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from hpcbatch.api.informer import Informer, WorkQueue
from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.errors import ApiError, HpcBatchError, InvalidError, UnreachableError
from hpcbatch.model.record import JobRecord
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.state import JobState, Reason

_LOG = logging.getLogger(__name__)
_BROKEN_AFTER = 3  # failures in a row: the first may be a cache's that lags
_LONGEST_S = 3600.0
_SHOWN = 1000  # characters of an error in a job's status

Key = tuple[str, str]


class SetAside:
    """`refuse` refuses a job that has no number yet; `wrote` hears what was written."""

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
        """Try again what an API in trouble kept from being done; set a job aside that cannot be handled as it is."""
        is_trouble = isinstance(error, ApiError | UnreachableError) and not isinstance(error, InvalidError)
        said = error if isinstance(error, HpcBatchError) else f"{type(error).__name__}: {error}"
        if is_trouble or self._queue.failures(key) < _BROKEN_AFTER:
            delay_s = self._queue.retry(key)
        else:
            delay_s = self._queue.retry(key, _LONGEST_S)
            try:
                self._set_aside(key, f"the controller cannot handle the job: {said}"[:_SHOWN])
            except Exception:
                _LOG.exception("marking job %s/%s", *key)
        _LOG.warning("job %s/%s: %.1000s; next try in %.1f s", *key, said, delay_s, exc_info=not is_trouble)

    def _set_aside(self, key: Key, message: str) -> None:
        """Refuse a job that cannot be taken, mark one that was."""
        obj = self._batchjobs.get(*key)
        if obj is None:
            return
        status = obj.get("status", {})
        if "jobId" not in status:
            if "refusal" not in status:
                self._refuse(obj, RefusalCode.BAD_SPEC, message)
            return
        # once: each write is an event, which has the job looked at again
        if not JobState(status["state"]).is_final and status.get("reason") != Reason.BROKEN:
            mark = {"reason": Reason.BROKEN.value, "message": message}
            self._wrote(self._api.patch(BATCHJOBS, key[1], {"status": mark}, key[0], subresource="status"))

    def handled(self, key: Key) -> None:
        """Take the mark off a job that can be handled again and has nothing else to say of it."""
        obj = self._batchjobs.get(*key)
        if obj is None or obj.get("status", {}).get("reason") != Reason.BROKEN:
            return
        version = {"resourceVersion": obj["metadata"]["resourceVersion"]}
        body = {"metadata": version, "status": {"reason": Reason.NONE.value, "message": None}}
        try:
            self._wrote(self._api.patch(BATCHJOBS, key[1], body, key[0], subresource="status"))
        except HpcBatchError:  # a conflict: it has said something else
            self._queue.retry(key)


def unmarked(record: JobRecord) -> JobRecord:
    """As it was before it was set aside, as far as that is known: it is looked at anew."""
    if record.status.reason is not Reason.BROKEN:
        return record
    return replace(record, status=replace(record.status, reason=Reason.NONE, message=""))
