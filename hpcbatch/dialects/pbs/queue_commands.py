"""qenable, qdisable, qstart, qstop: their command lines, and what they print of a failure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hpcbatch.dialects.pbs.errors import PbsUsageError
from hpcbatch.errors import ForbiddenError, UnknownQueueError
from hpcbatch.typed import NamedTuple

FAILED = 2


class Switch(NamedTuple):
    enabled: bool | None = None
    started: bool | None = None


SWITCHES: Mapping[str, Switch] = {
    "qdisable": Switch(enabled=False),
    "qenable": Switch(enabled=True),
    "qstart": Switch(started=True),
    "qstop": Switch(started=False),
}


class Destination(NamedTuple):
    """`queue`, `queue@server`, or `@server`: all queues. "" is what was not given."""

    queue: str
    server: str

    def __str__(self) -> str:
        return f"{self.queue}@{self.server}" if self.server else self.queue


def read_destinations(command: str, argv: Sequence[str]) -> list[Destination | str]:
    """The destinations; a text for one that is none. PbsUsageError (exit 1) without any."""
    if not argv:
        raise PbsUsageError("", f"Usage: {command} [queue][@server] ...\n       {command} --version", code=1)
    found: list[Destination | str] = []
    for word in argv:
        queue, at, server = word.partition("@")
        is_one = bool(queue or server) and (not at or bool(server)) and "@" not in server and not queue.startswith("-")
        found.append(Destination(queue, server) if is_one else f"illegally formed destination: {word}")
    return found


def failure(error: UnknownQueueError | ForbiddenError, destination: Destination) -> str:
    """Without the command's name; on a line of its own what Kubernetes says."""
    if isinstance(error, UnknownQueueError):
        return f"Unknown queue {destination}"
    return f"Unauthorized Request  {destination}\n{' '.join(str(error).split())}"
