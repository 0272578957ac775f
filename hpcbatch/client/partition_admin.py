"""What operators make and change of queues: limits, defaults, rights, nodes. It lies in a ConfigMap that Kubernetes
lets them write; the controller checks it, puts it over the site's file and publishes what is in force.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping

from hpcbatch.api.names import PARTITIONS_CONFIGMAP, SYSTEM_NAMESPACE
from hpcbatch.api.port import Api
from hpcbatch.api.resources import CONFIGMAPS
from hpcbatch.client.queues import list_features, list_queues
from hpcbatch.errors import ConflictError, HpcBatchError, UnknownQueueError
from hpcbatch.model.queue_fields import DEFAULT, VOLCANO_QUEUE, read_change
from hpcbatch.model.row import QueueRow
from hpcbatch.typed import Any

_PUBLISHED_S, _LOOK_S = 15.0, 0.1
_TRIES = 5

Change = Mapping[str, Any]
"""Keys of model.queue_fields."""


class TakenQueueError(HpcBatchError):
    """There is a queue of this name."""


class SiteQueueError(HpcBatchError):
    """The queue stands in the site's file, or is a Volcano Queue: it is not removed here."""


def make_partition(api: Api, name: str, change: Change) -> None:
    """A queue on the default queue's Volcano Queue. Raises TakenQueueError, ForbiddenError,
    or another HpcBatchError."""
    queues = list_queues(api)
    if any(queue.name == name for queue in queues):
        raise TakenQueueError(name)
    default = next((queue.volcano_queue for queue in queues if queue.is_default), "default")
    _write(api, name, lambda found: {**found, VOLCANO_QUEUE: default, **change}, change.get(DEFAULT))
    _wait(api, lambda rows: name in rows)


def change_partition(api: Api, name: str, change: Change) -> None:
    """Raises UnknownQueueError, ForbiddenError, or another HpcBatchError."""
    if not any(queue.name == name for queue in list_queues(api)):
        raise UnknownQueueError(name)
    _write(api, name, lambda found: {**found, **change}, change.get(DEFAULT))
    _wait(api, lambda rows: name not in rows or _shows(rows[name], change))


def remove_partition(api: Api, name: str) -> None:
    """Raises UnknownQueueError, SiteQueueError, ForbiddenError."""
    found = _entries(api)[1].get(name)
    if found is None or not found.get(VOLCANO_QUEUE):
        if any(queue.name == name for queue in list_queues(api)):
            raise SiteQueueError(name)
        raise UnknownQueueError(name)
    _write(api, name, lambda _: None)
    _wait(api, lambda rows: name not in rows)


def forget_partition(api: Api, name: str) -> None:
    """What was changed of a Volcano Queue that has been removed."""
    if name in _entries(api)[1]:
        _write(api, name, lambda _: None)


def is_made(api: Api, name: str) -> bool:
    """Whether operators have made the queue."""
    return bool(_entries(api)[1].get(name, {}).get(VOLCANO_QUEUE))


def _entries(api: Api) -> tuple[str, dict[str, Any]]:
    """And the version of the ConfigMap."""
    configmap = api.get(CONFIGMAPS, PARTITIONS_CONFIGMAP, SYSTEM_NAMESPACE)
    found = {}
    for name, text in (configmap.get("data") or {}).items():
        try:
            found[name] = read_change(text)
        except HpcBatchError:
            found[name] = {}  # the controller has reported it
    return configmap["metadata"]["resourceVersion"], found


def _write(api: Api, name: str, change: Callable[[dict[str, Any]], Change | None], default: bool | None = None) -> None:
    """Replace one entry, whatever others write meanwhile; one default queue takes it from the others."""
    for tried in range(_TRIES):
        version, entries = _entries(api)
        wanted = change(entries.get(name, {}))
        data: dict[str, str | None] = {name: None if wanted is None else json.dumps(wanted)}
        if default:
            data |= {
                other: json.dumps({**entry, DEFAULT: False})
                for other, entry in entries.items()
                if other != name and entry.get(DEFAULT)
            }
        if wanted is not None:
            read_change(data[name] or "")
        try:
            patch = {"metadata": {"resourceVersion": version}, "data": data}
            api.patch(CONFIGMAPS, PARTITIONS_CONFIGMAP, patch, SYSTEM_NAMESPACE)
            return
        except ConflictError:
            if tried == _TRIES - 1:
                raise


def _shows(row: QueueRow, change: Change) -> bool:
    from hpcbatch.model.queue_fields import read_fields

    return all(getattr(row, attribute) == value for attribute, value in read_fields(change).items())


def wait_for_features(api: Api, features: Collection[str]) -> None:
    """Until the controller knows these features of nodes: a job that is submitted next may want one."""
    deadline = time.monotonic() + _PUBLISHED_S
    while not set(features) <= set(list_features(api)) and time.monotonic() < deadline:
        time.sleep(_LOOK_S)


def _wait(api: Api, test: Callable[[Mapping[str, QueueRow]], bool]) -> None:
    """Until the controller has published it: what is asked next sees it. A controller that is away does it later."""
    deadline = time.monotonic() + _PUBLISHED_S
    while not test({row.name: row for row in list_queues(api)}) and time.monotonic() < deadline:
        time.sleep(_LOOK_S)
