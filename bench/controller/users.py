"""`python -m bench.controller.users`: many users at once, in a process of its own. Prints what became of it as JSON.

Each user submits at even intervals, whether the last submission has been answered or not, unless AT_ONCE of them wait
for their answers (at a rate of 0: one after the other, as fast as they are answered); and lists his jobs each second.
Every other user submits as `qsub` does, who would rather hear that the server is busy, the others as `sbatch`.
All use the modules that `qsub` and `qstat` use, with as many connections as they need.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from bench.controller.rig import USERS, made_submission
from hpcbatch.api import kubeconfig
from hpcbatch.api.client import HttpApi
from hpcbatch.cli.submission import QUIET_S
from hpcbatch.client.listing import list_present_rows
from hpcbatch.client.submit import submit
from hpcbatch.errors import BusyError, HpcBatchError, RefusedError, UnreachableError

AT_ONCE = 8
"""Submissions of one user that wait for their answers."""
NOT_BEGUN = "not begun: others wait"
_LIST_S = 1.0


class Call(NamedTuple):
    what: str
    outcome: str
    """`answer`, `try again`, or the error that is neither."""
    took_s: float
    job_id: int = 0
    user: str = ""
    first_s: float = 0.0
    """Of a submission: until its answer, or until the command says that it waits."""


class Users:
    def __init__(self, kubeconfigs: str, users: Sequence[str], rate: float, seconds: float) -> None:
        """`kubeconfigs`: a user's, with {user} for the name. `rate`: submissions a second of all these users together;
        0: each submits one after the other.
        """
        self._kubeconfigs = kubeconfigs
        self._users, self._every_s, self._seconds = users, len(users) / rate if rate else 0.0, seconds
        self._submission = made_submission()
        self.calls: list[Call] = []

    def run(self) -> None:
        began = time.monotonic()
        threads = [threading.Thread(target=act, args=(user, began)) for user in self._users for act in self._acts()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _api(self, user: str) -> HttpApi:
        return HttpApi(kubeconfig.load({"KUBECONFIG": self._kubeconfigs.format(user=user)}))

    def _acts(self) -> tuple[Callable[[str, float], None], ...]:
        return self._submit, self._list

    def _submit(self, user: str, began: float) -> None:
        if not self._every_s:
            api = self._api(user)
            while time.monotonic() < began + self._seconds:
                self._submit_one(api, user)
            return
        local, free = threading.local(), threading.Semaphore(AT_ONCE)

        def one() -> None:
            if not hasattr(local, "api"):
                local.api = self._api(user)
            self._submit_one(local.api, user)
            free.release()

        due = began + self._every_s * (self._users.index(user) + 1) / len(self._users)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            while due < began + self._seconds:
                time.sleep(max(0.0, due - time.monotonic()))
                if free.acquire(blocking=False):
                    pool.submit(one)
                else:
                    self.calls.append(Call("submit", NOT_BEGUN, 0.0, user=user))
                due += self._every_s

    def _submit_one(self, api: HttpApi, user: str) -> None:
        said: list[float] = []
        timer = threading.Timer(QUIET_S, lambda: said.append(time.monotonic()))
        began = time.monotonic()
        timer.start()
        try:
            self._call(
                "submit", user, lambda: submit(api, user, self._submission, is_hasty=is_hasty(user)).job_id, began, said
            )
        finally:
            timer.cancel()

    def _list(self, user: str, began: float) -> None:
        api = self._api(user)
        due = began
        while due < began + self._seconds:
            time.sleep(max(0.0, due - time.monotonic()))
            self._call("list", user, lambda: len(list_present_rows(api, user)))
            due = max(due + _LIST_S, time.monotonic())

    def _call(
        self, what: str, user: str, act: Callable[[], int], before: float | None = None, said: Sequence[float] = ()
    ) -> None:
        """`said`: when the command has said that it waits."""
        before, number = before or time.monotonic(), 0
        try:
            number = act()
            outcome = "answer"
        except RefusedError as refused:
            outcome = f"refused: {refused}"
        except (BusyError, UnreachableError):
            outcome = "try again"
        except HpcBatchError as error:
            outcome = str(error)
        except Exception as error:
            outcome = f"{type(error).__name__}: {error}"
        took_s = time.monotonic() - before
        first_s = said[0] - before if said else took_s
        self.calls.append(Call(what, outcome, took_s, number if what == "submit" else 0, user, first_s))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kubeconfigs", help="of a user, with {user} for the name")
    parser.add_argument("--users", nargs="+", required=True)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    asked = parser.parse_args()
    users = Users(asked.kubeconfigs, asked.users, asked.rate, asked.seconds)
    users.run()
    print(json.dumps({"calls": users.calls, "cpu_s": time.process_time()}))


def answered_by_user(calls: Sequence[Call]) -> list[int]:
    """How many submissions of each were answered, the fewest first."""
    found = dict.fromkeys((call.user for call in calls), 0)
    for call in calls:
        found[call.user] += call.what == "submit" and call.outcome == "answer"
    return sorted(found.values())


def is_hasty(user: str) -> bool:
    return USERS.index(user) % 2 == 0


def first_answers(calls: Sequence[Call]) -> tuple[float, float]:
    """What half and 99 of 100 submissions stay below until their user knows something, whatever that is."""
    times = sorted(call.first_s for call in calls if call.what == "submit" and call.outcome != NOT_BEGUN) or [0.0]
    return times[len(times) // 2], times[min(len(times) * 99 // 100, len(times) - 1)]


def summary(calls: Sequence[Call], what: str) -> tuple[Counter[str], float, float]:
    """Outcomes, and the times that half and 99 of 100 calls with an answer stay below."""
    some = [call for call in calls if call.what == what]
    times = sorted(call.took_s for call in some if call.outcome == "answer") or [0.0]
    return (
        Counter(call.outcome for call in some),
        times[len(times) // 2],
        times[min(len(times) * 99 // 100, len(times) - 1)],
    )


if __name__ == "__main__":
    main()
