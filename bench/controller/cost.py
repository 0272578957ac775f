"""What a job costs the controller, by nodes and by records that are there already."""

from __future__ import annotations

import time
from typing import NamedTuple

from bench.controller.rig import ControllerProcess, Rig, rig

NODES, RECORDS, JOBS = (100, 1000, 5000), (0, 10_000, 50_000), 300
_WARM_UP = 20
_REST_S = 10.0


class Cost(NamedTuple):
    ms_a_job: float
    """CPU of the controller's process, from the first submission until nothing but the records is left."""
    jobs_a_s: float
    """As they came through, with API server and played cluster on the same machine."""
    rest: float
    """CPU without any job, of a core."""
    memory_mib: float


def main(nodes: tuple[int, ...] = NODES, records: tuple[int, ...] = RECORDS, jobs: int = JOBS) -> None:
    """Each number of nodes without further records, and the most nodes with each number of records."""
    cases = [(count, 0) for count in nodes]
    cases += [(max(nodes), count) for count in records if count]
    print("   nodes   records   CPU a job   of one core   as it was   at rest     memory", flush=True)
    for count, kept in cases:
        found = cost(count, kept, jobs)
        print(
            f"  {count:6} {kept:9} {found.ms_a_job:8.1f} ms {1000 / found.ms_a_job:8.0f} jobs/s"
            f" {found.jobs_a_s:7.1f} jobs/s {found.rest:7.2%} {found.memory_mib:6.0f} MiB",
            flush=True,
        )


def cost(nodes: int, records: int, jobs: int) -> Cost:
    with rig(nodes) as running:
        if records:
            with running.controller():
                running.create(1)
                running.wait_cleaned(1)
            running.fill(records - 1)
        with running.controller() as controller:
            return _measured(running, controller, records, jobs)


def _measured(running: Rig, controller: ControllerProcess, records: int, jobs: int) -> Cost:
    running.create(_WARM_UP)
    running.wait_cleaned(records + _WARM_UP)
    time.sleep(2.0)
    before, began = controller.cpu_s, time.perf_counter()
    time.sleep(_REST_S)
    rest = (controller.cpu_s - before) / (time.perf_counter() - began)
    before, began = controller.cpu_s, time.perf_counter()
    running.create(jobs)
    running.wait_cleaned(records + _WARM_UP + jobs)
    took_s = time.perf_counter() - began
    return Cost((controller.cpu_s - before) / jobs * 1000, jobs / took_s, rest, controller.memory_mib())
