"""Volcano and kubelets that cost next to nothing: Volcano Jobs get nodes at once, and their pods run for a while."""

from __future__ import annotations

import heapq
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import cycle
from typing import NamedTuple, TypeVar

from hpcbatch.api.informer import Informer
from hpcbatch.api.port import Api, Object, WatchEvent
from hpcbatch.api.resources import PODS, VOLCANO_JOBS
from hpcbatch.errors import ConflictError, NotFoundError
from hpcbatch.units import rfc3339
from hpcbatch.volcano.job_objects import build_pod

_LOG = logging.getLogger(__name__)
_AT_ONCE = 8
"""Jobs that are placed or ended together: a real API server takes its time for each request."""
_T = TypeVar("_T")


class _End(NamedTuple):
    at: float
    namespace: str
    job: str
    pods: Sequence[Object]
    began_s: int


class PlacesAtOnce:
    """Looks at no node's room: what it costs does not grow with nodes or jobs. Reports what the runner would."""

    def __init__(self, api: Api, nodes: Sequence[str], run_s: float = 1.0) -> None:
        self._api, self._run_s, self._nodes = api, run_s, cycle(nodes)
        self._ends: list[_End] = []
        self._changed = threading.Condition()
        self._is_stopping = False
        self._pool = ThreadPoolExecutor(_AT_ONCE, "played")
        self._jobs = Informer(api, VOLCANO_JOBS, on_event=self._on_job)
        self._thread = threading.Thread(target=self._run, name="played-ends", daemon=True)
        self.placed: list[str] = []
        """Names of the Volcano Jobs, about in the order in which they got nodes."""

    def start(self) -> None:
        self._jobs.start()
        self._thread.start()

    def stop(self) -> None:
        self._jobs.stop()
        with self._changed:
            self._is_stopping = True
            self._changed.notify()
        self._thread.join(10)
        self._pool.shutdown(cancel_futures=True)

    def _on_job(self, event: WatchEvent) -> None:
        if event.type == "ADDED" and "deletionTimestamp" not in event.object["metadata"]:
            self._pool.submit(self._try, self._place, event.object)

    def _try(self, act: Callable[[_T], None], what: _T) -> None:
        try:
            act(what)
        except (NotFoundError, ConflictError):
            pass  # taken back or deleted meanwhile
        except Exception:
            _LOG.exception("playing the cluster")

    def _place(self, job: Object) -> None:
        namespace, name = job["metadata"]["namespace"], job["metadata"]["name"]
        self._phase(namespace, name, "Pending")
        began_s = int(time.time())
        pods = []
        for task in job["spec"]["tasks"]:
            for index in range(task["replicas"]):
                pod = build_pod(job, task, index, ())
                pod["spec"]["nodeName"] = next(self._nodes)
                pods.append(self._api.create(PODS, pod, namespace))
        for pod in pods:
            self._status(pod, "Running", {"running": {"startedAt": _time(began_s)}}, is_ready=True)
        self._phase(namespace, name, "Running")
        self.placed.append(name)
        with self._changed:
            heapq.heappush(self._ends, _End(time.monotonic() + self._run_s, namespace, name, pods, began_s))
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._is_stopping and not (self._ends and self._ends[0].at <= time.monotonic()):
                    self._changed.wait(self._ends[0].at - time.monotonic() if self._ends else None)
                if self._is_stopping:
                    return
                end = heapq.heappop(self._ends)
            self._pool.submit(self._try, self._end, end)

    def _end(self, end: _End) -> None:
        now_s = int(time.time())
        report = f"exit_code=0\nwalltime_s=1\ncpu_s=0\nstarted={end.began_s}\nended={now_s}\nsession_id=1\n"
        for pod in end.pods:
            ended = {"exitCode": 0, "reason": "Completed", "message": report}
            ended |= {"startedAt": _time(end.began_s), "finishedAt": _time(now_s)}
            self._status(pod, "Succeeded", {"terminated": ended}, is_ready=False)
        self._phase(end.namespace, end.job, "Completed")

    def _phase(self, namespace: str, name: str, phase: str) -> None:
        self._api.patch(VOLCANO_JOBS, name, {"status": {"state": {"phase": phase}}}, namespace, subresource="status")

    def _status(self, pod: Object, phase: str, state: Object, *, is_ready: bool) -> None:
        meta, name = pod["metadata"], pod["spec"]["containers"][0]["name"]
        entry = {"name": name, "image": "x", "imageID": "", "ready": is_ready, "restartCount": 0, "state": state}
        placed = {"type": "PodScheduled", "status": "True", "lastTransitionTime": _time(int(time.time()))}
        status = {"phase": phase, "conditions": [placed], "containerStatuses": [entry]}
        self._api.patch(PODS, meta["name"], {"status": status}, meta["namespace"], subresource="status")


def _time(at_s: int) -> str:
    return rfc3339(datetime.fromtimestamp(at_s, UTC))
