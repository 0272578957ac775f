"""Commands on Volcano Queues: open and close."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpcbatch.api.port import Object
from hpcbatch.api.resources import QUEUES
from hpcbatch.errors import NotFoundError

if TYPE_CHECKING:
    from hpcbatch.engine.registry.registry import Registry

_CLOSED_BY_PARENT = "volcano.sh/closed-by-parent"


def run_queue_command(registry: Registry, name: str, action: str) -> None:
    """Open or close a queue and those below it; other actions and absent queues have no effect. A queue that still
    has PodGroups is Closing; the scheduler makes it Closed when the last one is gone.
    """
    if action not in {"OpenQueue", "CloseQueue"}:
        return
    try:
        queue = _set_state(registry, name, "Open" if action == "OpenQueue" else "Closing")
    except NotFoundError:
        return
    word = action.removesuffix("Queue")
    registry.record_event(
        queue, type="Normal", reason=action, message=f"{word} queue succeed", component="vc-controller-manager"
    )
    for child in registry.list(QUEUES).items:
        meta = child["metadata"]
        marked = (meta.get("annotations") or {}).get(_CLOSED_BY_PARENT) == "true"
        if (child.get("spec") or {}).get("parent") != name or (action == "OpenQueue" and not marked):
            continue
        note = "false" if action == "OpenQueue" else "true"
        registry.patch(QUEUES, meta["name"], {"metadata": {"annotations": {_CLOSED_BY_PARENT: note}}})
        run_queue_command(registry, meta["name"], action)


def _set_state(registry: Registry, name: str, state: str) -> Object:
    def change(queue: Object) -> Object | None:
        status = queue.get("status") or {}
        if status.get("state") == state or (state == "Closing" and status.get("state") == "Closed"):
            return None
        return {**queue, "status": {**status, "state": state}}

    return registry.update(QUEUES, name, None, change, subresource="status")
