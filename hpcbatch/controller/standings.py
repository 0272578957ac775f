"""The jobs that have not ended, as limits of submission count them: those of the events, and those admitted since.

A job that has ended costs nothing: there may be ten thousands of their records.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from hpcbatch.api.informer import Informer, object_key
from hpcbatch.api.port import Object, WatchEvent
from hpcbatch.model.indices import Indices
from hpcbatch.model.state import WAITING, JobState
from hpcbatch.policy.account_limits import Standing
from hpcbatch.policy.owners import count_resource
from hpcbatch.record.batchjob import altered_spec
from hpcbatch.record.rows import UNREADABLE

_MIB = 2**20


class Standings:
    """Whoever admits a job that a limit concerns holds `lock` from counting until the record is written."""

    def __init__(self, batchjobs: Informer) -> None:
        self._batchjobs = batchjobs
        self.lock = threading.RLock()
        self._admitted: dict[tuple[str, str], Object] = {}
        self._known: dict[tuple[str, str], Standing] = {}
        self._of_events = threading.Lock()

    def add(self, obj: Object) -> None:
        """A record that was admitted just now."""
        self._admitted[object_key(obj)] = obj

    def on_event(self, event: WatchEvent) -> None:
        """It is known by its event now, or it is gone."""
        key = object_key(event.object)
        standing = None if event.type == "DELETED" else _readable_standing(event.object)
        with self._of_events:
            if standing is None:
                self._known.pop(key, None)
            else:
                self._known[key] = standing
        if event.type == "DELETED" or "jobId" in event.object.get("status", {}):
            self._admitted.pop(key, None)

    def others(self) -> Sequence[Standing]:
        """Of all jobs that have not ended; the members of an array stand in it."""
        for key, admitted in tuple(self._admitted.items()):
            cached = self._batchjobs.get(*key)  # its event may have come before its writer's answer
            is_seen = cached is not None and "jobId" in cached.get("status", {})
            is_over = cached is not None and is_seen and _readable_standing(cached) is None
            is_another = cached is not None and cached["metadata"]["uid"] != admitted["metadata"]["uid"]
            if key in self._known or is_over or is_another:
                self._admitted.pop(key, None)
        with self._of_events:
            known = list(self._known.values())
        return [*known, *(found for obj in tuple(self._admitted.values()) if (found := _standing(obj)) is not None)]


def _readable_standing(obj: Object) -> Standing | None:
    try:
        return _standing(obj)
    except UNREADABLE:  # it is set aside, and counts for nothing
        return None


def _standing(obj: Object) -> Standing | None:
    """None of one that is not admitted, has ended, or is a member of an array. Reads what it needs alone: there may be
    ten thousands of these.
    """
    status: Mapping[str, Any] = obj.get("status", {})
    if "jobId" not in status or "memberOf" in obj["spec"]:
        return None
    state = JobState(status["state"])
    if state.is_final:
        return None
    spec = altered_spec(obj["spec"], status.get("altered", {}))
    attributes = spec.get("attributes", {})
    jobs, waiting = 1, int(state in WAITING)
    if array := status.get("array"):
        waiting = len(Indices.parse(array.get("pending", "")))
        jobs = waiting + len(Indices.parse(array.get("active", "")))
    return _made(
        user=str(status.get("owner", "")),
        groups=tuple(str(each["name"]) for each in status.get("groups", ())),
        project=str(attributes.get("project", "")),
        account=str(spec.get("account", "")),
        qos=str(attributes.get("qos", "")),
        queue=str(status.get("queue", "")),
        jobs=jobs,
        waiting=waiting,
        uses=tuple(_uses(status.get("layout") or spec.get("chunks", ())).items()),
        walltime_s=status.get("walltimeSeconds"),
    )


@lru_cache(maxsize=1000)
def _made(*, uses: tuple[tuple[str, int], ...], **named: Any) -> Standing:
    """Equal ones are one: most jobs of a user have the same."""
    return Standing(uses=dict(uses), **named)


def _uses(chunks: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    uses = {"cpu": 0, "mem": 0, "node": 0}
    for chunk in chunks:
        count = int(chunk.get("count", 1))
        uses["node"] += count
        uses["cpu"] += count * int(chunk.get("cpus", 1))
        uses["mem"] += count * (int(chunk.get("memBytes", 0)) // _MIB)
        for name, amount in chunk.get("resources", {}).items():
            count_resource(uses, name, count * int(amount))
    return uses
