"""The first look of a controller that has just started: all records are read, and the first plan is made."""

from __future__ import annotations

import random
import time
from typing import Any, cast

from hpcbatch.api.informer import Informer
from hpcbatch.api.port import Object, WatchEvent
from hpcbatch.controller.past_usage import PastUsage
from hpcbatch.controller.plan_order import PlanOrder
from hpcbatch.controller.plan_world import PlanWorld
from hpcbatch.model.accounts import first_accounts
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState
from hpcbatch.model.stored import stored_fields, struct_to_json
from hpcbatch.record.batchjob import full_status_to_json

_GIB = 1 << 30
_CREATED = "2026-11-25T12:00:00Z"


class _Cache:
    """What an informer has."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str | None, str], Object] = {}

    def get(self, namespace: str | None, name: str) -> Object | None:
        return self.objects.get((namespace, name))

    def items(self) -> list[Object]:
        return list(self.objects.values())


def show(*, waiting: int, nodes: int, seed: int) -> None:
    random_, jobs, site, accounts = random.Random(seed), _Cache(), SiteConfig(), first_accounts()
    order = PlanOrder(cast(PastUsage, None))  # this site's order has no shares
    world = PlanWorld(cast(Informer, jobs), cast(Informer, _Cache()), lambda: site, lambda: accounts, order)
    for index in range(nodes):
        world.on_node(WatchEvent("ADDED", _node(f"n{index}")))
    for number in range(1, waiting + 1):
        job = _job(random_, number)
        jobs.objects[job["metadata"]["namespace"], job["metadata"]["name"]] = job
        world.on_batchjob(WatchEvent("ADDED", job))
    start = time.process_time()
    world.refresh(time.time())
    read_s = time.process_time() - start
    plan = world.plan(time.time())
    took_s = time.process_time() - start
    print(
        f"first look at {len(world.waiting)} records: {took_s:.2f} s, of which {read_s:.2f} to read them; "
        f"{len(plan.releases)} start"
    )


def _node(name: str) -> Object:
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {},
        "status": {
            "allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _job(random_: random.Random, number: int) -> Object:
    count, cpus = random_.choice((1, 1, 2, 4, 16)), random_.choice((1, 2, 4, 8, 16, 64))
    chunks = (Chunk(count=count, cpus=cpus, mem_bytes=_GIB * random_.choice((1, 2, 4, 8))),)
    user, walltime_s = f"u{number % 100}", random_.randrange(600, 172_800)
    spec = JobSpec(dialect="pbs", name="j", chunks=chunks, server="s", walltime_s=walltime_s)
    status = JobStatus(owner=user, layout=chunks, state=JobState.QUEUED, walltime_s=walltime_s)
    record = JobRecord(
        job_id=number, namespace=user, object_name=f"pbs-{number}", spec=spec, status=status, queue="default"
    )
    metadata: dict[str, Any] = {
        "name": record.object_name,
        "namespace": user,
        "uid": str(number),
        "resourceVersion": "1",
        "creationTimestamp": _CREATED,
    }
    body = struct_to_json(spec, stored_fields(JobSpec))
    return {"metadata": metadata, "spec": body, "status": full_status_to_json(record)}
