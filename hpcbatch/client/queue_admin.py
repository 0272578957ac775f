"""What operators do to queues: whether one takes jobs and whether its jobs are started, and Volcano Queues themselves.
Kubernetes' own rules decide who may; the controller carries out what is switched.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import COMMANDS, QUEUES
from hpcbatch.errors import ApiError, HpcBatchError, NotFoundError, UnknownQueueError
from hpcbatch.model.queue_switches import DISABLED, IDLE, STOPPED, switches_of
from hpcbatch.model.row import QueueRow

_CLOSING_S, _LOOK_S = 10.0, 0.1
_COMMANDS_NAMESPACE = "default"
"""Where vcctl makes them."""


class BusyQueueError(HpcBatchError):
    """There are still jobs in a queue that is to be removed."""


def switch_queue(
    api: Api, queue: QueueRow, queues: Iterable[QueueRow], *, enabled: bool | None = None, started: bool | None = None
) -> None:
    """Let a queue take jobs, let its jobs start, or keep it from that; None leaves it as it is. `queues` are all.

    A Volcano Queue that is closed does neither: it is opened, and what was not requested stays switched off, for other
    queues that share it, too. Raises ForbiddenError, or UnknownQueueError where the Volcano Queue is not there.
    """
    try:
        found = api.get(QUEUES, queue.volcano_queue)
    except NotFoundError:
        raise UnknownQueueError(queue.name) from None
    switches = switches_of(found)
    takes = switches.takes(queue.name) if enabled is None else enabled
    starts = switches.starts(queue.name) if started is None else started
    notes = _notes(queue.name, takes=takes, starts=starts)
    is_opening = not switches.is_open and (takes or starts)
    if is_opening:
        others = [row.name for row in queues if row.volcano_queue == queue.volcano_queue and row.name != queue.name]
        for name in others:
            notes |= _notes(name, takes=False, starts=False)
    api.patch(QUEUES, queue.volcano_queue, {"metadata": {"annotations": notes}})
    if is_opening:
        command_queue(api, found, "OpenQueue")


def set_scheduling(api: Api, queues: Iterable[QueueRow], *, on: bool) -> None:
    """Let jobs start, or none of any queue. Raises ForbiddenError."""
    note = None if on else "true"
    for name in dict.fromkeys(queue.volcano_queue for queue in queues):
        api.patch(QUEUES, name, {"metadata": {"annotations": {IDLE: note}}})


def create_queue(api: Api, name: str, *, enabled: bool, started: bool) -> None:
    """A Volcano Queue, and so a queue of the same name where the site names none. Raises AlreadyExistsError,
    ForbiddenError, or another ApiError for what is no name in Kubernetes.
    """
    notes = {key: value for key, value in _notes(name, takes=enabled, starts=started).items() if value is not None}
    made = {"apiVersion": QUEUES.api_version, "kind": QUEUES.kind, "metadata": {"name": name, "annotations": notes}}
    api.create(QUEUES, made | {"spec": {}})


def delete_queue(api: Api, name: str) -> None:
    """Close the Volcano Queue and remove it, which Volcano allows when nothing is in it. Raises BusyQueueError if
    something is, NotFoundError, ForbiddenError, or another ApiError if Volcano keeps it.
    """
    found = api.get(QUEUES, name)
    command_queue(api, found, "CloseQueue")
    deadline = time.monotonic() + _CLOSING_S
    while (found.get("status") or {}).get("state") != "Closed":
        if time.monotonic() > deadline:
            command_queue(api, found, "OpenQueue")
            raise BusyQueueError(name)
        time.sleep(_LOOK_S)
        found = api.get(QUEUES, name)
    try:
        api.delete(QUEUES, name)
    except ApiError:
        command_queue(api, found, "OpenQueue")
        raise


def command_queue(api: Api, volcano_queue: Object, action: str) -> None:
    """As `vcctl queue operate` does it: `OpenQueue` or `CloseQueue`."""
    meta = volcano_queue["metadata"]
    target = {
        "apiVersion": QUEUES.api_version,
        "kind": QUEUES.kind,
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    command: Object = {
        "apiVersion": COMMANDS.api_version,
        "kind": COMMANDS.kind,
        "metadata": {"generateName": f"{meta['name']}-{action.lower()}-", "ownerReferences": [target]},
        "action": action,
        "target": target,
    }
    api.create(COMMANDS, command, _COMMANDS_NAMESPACE)


def _notes(name: str, *, takes: bool, starts: bool) -> dict[str, str | None]:
    return {f"{DISABLED}{name}": None if takes else "true", f"{STOPPED}{name}": None if starts else "true"}
