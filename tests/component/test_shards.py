"""Two controllers, each with its queues, on one registry: killed at random, and asked for what is beyond a shard."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS, LEASES, PODS
from hpcbatch.client.submit import Submitted
from hpcbatch.errors import HpcBatchError, RefusedError
from hpcbatch.model.dependency import Clause, Dependency, DependencyKind, JobRef
from tests.component.test_controller_process import SITE, Running, Site
from tests.component.volcano_cluster import NS
from tests.waiting import wait_for

QUEUES = """\
licenses: {abaqus: 1}
queues:
- {name: main, default: true, volcanoQueue: default}
- {name: west, shard: west, volcanoQueue: default}
- {name: west-long, shard: west, volcanoQueue: default, aliases: ["far*"]}
"""
SHARDS = ("", "west")
_REPORT = "exit_code=0\nwalltime_s=1\ncpu_s=0\nstarted=1\nended=2\nsession_id=1\n"
_LIMIT_S = 120


class Shards(Site):
    def __init__(self, directory: Path) -> None:
        super().__init__(directory, SITE + QUEUES)
        self.of: dict[str, Running] = {}

    def start(self, shard: str) -> None:
        self.of[shard] = self.controller(*(("--shard", shard) if shard else ()))

    def kill(self, shard: str) -> None:
        self.of[shard].process.kill()
        self.of[shard].wait()

    def record(self, job: Submitted) -> Object:
        return self.registry.get(BATCHJOBS, job.object_name, NS)

    def state(self, job: Submitted) -> str:
        return str(self.record(job)["status"]["state"])

    def end(self, job: Submitted) -> None:
        """Its pod ends well."""
        self.cluster.kubelet.end(f"job-{job.job_id}-mpimaster-0", 0, _REPORT)

    def wait_state(self, state: str, *jobs: Submitted) -> None:
        wait_for(f"all to be {state}", lambda: {self.state(job) for job in jobs} == {state}, _LIMIT_S)


@pytest.fixture
def shards(tmp_path: Path) -> Iterator[Shards]:
    running = Shards(tmp_path)
    for shard in SHARDS:
        running.start(shard)
    yield running
    running.stop()


def after(kind: DependencyKind, *jobs: Submitted) -> Dependency:
    return Dependency(clauses=(Clause(kind=kind, jobs=tuple(JobRef(job_id=job.job_id) for job in jobs)),))


@pytest.mark.slow
def test_each_has_its_queues_and_no_job_is_lost_or_doubled_when_they_are_killed(shards: Shards) -> None:
    dice, jobs, failures = random.Random(16), list[Submitted](), list[HpcBatchError]()
    lock, is_over = threading.Lock(), threading.Event()

    def submit(queues: list[str]) -> None:
        for queue in queues:
            try:
                job = shards.submitted(_LIMIT_S, queue=queue)
            except HpcBatchError as error:
                failures.append(error)
            else:
                with lock:
                    jobs.append(job)

    def kill_now_and_then() -> None:
        while not is_over.wait(dice.uniform(0.5, 1.5)):
            shard = dice.choice(SHARDS)
            if shards.of[shard].leads:  # else none would ever act on a busy machine
                shards.kill(shard)
                shards.start(shard)

    killer = threading.Thread(target=kill_now_and_then)
    users = [threading.Thread(target=submit, args=(["main", "west", "farther"] * 2,)) for _ in range(4)]
    for thread in (killer, *users):
        thread.start()
    for thread in users:
        thread.join(_LIMIT_S)
    is_over.set()
    killer.join(_LIMIT_S)
    assert not failures
    assert len({job.job_id for job in jobs}) == 24
    shards.wait_state("Running", *jobs)
    queues = sorted(shards.record(job)["status"]["queue"] for job in jobs)
    assert queues == ["main"] * 8 + ["west"] * 8 + ["west-long"] * 8
    assert sorted(shards.cluster.kubelet.started) == sorted(f"job-{job.job_id}-mpimaster-0" for job in jobs)
    assert len(shards.registry.list(PODS, NS).items) == 24
    leases = {lease["metadata"]["name"] for lease in shards.registry.list(LEASES).items}
    assert {"hpcbatch-controller", "hpcbatch-controller-west"} <= leases


def test_jobs_wait_for_those_of_another_shard(shards: Shards) -> None:
    first = shards.submitted(queue="west")
    second = shards.submitted(queue="main", dependency=after(DependencyKind.AFTER_OK, first))
    third = shards.submitted(queue="west", dependency=after(DependencyKind.AFTER_OK, second))
    shards.wait_state("Running", first)
    assert {shards.state(second), shards.state(third)} == {"Held"}
    for job, follower in ((first, second), (second, third)):
        shards.end(job)
        shards.wait_state("Running", follower)
        shards.wait_state("Finished", job)


def test_a_shard_whose_controller_is_away_keeps_no_other_from_working(shards: Shards) -> None:
    shards.kill("west")
    here = shards.submitted(queue="main")
    shards.wait_state("Running", here)
    with pytest.raises(HpcBatchError):
        shards.submitted(1.0, queue="west")
    assert [record["metadata"]["name"] for record in shards.jobs()] == [here.object_name]
    shards.start("west")
    shards.wait_state("Running", shards.submitted(queue="west"))


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        (
            {"queue": "west", "other_queues": ("main",)},
            "queue main is in no shard, which another controller has",
        ),
        ({"queue": "main", "other_queues": ("west",)}, "queue west is in shard west, which another controller has"),
        ({"queue": "west", "licenses": (("abaqus", 1),)}, "licences are given only in queues that are in none"),
        ({"queue": "nowhere"}, "nowhere; there are: main, west, west-long"),
    ],
    ids=["main-too", "west-too", "licences", "unknown"],
)
@pytest.mark.slow
def test_what_goes_beyond_a_shard_is_refused(shards: Shards, fields: dict[str, Any], why: str) -> None:
    with pytest.raises(RefusedError) as refused:
        shards.submitted(**fields)
    assert why in str(refused.value)
