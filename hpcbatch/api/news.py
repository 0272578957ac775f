"""Which events of a watch tell something new to who asks: not those that change nothing that he looks at."""

from __future__ import annotations

from hpcbatch.api.informer import Key, object_key
from hpcbatch.api.port import WatchEvent


class News:
    """What was last seen of each object of one kind."""

    def __init__(self) -> None:
        self._seen: dict[Key, object] = {}

    def is_new(self, event: WatchEvent, facts: object) -> bool:
        """`facts`: the parts of the object that count. To be asked once for each event."""
        key = object_key(event.object)
        if event.type == "DELETED":
            self._seen.pop(key, None)
            return True
        before, self._seen[key] = self._seen.get(key), facts
        return facts != before
