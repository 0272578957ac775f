"""Interactive jobs: waiting until they run, and the way to the first process of their first pod."""

from __future__ import annotations

import time

from hpcbatch.api.port import Object
from hpcbatch.api.streams import PodStream, Target
from hpcbatch.client.listing import Named, get_object
from hpcbatch.client.watch import wait_until
from hpcbatch.errors import ApiError, ForbiddenError, HpcBatchError, UnauthorizedError, UnreachableError
from hpcbatch.model.state import JobState
from hpcbatch.record.state import state_of
from hpcbatch.typed import TYPE_CHECKING, Final
from hpcbatch.volcano.job_names import script_host

if TYPE_CHECKING:
    from hpcbatch.api.client import HttpApi

HELLO_TERMINAL: Final = b"\x04"
"""Control-D: the end of a line of nothing, which no terminal shows (runner/script/terminal.sh)."""
HELLO_STREAMS: Final = b"\n"
_ATTACH_S = 30.0
_PAUSE_S = 0.1
_END_S = 10.0


class NotRunningError(HpcBatchError):
    """The job ended before anybody could be attached to it."""


def await_run(api: HttpApi, job: Named, timeout_s: float | None = None) -> Object:
    """The record of a job that runs, or that has ended, or whose end was requested; with `timeout_s` as it is then."""
    # what the connection needs: while the job waits, this costs nobody anything
    import hpcbatch.client.terminal
    import hpcbatch.record.batchjob  # noqa: F401
    from hpcbatch.api.streams import load

    load()
    return wait_until(api, job, lambda obj: _is_over(obj) or state_of(obj) is JobState.RUNNING, timeout_s=timeout_s)


def await_end(api: HttpApi, job: Named, timeout_s: float | None = None) -> Object:
    """The record of a job that has ended; with `timeout_s` as it is then."""
    return wait_until(api, job, lambda obj: state_of(obj).is_final, timeout_s=timeout_s)


def has_ended(api: HttpApi, job: Named) -> bool:
    """Whether it ends now, as its connection has."""
    return state_of(await_end(api, job, _END_S)).is_final


def attach(api: HttpApi, job: Named, job_id: int, *, has_terminal: bool) -> PodStream:
    """Raises NotRunningError, ApiError, UnreachableError."""
    target = Target(job.namespace, script_host(job_id), "attach", tty=has_terminal)
    give_up = time.monotonic() + _ATTACH_S
    while True:
        try:
            return PodStream(api, target)
        except (ForbiddenError, UnauthorizedError):
            raise
        except (ApiError, UnreachableError):
            # the record may know of the pod before its node does
            if time.monotonic() > give_up:
                raise
            if _is_over(get_object(api, job)):
                raise NotRunningError("the job has ended") from None
            time.sleep(_PAUSE_S)


def _is_over(obj: Object) -> bool:
    return state_of(obj).is_final or bool(obj["spec"].get("deleteRequested"))
