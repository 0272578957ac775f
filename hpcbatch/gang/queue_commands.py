"""Commands on Volcano Queues: open and close."""

from __future__ import annotations

from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import QUEUES
from hpcbatch.errors import ConflictError, NotFoundError
from hpcbatch.gang.events import COMPONENT, RecordEvent

_CLOSED_BY_PARENT = "volcano.sh/closed-by-parent"
_TRIES = 10
"""Where others write the queue at the same time."""


def run_queue_command(api: Api, record_event: RecordEvent, name: str, action: str) -> None:
    """Open or close a queue and those below it; other actions and absent queues have no effect. A queue that still
    has PodGroups is Closing; the scheduler makes it Closed when the last one is gone.
    """
    if action not in {"OpenQueue", "CloseQueue"}:
        return
    try:
        queue = _set_state(api, name, "Open" if action == "OpenQueue" else "Closing")
    except NotFoundError:
        return
    word = action.removesuffix("Queue")
    record_event(queue, type="Normal", reason=action, message=f"{word} queue succeed", component=COMPONENT)
    for child in api.list(QUEUES).items:
        meta = child["metadata"]
        marked = (meta.get("annotations") or {}).get(_CLOSED_BY_PARENT) == "true"
        if (child.get("spec") or {}).get("parent") != name or (action == "OpenQueue" and not marked):
            continue
        note = "false" if action == "OpenQueue" else "true"
        api.patch(QUEUES, meta["name"], {"metadata": {"annotations": {_CLOSED_BY_PARENT: note}}})
        run_queue_command(api, record_event, meta["name"], action)


def _set_state(api: Api, name: str, state: str) -> Object:
    for tries_left in reversed(range(_TRIES)):
        queue = api.get(QUEUES, name)
        status = queue.get("status") or {}
        if status.get("state") == state or (state == "Closing" and status.get("state") == "Closed"):
            return queue
        try:
            return api.replace(QUEUES, {**queue, "status": {**status, "state": state}}, subresource="status")
        except ConflictError:
            if not tries_left:
                raise
    raise AssertionError
