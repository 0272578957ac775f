"""Twenty users, many submissions and listings a second, and controllers that are killed now and then."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

from bench.controller.kubernetes_rig import KubernetesRig
from bench.controller.rig import USERS, ControllerProcess, Rig, rig
from bench.controller.users import NOT_BEGUN, Call, answered_by_user, first_answers, is_hasty, summary
from tests.postgres import postgres
from tests.waiting import wait_for

RATE, SECONDS, NODES = 50.0, 300.0, 500
_LEASE = ("--lease-duration", "4", "--renew-deadline", "2.5", "--retry-period", "0.3")
KILL_S = (10.0, 30.0)
NEVER_S = (1e9, 1e9)
_LOOK_S = 10.0
MOVED = "historyMovedAfter: 0s\n"
_PROCESSES = 2
"""Of users: Python runs one thread at a time."""
_LIMIT_S = 1800


class Found(NamedTuple):
    calls: Sequence[Call]
    kills: int
    memory_mib: Sequence[float]
    """Of the controllers together, now and then."""
    left: int
    """Records of jobs in the API when all had ended and moved."""
    placed: Sequence[str]
    """The Volcano Jobs that there were, in order."""
    drained_s: float
    """From the last submission until all jobs had ended."""
    clients_cpu_s: float
    server_cpu_s: float
    """Of this process, with the played cluster, while users submitted."""


def main(rate: float = RATE, seconds: float = SECONDS, nodes: int = NODES, *, kills: bool = True) -> None:
    with rig(nodes, more_of_site=MOVED, run_s=0.5) as running, postgres() as database:
        (running.directory / "dsn").write_text(database.dsn)
        found = overload(running, rate, seconds, KILL_S if kills else NEVER_S)
    tell(found.calls, seconds)
    print(f"CPU: clients {found.clients_cpu_s:.0f} s, API server and played cluster {found.server_cpu_s:.0f} s")
    numbers = [call.job_id for call in found.calls if call.job_id]
    print(f"{found.kills} controllers killed; {len(numbers)} jobs admitted, {len(set(numbers))} numbers")
    print(f"{len(found.placed)} were placed, {len(set(found.placed))} different; all had ended {found.drained_s:.0f} s")
    print(f"after the last submission; {found.left} records were left, the others in PostgreSQL")
    tell_memory(found.memory_mib)


def tell_memory(memory_mib: Sequence[float]) -> None:
    print(f"the controllers' memory, MiB, every {_LOOK_S:.0f} s: {' '.join(f'{one:.0f}' for one in memory_mib)}")


def tell(calls: Sequence[Call], seconds: float) -> None:
    for what in ("submit", "list"):
        outcomes, half_s, most_s = summary(calls, what)
        print(f"{what}: {half_s:.2f} s in the middle, 99 of 100 in {most_s:.2f} s")
        for outcome, count in outcomes.most_common():
            print(f"  {count:7} {outcome}")
    first_half_s, first_most_s = first_answers(calls)
    print(f"until the user knows something: {first_half_s:.2f} s in the middle, 99 of 100 in {first_most_s:.2f} s")
    for dialect, hasty in (("qsub", True), ("sbatch", False)):
        some = [call for call in calls if call.outcome != NOT_BEGUN and is_hasty(call.user) is hasty]
        outcomes, half_s, most_s = summary(some, "submit")
        longest_s = max((call.took_s for call in some if call.what == "submit"), default=0.0)
        print(f"  as {dialect}: {dict(outcomes)}")
        print(
            f"    answers in {half_s:.2f} s in the middle, 99 of 100 in {most_s:.2f}; all was over in {longest_s:.1f}"
        )
    by_user = answered_by_user(calls)
    print(f"submissions answered: {sum(by_user) / seconds:.1f} a second; of a user {by_user[0]} to {by_user[-1]}")


def overload(running: Rig, rate: float, seconds: float, kill_s: tuple[float, float] = KILL_S) -> Found:
    """With a history where there is a file `dsn` in the rig's directory."""
    pair = Pair(running)
    pair.begin()
    calls, clients_cpu_s, server_cpu_s = submitted(running, pair, rate, seconds, kill_s)
    began = time.perf_counter()

    def are_ended() -> bool:
        pair.start_again()
        return all(obj.get("status", {}).get("cleaned") for obj in running.records())

    def are_moved() -> bool:
        pair.start_again()
        return not running.records()

    wait_for("the end of all jobs", are_ended, _LIMIT_S, every_s=0.5)
    drained_s = time.perf_counter() - began
    if pair.has_history:
        wait_for("the move of all records", are_moved, _LIMIT_S, every_s=0.5)
    pair.end()
    return Found(
        *(calls, pair.kills, pair.memory_mib, len(running.records()), running.volcano.placed, drained_s),
        *(clients_cpu_s, server_cpu_s),
    )


def submitted(
    running: Rig | KubernetesRig, pair: Pair, rate: float, seconds: float, kill_s: tuple[float, float]
) -> tuple[list[Call], float, float]:
    """All calls of the users, and the CPU seconds of their processes and of this one."""
    half = len(USERS) // _PROCESSES
    shares = [USERS[number * half : (number + 1) * half] for number in range(_PROCESSES)]
    options = ["--rate", str(rate / _PROCESSES), "--seconds", str(seconds), "--users"]
    argv = [sys.executable, "-m", "bench.controller.users", running.kubeconfigs, *options]
    processes = [subprocess.Popen([*argv, *share], stdout=subprocess.PIPE) for share in shares]
    is_over = threading.Event()
    killer = threading.Thread(target=pair.kill_now_and_then, args=(is_over, kill_s))
    killer.start()
    try:
        before_s = time.process_time()
        told = [json.loads(process.communicate()[0]) for process in processes]
        own_s, clients_s = time.process_time() - before_s, sum(each["cpu_s"] for each in told)
        return [Call(*call) for each in told for call in each["calls"]], clients_s, own_s
    finally:
        is_over.set()
        killer.join()


class Pair:
    """Two controllers, of which one leads; whichever is killed is started anew."""

    def __init__(self, running: Rig | KubernetesRig) -> None:
        self._rig, self._dice = running, random.Random(16)
        self._running: list[ControllerProcess] = []
        self._count = 0
        self.kills = 0
        self.memory_mib: list[float] = []
        self.has_history = (running.directory / "dsn").exists()

    def begin(self) -> None:
        self._running = [self._start(), self._start()]
        wait_for("a leader", lambda: any("acting," in one.log.read_text() for one in self._running), 120)

    def _start(self) -> ControllerProcess:
        self._count += 1
        history = ("--history-dsn-file", str(self._rig.directory / "dsn"), "--history-port", "0")
        options = (*_LEASE, *(history if self.has_history else ()))
        return ControllerProcess(self._rig.kubeconfig, self._rig.directory / f"pair-{self._count}.log", *options)

    def kill_now_and_then(self, is_over: threading.Event, kill_s: tuple[float, float]) -> None:
        next_kill = time.monotonic() + self._dice.uniform(*kill_s)
        while not is_over.wait(min(_LOOK_S, max(0.0, next_kill - time.monotonic()))):
            self.memory_mib.append(sum(one.memory_mib() for one in self._running if one.process.poll() is None))
            self.start_again()
            if time.monotonic() >= next_kill:
                at = self._dice.randrange(2)
                self._running[at].kill()
                self._running[at] = self._start()
                self.kills += 1
                next_kill = time.monotonic() + self._dice.uniform(*kill_s)

    def start_again(self) -> None:
        """Those that lost their lease on a busy machine."""
        for at, one in enumerate(self._running):
            if one.process.poll() is not None:
                self._running[at] = self._start()

    def end(self) -> None:
        for one in self._running:
            if one.process.poll() is None:
                one.stop()
