"""Starts under overload: do nodes stay empty while more is submitted than the controller can admit? The API is in this
process, and each of the controller's requests takes as long as on a busy API server. So the machine's load counts
little.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import NamedTuple, TypeVar

from bench.controller.played import PlacesAtOnce
from bench.controller.rig import USERS, furnished, made_submission, put_job
from bench.controller.users import AT_ONCE
from hpcbatch.api.informer import Informer, Key, object_key
from hpcbatch.api.port import Api, WatchEvent
from hpcbatch.api.resources import BATCHJOBS, Resource
from hpcbatch.controller.controller import Controller
from hpcbatch.controller.guarded import GuardedApi
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.site.file import CLUSTER_DEFAULTS

_NODES, _CPUS, _RUN_S = 8, 2, 5.0
_ANSWERS_S = (0.03, 0.1)
_WORKERS = (8, 12)
_BEGIN_S, SECONDS = 10.0, 30.0
_T = TypeVar("_T")


class SlowApi(GuardedApi):
    """Each request but lists and watches takes `answer_s` more."""

    def __init__(self, api: Api, answer_s: float) -> None:
        super().__init__(api)
        self._answer_s = answer_s

    def _counted(self, verb: str, resource: Resource, call: Callable[[], _T]) -> _T:
        if verb not in {"list", "watch"}:
            time.sleep(self._answer_s)
        return super()._counted(verb, resource, call)


class Submitters:
    """Each user has AT_ONCE submissions that wait for their answers, as in `overload`: after each answer the next."""

    def __init__(self, registry: Registry) -> None:
        self._registry, self._numbers, self._submission = registry, count(), made_submission()
        self._answered: set[Key] = set()
        self._jobs = Informer(registry, BATCHJOBS, on_event=self._on_job)

    @property
    def answered(self) -> int:
        return len(self._answered)

    def start(self) -> None:
        self._jobs.start()
        for user in USERS * AT_ONCE:
            self._submit(user)

    def stop(self) -> None:
        self._jobs.stop()

    def _submit(self, user: str) -> None:
        name = f"pbs-{next(self._numbers)}"
        put_job(self._registry, user, name, self._submission)

    def _on_job(self, event: WatchEvent) -> None:
        key = object_key(event.object)
        if "jobId" in event.object.get("status", {}) and key not in self._answered:
            self._answered.add(key)
            self._submit(key[0])


class Counts(NamedTuple):
    answered: int
    """Submissions."""
    placed: int
    """Jobs that got nodes."""


@contextmanager
def overloaded(
    answer_s: float, workers: int, *, nodes: int = _NODES, run_s: float = _RUN_S
) -> Iterator[Callable[[], Counts]]:
    """What has been done since the beginning. Nodes have two CPUs, and jobs take one."""
    names: Sequence[str] = [f"node-{number}" for number in range(nodes)]
    registry = furnished(names, cpus=_CPUS)
    volcano, users = PlacesAtOnce(registry, names, run_s), Submitters(registry)
    controller = Controller(SlowApi(registry, answer_s), CLUSTER_DEFAULTS, workers=workers)
    parts = (volcano, controller, users)
    for part in parts:
        part.start()
    try:
        yield lambda: Counts(users.answered, len(volcano.placed))
    finally:
        for part in reversed(parts):
            part.stop()


def main(seconds: float = SECONDS) -> None:
    print(f"there is room for {_NODES * _CPUS / _RUN_S:.1f} jobs a second, if each were started when another ends")
    for answer_s in _ANSWERS_S:
        for workers in _WORKERS:
            with overloaded(answer_s, workers) as done:
                time.sleep(_BEGIN_S)
                before, began = done(), time.monotonic()
                time.sleep(seconds)
                after, took_s = done(), time.monotonic() - began
            answered, placed = ((now - then) / took_s for now, then in zip(after, before, strict=True))
            print(
                f"requests take {answer_s * 1000:.0f} ms, {workers} workers: "
                f"{answered:.1f} submissions a second were answered, and {placed:.2f} jobs got nodes",
                flush=True,
            )
