"""What running jobs have used so far, for qstat and sacct, and the steps that they have begun.

Pods do not call the API. A runner writes its pod's usage now and then into the pod's log, which holds none of the
job's own output; the controller reads the ends of these logs through the API server, one after the other. So it needs
no access to nodes, whose proxy reaches every pod, and no metrics server, which has no CPU time.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from hpcbatch.api.informer import object_key
from hpcbatch.api.port import Object, WatchEvent
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.record import HostUsage
from hpcbatch.model.state import JobState
from hpcbatch.volcano.step_report import NO_STEPS, StepReport, last_words

_LOG = logging.getLogger(__name__)
_LOOK_S: Final = 1.0
_BETWEEN_READS_S: Final = 0.02
"""Pause between two logs: with many jobs the figures get older, but the API server no busier."""
_OFTEN_S, _SELDOM_S = 2.0, 60.0
_READS_PER_S: Final = 5.0
"""Of all jobs together: a runner tells at once that a step of srun has begun, and seldom what it has used."""
_LINE = re.compile(r"hpcbatch: usage cpu_s=(\d{1,12}) max_rss_bytes=(\d{1,18})")

Key = tuple[str, str]
ReadLog = Callable[[Object], str]
"""Returns the end of the log of a pod's container `main`. Raises HpcBatchError."""


class Seen(NamedTuple):
    start_time: str
    """Start of the run: another run has used nothing of it."""
    usage: tuple[HostUsage, ...]
    steps: Mapping[str, StepReport]
    """By pod: what it said last of the steps of srun."""


_NOTHING = Seen("", (), {})


class LiveUsage:
    """`pods_of` returns a job's running pods; `wake` is called with a job that has new usage."""

    def __init__(
        self,
        read_log: ReadLog,
        pods_of: Callable[[Object], Iterable[Object]],
        wake: Callable[[Key], None],
    ) -> None:
        self._read_log, self._pods_of, self._wake = read_log, pods_of, wake
        self._lock = threading.Lock()
        self._running: dict[Key, Object] = {}
        """By events: to look through thousands that wait each second would be most of what they cost at rest."""
        self._seen: dict[Key, Seen] = {}
        self._next_look: dict[Key, float] = {}
        self._stopping = threading.Event()
        self.thread = threading.Thread(target=self._work, name="batchjobs-usage", daemon=True)

    def stop(self) -> None:
        self._stopping.set()

    def on_batchjob(self, event: WatchEvent) -> None:
        key = object_key(event.object)
        with self._lock:
            if event.type != "DELETED" and is_running(event.object):
                self._running[key] = event.object
            else:
                self._running.pop(key, None)

    def of(self, obj: Object) -> tuple[HostUsage, ...]:
        """The known usage of the job's current run, by pod."""
        return self._of_run(obj).usage

    def steps_of(self, obj: Object) -> Mapping[str, StepReport]:
        """What the pods of the job's current run have said of its steps, by pod."""
        return self._of_run(obj).steps

    def last_steps(self, pod: Object) -> StepReport:
        """The last word of the pod's log on the steps: a termination message has no room for all."""
        try:
            return last_words(self._read_log(pod))
        except HpcBatchError as error:
            _LOG.debug("log of pod %s: %s", pod["metadata"]["name"], error)
            return NO_STEPS

    def _of_run(self, obj: Object) -> Seen:
        seen = self._seen.get(object_key(obj))
        return seen if seen is not None and seen.start_time == obj["status"].get("startTime") else _NOTHING

    def _work(self) -> None:
        while not self._stopping.wait(_LOOK_S):
            try:
                self._look()
            except Exception:
                _LOG.exception("usage of running jobs")

    def _look(self) -> None:
        with self._lock:
            running = dict(self._running)
        for known in (self._seen, self._next_look):
            for key in [key for key in known if key not in running]:
                del known[key]
        pause_s = between_looks_s(sum(len(obj["status"].get("hosts") or [None]) for obj in running.values()))
        for key, obj in running.items():
            # not at once: nothing is logged yet, and short jobs need no request
            if self._next_look.setdefault(key, time.monotonic() + _OFTEN_S) > time.monotonic():
                continue
            found = self._read(obj)
            self._next_look[key] = time.monotonic() + pause_s
            if found.usage and found != self._of_run(obj):
                self._seen[key] = found
                self._wake(key)

    def _read(self, obj: Object) -> Seen:
        before = self._of_run(obj)
        found, steps = {one.pod: one for one in before.usage}, dict(before.steps)
        for pod in self._pods_of(obj):
            if self._stopping.wait(_BETWEEN_READS_S):
                break
            name = pod["metadata"]["name"]
            try:
                log = self._read_log(pod)
            except HpcBatchError as error:
                _LOG.debug("log of pod %s: %s", name, error)
                continue
            usage, words = last_usage(name, log), last_words(log)
            if usage is not None:
                found[name] = usage
            if words.total or words.spent:
                steps[name] = words
        return Seen(obj["status"]["startTime"], tuple(found.values()), steps)


def between_looks_s(pods: int) -> float:
    """After how many seconds a job is looked at again, where so many pods run."""
    return min(max(pods / _READS_PER_S, _OFTEN_S), _SELDOM_S)


def is_running(obj: Object) -> bool:
    status = obj.get("status", {})
    return status.get("state") == JobState.RUNNING and "startTime" in status and "array" not in obj["spec"]


def last_usage(pod: str, log: str) -> HostUsage | None:
    """The last usage in a runner's log; None if there is none yet."""
    found = _LINE.findall(log)
    return HostUsage(pod=pod, cpu_s=int(found[-1][0]), max_rss_bytes=int(found[-1][1])) if found else None
