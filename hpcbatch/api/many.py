"""Many objects by their paths: requests are sent ahead on a few connections, so that nobody waits for each answer.

For what may be read by name only, as the Secrets of jobs: users must not list those.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence

from hpcbatch.api.port import Object
from hpcbatch.api.transport import Wire
from hpcbatch.errors import HpcBatchError, NotFoundError

_CONNECTIONS = 4
_AHEAD = 16
"""Requests that are sent together: so few that they fit into the buffers of a server that does not read meanwhile."""


def get_many(
    paths: Sequence[str],
    open_wire: Callable[[], Wire],
    headers: Callable[[], Mapping[str, str]],
    get: Callable[[str], Object],
) -> Iterator[Object | None]:
    """The objects at `paths`, in this order; None for one that does not exist. What does not come at once, because a
    connection broke, the server is busy, or it refuses, is requested by `get`, which reads one object and raises.
    """
    parts = [paths[first : first + _AHEAD] for first in range(0, len(paths), _AHEAD)]
    wires: list[Wire | None] = [None] * _CONNECTIONS

    def close(slot: int) -> None:
        if (wire := wires[slot]) is not None:
            wires[slot] = None
            wire.close()

    def send(index: int) -> None:
        slot = index % _CONNECTIONS
        try:
            wire = wires[slot]
            if wire is None:
                wire = wires[slot] = open_wire()
            wire.send_ahead(parts[index], headers())
        except (OSError, HpcBatchError):
            close(slot)

    def receive(slot: int) -> Object | None:
        wire = wires[slot]
        if wire is None:
            return None
        try:
            response = wire.receive()
            content = response.read()
            found = json.loads(content) if response.status == 200 else None
        except (OSError, ValueError):
            close(slot)
            return None
        if not wire.is_usable:
            close(slot)
        return found if isinstance(found, dict) else None

    try:
        for index in range(min(_CONNECTIONS, len(parts))):
            send(index)
        for index, part in enumerate(parts):
            for path in part:
                found = receive(index % _CONNECTIONS)
                if found is None:
                    try:
                        found = get(path)
                    except NotFoundError:
                        pass
                yield found
            if index + _CONNECTIONS < len(parts):
                send(index + _CONNECTIONS)
    finally:
        for slot in range(_CONNECTIONS):
            close(slot)
