"""A watch of the BatchJobs in the tester's own process: who waits for a job looks at it when it has changed, and not
again and again. What the case then checks, a command has shown.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from hpcbatch.api import kubeconfig
from hpcbatch.api.client import HttpApi
from hpcbatch.api.informer import Informer
from hpcbatch.api.port import WatchEvent
from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.dialects.pbs.states import LETTER
from hpcbatch.model.state import JobState

T = TypeVar("T")
LOOK_AGAIN_S = 5.0
"""A watch is late when its API server has been started anew, and a job may have moved to the history."""
_FINAL = {state.value for state in JobState if state.is_final}
_LETTER = {state.value: letter for state, letter in LETTER.items()}


class Seen(NamedTuple):
    state: str
    """`status.state`; "" while no job with this number was seen, and when it is gone."""
    changes: int

    def may_be(self, letters: str) -> bool:
        """Whether the job, which is no array, can be in one of these PBS states, or has ended without that."""
        return self.state in _FINAL or self.state == "" or _LETTER[self.state] in letters


class JobsWatch:
    """All users' jobs, by number."""

    def __init__(self, admin_env: Mapping[str, str]) -> None:
        self._changed = threading.Condition()
        self._seen: dict[str, Seen] = {}
        self._api = HttpApi(kubeconfig.load(admin_env))
        self._informer = Informer(self._api, BATCHJOBS, on_event=self._take)
        self._informer.start()

    def close(self) -> None:
        self._informer.stop()
        self._api.close()

    def unfinished(self, namespace: str) -> list[str]:
        """Numbers of the jobs there that have not ended; the API server is asked."""
        found = [job.get("status", {}) for job in self._api.list(BATCHJOBS, namespace).items]
        return [status["jobId"] for status in found if "jobId" in status and status.get("state") not in _FINAL]

    def _take(self, event: WatchEvent) -> None:
        status = event.object.get("status", {})
        if number := status.get("jobId"):
            with self._changed:
                state = "" if event.type == "DELETED" else str(status.get("state", ""))
                self._seen[number] = Seen(state, self.seen(number).changes + 1)
                self._changed.notify_all()

    def seen(self, number: str) -> Seen:
        with self._changed:
            return self._seen.get(number, Seen("", 0))

    def wait_for(self, job: str, letters: str, look: Callable[[], T], limit_s: float) -> T:
        """What `look` answers when that is true, else its last answer after `limit_s`. It is asked when the watch shows
        something new of the job, or of the array whose member `job` is, by which it may be in one of these PBS states.
        """
        number = re.split(r"\D", job, maxsplit=1)[0]
        give_up = time.monotonic() + limit_s
        has_changed = True
        while True:
            seen = self.seen(number)
            if (not has_changed or job != number or seen.may_be(letters)) and (answer := look()):
                return answer
            left_s = give_up - time.monotonic()
            if left_s < 0:
                return look()
            has_changed = self._wait_change(number, seen, min(left_s, LOOK_AGAIN_S))

    def _wait_change(self, number: str, before: Seen, limit_s: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self.seen(number) != before, limit_s)


class Unwatched:
    """Where no watch lasts, since the API server is killed: what waits asks again and again."""

    def wait_for(self, job: str, letters: str, look: Callable[[], T], limit_s: float) -> T:
        del job, letters
        give_up = time.monotonic() + limit_s
        while not (answer := look()) and time.monotonic() < give_up:
            time.sleep(0.1)
        return answer
