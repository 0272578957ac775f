"""PBS's routing queues: a job goes on to the first destination that takes it. Pure.

A destination that is closed or full may take the job later, so the job stays in the routing queue; one that cannot take
it never will. Source: job_route() and should_retry_route() of OpenPBS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from hpcbatch.dataclass import replace
from hpcbatch.errors import HpcBatchError, RefusedError
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobStatus
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.site import QueueConfig, SiteConfig
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.holds import hold_reason
from hpcbatch.typed import Final

RETRY_S: Final = 30.0
"""How often a job that no destination takes is routed again."""
_PASSING: Final = frozenset(
    {RefusalCode.QUEUE_CLOSED, RefusalCode.JOBS_LIMIT, RefusalCode.AMOUNT_LIMIT, RefusalCode.ACCOUNT_POLICY}
)


def may_pass(error: HpcBatchError) -> bool:
    """Whether a destination that refuses the job for this may take it later."""
    return isinstance(error, RefusedError) and error.code in _PASSING


def is_routed_now(queue: QueueConfig, spec: JobSpec, now: datetime) -> bool:
    """Of a job that is submitted: one that depends on others is held until it is known whether it waits for them."""
    if hold_reason(spec) is not None or spec.dependency is not None:
        return queue.routes_held
    if spec.begin_time is not None and spec.begin_time > now:
        return queue.routes_waiting
    return True


def is_routed(queue: QueueConfig, state: JobState) -> bool:
    """Whether a job in this state leaves the routing queue."""
    match state:
        case JobState.HELD:
            return queue.routes_held
        case JobState.WAITING:
            return queue.routes_waiting
        case _:
            return state is JobState.QUEUED


def destinations(
    route: QueueConfig, site: SiteConfig, exists: Callable[[QueueConfig], bool], passed: frozenset[str] = frozenset()
) -> Iterator[QueueConfig]:
    """The queues to which a routing queue leads, in order, also through others; none for those that there are not."""
    passed |= {route.name}
    for name in route.destinations or ():
        queue = None if name in passed else site.queue(name)
        if queue is None or not (site.queues or exists(queue)):
            continue
        if queue.destinations is None:
            yield queue
        else:
            yield from destinations(queue, site, exists, passed)


def no_destination(queue: QueueConfig, refusals: list[HpcBatchError]) -> RefusedError:
    why = "; ".join(dict.fromkeys(str(error) for error in refusals)) or f"queue {queue.name} has no destinations"
    return RefusedError(RefusalCode.NO_DESTINATION, why)


def waits_in(queue: QueueConfig) -> str:
    """What a job shows that is not routed yet."""
    if not queue.destinations:
        return f"routing queue {queue.name} has no destinations"
    return f"routing queue {queue.name}: {', '.join(queue.destinations)} take it when they are open and not full"


def rejected(status: JobStatus, why: str, now: datetime) -> JobStatus:
    """The end of a job, or an array, that was admitted to a routing queue and that no destination takes any more."""
    array = status.array
    if array is not None:
        array = replace(array, pending=Indices(), deleted=array.deleted | array.pending)
    message = f"Job rejected by all possible destinations: {why}"
    return replace(
        status,
        state=JobState.DELETED,
        reason=Reason.QUEUE_UNAVAILABLE,
        message=message,
        end_time=now,
        eligible_time=None,
        array=array,
    )
