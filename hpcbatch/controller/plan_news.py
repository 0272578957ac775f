"""Which changes of started jobs the plan has to be made anew for: not for what they merely show."""

from __future__ import annotations

from typing import Final

from hpcbatch.api.informer import object_key
from hpcbatch.api.port import Object, WatchEvent
from hpcbatch.model.state import WAITING, JobState

_SHOWN: Final = frozenset(
    {
        "cpuUsedSeconds",
        "dueSince",
        "hosts",
        "maxRssBytes",
        "message",
        "reason",
        "row",
        "rowMark",
        "runCount",
        "sessionId",
        "state",
        "stepCount",
        "steps",
        "summary",
        "usage",
        "volcanoJob",
    }
)
"""Fields of the status that say nothing to the plan while the job has been released and has not ended."""

Key = tuple[str, str]


class PlanNews:
    def __init__(self) -> None:
        self._released: dict[Key, Object] = {}

    def is_new(self, event: WatchEvent) -> bool:
        """Of a BatchJob; to be asked once for each event."""
        key, obj = object_key(event.object), event.object
        if event.type == "DELETED" or not _is_released(obj):
            self._released.pop(key, None)
            return True
        before, self._released[key] = self._released.get(key), obj
        return before is None or before["spec"] != obj["spec"] or _facts(before) != _facts(obj)


def _is_released(obj: Object) -> bool:
    status = obj.get("status") or {}
    state = JobState(status["state"]) if "state" in status else None
    if state is None or state.is_final or "array" in obj["spec"]:
        return False
    return bool(status.get("volcanoJob")) or state not in WAITING


def _facts(obj: Object) -> Object:
    return {name: value for name, value in obj["status"].items() if name not in _SHOWN}
