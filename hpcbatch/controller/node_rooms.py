"""What the nodes have and what is used of it, counted at most once in a while."""

from __future__ import annotations

import time
from collections.abc import Sequence

from hpcbatch.api.informer import Informer
from hpcbatch.policy.views import node_rooms
from hpcbatch.policy.waiting import NodeRoom

_KEPT_S = 1.0


class NodeRooms:
    """Counting all pods for each of many waiting jobs would be quadratic."""

    def __init__(self, nodes: Informer, pods: Informer) -> None:
        self._nodes, self._pods = nodes, pods
        self._counted: tuple[float, Sequence[NodeRoom]] = (-_KEPT_S, ())

    def get(self) -> Sequence[NodeRoom]:
        """The nodes that take pods, a moment old at most."""
        counted, rooms = self._counted
        if time.monotonic() - counted > _KEPT_S:
            rooms = node_rooms(self._nodes.items(), self._pods.items())
            self._counted = time.monotonic(), rooms
        return rooms
