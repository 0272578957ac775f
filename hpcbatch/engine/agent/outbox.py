"""What the agent has for the pod host: in its order, and only when all that led to it is on disk."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from hpcbatch.errors import ApiError

_LOG = logging.getLogger(__name__)
_AGAIN_S: Final = 1.0
_UNSEEN: Final = frozenset({"pod", "remove"})
"""What no process of a pod sees. What begins or ends them, or tells them to go on, a new engine must know of, not to
run a job twice.
"""

Message = dict[str, Any]


class Outbox:
    """`flush` returns when everything is on disk, or raises ApiError; `after` calls later, in the agent's thread."""

    def __init__(
        self,
        flush: Callable[[], None],
        send: Callable[[Message], None],
        after: Callable[[float, Callable[[], None]], None],
    ) -> None:
        self._flush, self._send, self._after = flush, send, after
        self._waiting: list[Message] = []

    def send(self, message: Message) -> None:
        self._waiting.append(message)
        if len(self._waiting) == 1:
            self._send_all()

    def forget(self) -> None:
        """The pod host that the messages were for is gone."""
        self._waiting.clear()

    def _send_all(self) -> None:
        if any(message["op"] not in _UNSEEN for message in self._waiting):
            try:
                self._flush()
            except ApiError as error:
                _LOG.warning("the pod host waits: %s", error)
                self._after(_AGAIN_S, self._send_all)
                return
        waiting, self._waiting = self._waiting, []
        for message in waiting:
            self._send(message)
