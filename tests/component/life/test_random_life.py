"""Random lives of jobs, with hpcbatch's controller, its archive and both of Volcano's parts killed at random writes,
against what must hold whatever happens.

HPCBATCH_KILLS=5000 runs it longer, HPCBATCH_SEED repeats a run, HPCBATCH_SCHEDULER=none runs it without Volcano.
"""

from __future__ import annotations

import os
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hpcbatch.api.port import Object
from hpcbatch.api.resources import (
    BATCHJOBS,
    COMMANDS,
    CONFIGMAPS,
    NAMESPACES,
    NETWORK_POLICIES,
    PODGROUPS,
    PODS,
    QUEUES,
    SECRETS,
    SERVICES,
    VOLCANO_JOBS,
)
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.volcano.scheduler import Scheduler as EngineScheduler
from hpcbatch.gang.job_controller import JobController
from hpcbatch.history.databases import SqliteDatabase
from hpcbatch.history.query import Query
from hpcbatch.history.store import HistoryStore
from hpcbatch.model.scheduler import Scheduler
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.state import JobState
from hpcbatch.site.identity import GID, HOME, UID, USER
from tests.component.life.limits import check_limits, check_no_starvation, check_reservations, set_limits
from tests.component.life.model import check, check_room
from tests.component.life.mortal import Mortal, Succession, controllers, is_quiet, wait_for_the_last
from tests.component.life.play import Script, Stage
from tests.component.life.user import NODES, SMALL, SMALL_CPUS, Life
from tests.component.volcano_cluster import NS, Cluster

KILLS = int(os.environ.get("HPCBATCH_KILLS", "300"))
SEED = int(os.environ.get("HPCBATCH_SEED", "20261121"))
SCHEDULER = Scheduler(os.environ.get("HPCBATCH_SCHEDULER", "volcano"))
ROUND = 100
"""Kills of one case."""
_FINAL = {"state", "exitCode", "exitSignal", "endTime"}


@pytest.fixture
def quiet_deaths() -> Iterator[None]:
    before = threading.excepthook
    threading.excepthook = lambda args: None if is_quiet(args.exc_type) else before(args)
    yield
    threading.excepthook = before


class Parts:
    """All that is killed: of every 100 kills 50 hit hpcbatch's controller, 30 Volcano's, 20 its scheduler."""

    def __init__(self, registry: Registry, dice: random.Random, history: HistoryStore, kills: int) -> None:
        def volcano(part: Callable[[Any], Any], kills: int) -> Succession:
            return Succession(random.Random(dice.random()), lambda fate: part(Mortal(registry, fate)), kills=kills)

        site = SiteConfig(scheduler=SCHEDULER, place_timeout_s=30 if SCHEDULER.makes_pods else 3)
        self._all = [
            controllers(registry, random.Random(dice.random()), site, kills=kills // 2, history=history),
            volcano(EngineScheduler, kills // 5),
        ]
        if SCHEDULER.makes_pods:
            self._all.append(volcano(lambda api: JobController(api, api.record_event, feed=api.feed), kills * 3 // 10))

    def start(self) -> None:
        for succession in self._all:
            succession.start()

    def stop(self) -> None:
        for succession in self._all:
            succession.stop()

    @property
    def are_immortal(self) -> bool:
        return all(succession.is_immortal for succession in self._all)

    def wait_for_the_last(self) -> None:
        for succession in self._all:
            wait_for_the_last(succession, 60)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("quiet_deaths")
@pytest.mark.parametrize("part", range(max(1, KILLS // ROUND)))
def test_whatever_happens(
    part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("hpcbatch.gang.ssh_keys.make_key", lambda: ("key", "ssh-rsa key\n"))  # it takes long
    dice = random.Random(SEED + part)
    cluster = Cluster(*NODES)
    scripts: dict[str, Script] = {}
    stage = Stage(cluster.registry, scripts)
    notes = {USER: "alice", UID: "1000", GID: "1000", HOME: "/home/alice"}
    cluster.registry.patch(NAMESPACES, NS, {"metadata": {"annotations": notes}})
    set_limits(cluster.registry)
    room = {"weight": 1, "capability": {"cpu": str(SMALL_CPUS)}}
    cluster.create(QUEUES, {"metadata": {"name": SMALL}, "spec": room})
    history = HistoryStore(SqliteDatabase(tmp_path / "history.db"))
    parts = Parts(cluster.registry, random.Random(SEED + part), history, min(KILLS, ROUND))
    life = Life(cluster.registry, history, stage, scripts, dice)
    ends = Ends(cluster.registry)
    stage.start()
    parts.start()
    try:
        while not parts.are_immortal:
            life.step()
        parts.wait_for_the_last()
        wait_for_none("run goes on with a rank short", stage.wounded, 30)
        wait_for_none("suspended run goes on", lambda: awake(life), 30)
        wait_for_none("job goes on", lambda: let_go(life) or life.unfinished(), 60)
        wait_for_none("object is left", lambda: left_over(cluster.registry), 60)
    finally:
        parts.stop()
        stage.stop()
        ends.stop()
    assert ends.changed == []
    # a request to run again may come when the job has just ended, which is nothing to one of Slurm
    assert [name for name in ends.again if not life.asked[name].reruns] == []
    check_history(ends, history, life)
    for asked in life.asked.values():
        check(asked, life)
    check_room(life, sum(NODES))
    check_limits(life)
    check_reservations(life)
    put_back = {int(number) for number in re.findall(r"job (\d+): .*; it is planned anew", caplog.text)}
    check_no_starvation(life, put_back)
    history.close()


def let_go(life: Life) -> None:
    """Of what the user can do about a job that does not end."""
    life.release_all()
    life.begin_now()
    life.delete_hopeless()


def wait_for_none(what: str, found: Callable[[], list[Any]], limit_s: float) -> None:
    give_up = time.monotonic() + limit_s
    while some := found():
        assert time.monotonic() < give_up, f"after {limit_s:.0f} s a {what}: {some}"
        time.sleep(0.1)


class Ends:
    """A watch that keeps what ended, and whatever came after that."""

    def __init__(self, registry: Registry) -> None:
        self.changed: list[str] = []
        self.again: list[str] = []
        """Names of jobs that were queued again after their end."""
        self.final: dict[str, Object] = {}
        self._watch = registry.watch(BATCHJOBS)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for event in self._watch:
            obj = event.object
            status = {k: v for k, v in obj.get("status", {}).items() if k in _FINAL}
            if not status or not JobState(status.get("state", "Queued")).is_final:
                if event.type != "DELETED" and self.final.pop(obj["metadata"]["uid"], None) is not None:
                    self.again.append(obj["spec"]["name"])
                continue
            before = self.final.setdefault(obj["metadata"]["uid"], status)
            if before != status:
                self.changed.append(f"{obj['metadata']['name']}: {before} became {status}")

    def stop(self) -> None:
        self._watch.close()
        self._thread.join(10)


def check_history(ends: Ends, history: HistoryStore, life: Life) -> None:
    """Each job stands there once, as it ended."""
    kept = history.page(Query()).jobs
    assert {
        job["metadata"]["uid"]: {k: v for k, v in job["status"].items() if k in _FINAL} for job in kept
    } == ends.final
    numbers = [int(job["status"]["jobId"]) for job in kept]
    assert len(numbers) == len(set(numbers)), "a number was given twice"
    assert {asked.job_id for asked in life.asked.values()} <= set(numbers)


def awake(life: Life) -> list[str]:
    """The runs of suspended jobs that are not stopped."""
    return [
        f"{run} of {asked}: {status}"
        for asked in life.asked.values()
        if asked.suspended is not None and (status := life.record(asked).status)
        if asked.suspended in {0, status.run_count}
        for run in life.stage.going_on(asked.spec.name)
    ]


def left_over(registry: Registry) -> list[str]:
    kinds = BATCHJOBS, PODS, VOLCANO_JOBS, PODGROUPS, SERVICES, NETWORK_POLICIES, COMMANDS
    found = [f"{kind.plural}/{obj['metadata']['name']}" for kind in kinds for obj in registry.list(kind, NS).items]
    found += [f"configmaps/{name}" for name in names([*registry.list(CONFIGMAPS, NS).items]) if name.startswith("job-")]
    # a submission that nobody answered is swept later
    secrets = [
        s
        for s in registry.list(SECRETS, NS).items
        if s.get("type") != "hpcbatch.io/submission" or s["metadata"].get("ownerReferences")
    ]
    return found + [f"secrets/{name}" for name in names(secrets)]


def names(objects: list[Object]) -> list[str]:
    return [obj["metadata"]["name"] for obj in objects]
