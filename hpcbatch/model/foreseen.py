"""The reply to a job that is only tested: when and where it would start."""

from __future__ import annotations

import json
from datetime import datetime

from hpcbatch.errors import HpcBatchError
from hpcbatch.typed import NamedTuple
from hpcbatch.units import parse_rfc3339, rfc3339


class Foreseen(NamedTuple):
    job_id: int
    """The number that it would have."""
    queue: str
    cpus: int
    start: datetime | None = None
    """None: nobody knows."""
    nodes: tuple[str, ...] = ()
    never_fits: bool = False
    """Not even if all nodes were empty."""
    preempts: tuple[int, ...] = ()
    """Numbers of the jobs that would be ended for it."""

    def text(self) -> str:
        start = None if self.start is None else rfc3339(self.start)
        return json.dumps({**self._asdict(), "start": start})

    @classmethod
    def read(cls, text: str) -> Foreseen:
        """The reverse of `text`. Raises HpcBatchError for any other."""
        try:
            found = json.loads(text)
            start = None if found["start"] is None else parse_rfc3339(found["start"])
            nodes, never_fits = tuple(map(str, found["nodes"])), bool(found.get("never_fits"))
            preempts = tuple(map(int, found.get("preempts", ())))
            return cls(
                int(found["job_id"]), str(found["queue"]), int(found["cpus"]), start, nodes, never_fits, preempts
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            raise HpcBatchError(f"the controller's reply cannot be read: {text[:200]!r}") from None
