"""Which queue a name in a script means: the queue's own name, or one of its aliases."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from hpcbatch.typed import Protocol, TypeVar


class Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def aliases(self) -> tuple[str, ...]: ...


_Q = TypeVar("_Q", bound=Named)


def queue_of(name: str, queues: Sequence[_Q]) -> _Q | None:
    """Names go first, then aliases without patterns, then patterns, each in the order of `queues`."""
    for queue in queues:
        if queue.name == name:
            return queue
    for queue in queues:
        if name in queue.aliases:
            return queue
    return next((queue for queue in queues if any(fnmatchcase(name, alias) for alias in queue.aliases)), None)
