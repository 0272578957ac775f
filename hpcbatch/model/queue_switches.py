"""What operators have switched off of queues: whether one takes jobs, whether its jobs are started. The switches lie
in annotations of the Volcano Queue, since several queues may share one: `disabled.hpcbatch.io/QUEUE: "true"`.
"""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.typed import Any, NamedTuple

DISABLED = "disabled.hpcbatch.io/"
STOPPED = "stopped.hpcbatch.io/"
IDLE = "hpcbatch.io/idle"
"""Of the whole Volcano Queue: no job of any queue is started. PBS's server attribute `scheduling` sets it on all."""


class Switches(NamedTuple):
    """Of one Volcano Queue."""

    is_open: bool = True
    """Volcano's own state. A queue that is not open takes no jobs and starts none, whatever else is switched."""
    disabled: frozenset[str] = frozenset()
    """Names of queues that take no jobs."""
    stopped: frozenset[str] = frozenset()
    """Names of queues whose jobs are not started."""
    is_idle: bool = False
    """No job is started, though the queues are: the server does not schedule."""

    def takes(self, queue: str) -> bool:
        return self.is_open and queue not in self.disabled

    def starts(self, queue: str) -> bool:
        return self.is_open and queue not in self.stopped


NONE_SUCH = Switches(is_open=False)


def switches_of(volcano_queue: Mapping[str, Any]) -> Switches:
    """A Volcano Queue that Volcano has not reconciled yet is open."""
    notes = volcano_queue["metadata"].get("annotations") or {}
    off: dict[str, list[str]] = {DISABLED: [], STOPPED: []}
    for name, value in notes.items():
        prefix, slash, queue = name.partition("/")
        if prefix + slash in off and value == "true":
            off[prefix + slash].append(queue)
    is_open = ((volcano_queue.get("status") or {}).get("state") or "Open") == "Open"
    return Switches(is_open, frozenset(off[DISABLED]), frozenset(off[STOPPED]), notes.get(IDLE) == "true")
