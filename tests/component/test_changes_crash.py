"""Alterations and reruns while the controller is killed at random requests: each that was taken is done, and once.

HPCBATCH_KILLS=2000 runs it longer, HPCBATCH_SEED repeats a run.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import pytest

from hpcbatch.api.resources import BATCHJOBS, NAMESPACES
from hpcbatch.client import changes
from hpcbatch.client.alter import alter
from hpcbatch.client.submit import submit
from hpcbatch.errors import HpcBatchError, NotFoundError, RefusedError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import JobRecord
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.spec import JobSpec, Submission
from hpcbatch.model.state import JobState
from hpcbatch.record.batchjob import record_from
from hpcbatch.record.rows import row_of
from hpcbatch.site.identity import GID, HOME, UID, USER
from tests.component.life.mortal import controllers, is_quiet, wait_for_the_last
from tests.component.volcano_cluster import NS, Cluster, running
from tests.waiting import wait_for

KILLS = int(os.environ.get("HPCBATCH_KILLS", "60"))
SEED = int(os.environ.get("HPCBATCH_SEED", "5"))
REPORT = "exit_code=0\nwalltime_s=1\ncpu_s=1\n"
JOBS = 4


@dataclass
class Asked:
    name: str
    """Of the BatchJob."""
    shown: str = "j"
    cpus: int = 1
    reruns: int = 0
    is_certain: bool = True
    """Every request was answered."""


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    said, threading.excepthook = (threading.excepthook, lambda args: None if is_quiet(args.exc_type) else said(args))
    with running(2, 2) as cluster:
        notes = {USER: "alice", UID: "1000", GID: "1000", HOME: "/home/alice"}
        cluster.registry.patch(NAMESPACES, NS, {"metadata": {"annotations": notes}})
        yield cluster
    threading.excepthook = said


@pytest.mark.slow
def test_changes_while_controllers_die(cluster: Cluster) -> None:
    dice = random.Random(SEED)
    api = cluster.registry
    succession = controllers(api, dice, SiteConfig(), kills=KILLS)
    succession.start()

    def record(asked: Asked) -> JobRecord:
        return record_from(api.get(BATCHJOBS, asked.name, NS))

    def submitted() -> Asked:
        spec = JobSpec(dialect=Dialect.PBS, name="j", chunks=(Chunk(cpus=1),), server="here")
        made = submit(api, NS, Submission(spec=spec, script=b"#!/bin/sh\n", environment={}), timeout_s=20)
        return Asked(made.object_name)

    def change(asked: Asked) -> None:
        shown, cpus = f"n{dice.randrange(1000)}", dice.choice([1, 2])
        alter(api, row_of(record(asked)), lambda r: replace(r.spec, name=shown, chunks=(Chunk(cpus=cpus),)))
        asked.shown, asked.cpus = shown, cpus

    def rename(asked: Asked) -> None:
        shown = f"m{dice.randrange(1000)}"
        alter(api, row_of(record(asked)), lambda r: replace(r.spec, name=shown))
        asked.shown = shown

    def rerun(asked: Asked) -> None:
        row = row_of(record(asked))
        if row.state is JobState.RUNNING:  # one that ends before it has begun would not count
            changes.rerun(api, row)
            asked.reruns += 1

    some = [submitted() for _ in range(JOBS)]
    give_up = time.monotonic() + 120
    while not succession.is_immortal and time.monotonic() < give_up:
        asked = dice.choice(some)
        try:
            dice.choice([change, rename, rerun, rerun])(asked)
        except RefusedError as refused:
            assert refused.code in {RefusalCode.STARTED, RefusalCode.NOT_RUNNING, RefusalCode.ENDING}
        except HpcBatchError:
            asked.is_certain = False
        time.sleep(dice.random() * 0.1)
    wait_for_the_last(succession, 60)
    cluster.settled()
    assert sum(asked.reruns for asked in some) > 1

    def all_have_ended() -> bool:
        states = {asked.name: record(asked).status.state for asked in some}
        for asked in some:
            if states[asked.name] is JobState.RUNNING:
                for pod, obj in cluster.pods(f"job-{record(asked).job_id}").items():
                    if obj["status"].get("phase") == "Running" and "deletionTimestamp" not in obj["metadata"]:
                        with suppress(NotFoundError):
                            cluster.kubelet.end(pod, 0, REPORT)
        return set(states.values()) == {JobState.FINISHED}

    wait_for("all jobs to end", all_have_ended, 60)
    for asked in some:
        found = record(asked)
        if asked.is_certain:
            told = f"seed {SEED}: {asked}\n{found}"
            assert found.status.run_count == 1 + asked.reruns, told
            assert (found.spec.name, found.spec.chunks) == (asked.shown, (Chunk(cpus=asked.cpus),)), told
    succession.stop()
