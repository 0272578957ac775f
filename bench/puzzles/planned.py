"""The puzzles put to the planner, in virtual time."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from bench.puzzles.puzzles import CPUS, NODES, Puzzle, PuzzleJob
from hpcbatch.policy.plan.planner import Planner
from hpcbatch.policy.plan.snapshot import JOBS, Limit, Node, Part, RunningJob, Shape, Snapshot, WaitingJob

LATE_S = 8.0
"""What a real system may need in all to notice ends and to start jobs, up to the last job of a puzzle: less than lies
between two ends that matter.
"""


def planned(puzzle: Puzzle, times: Sequence[tuple[float, float]], *, depth: int | None) -> list[float]:
    """When each job starts, in seconds from the first start. `times`: start and end of each on the real system. The end
    of a job that starts when it did there comes when it came there: of two ends that nearly meet, one is first.
    """
    nodes = tuple(Node(name=f"n{number}", has={"cpu": CPUS}) for number in range(NODES))
    limits = () if puzzle.max_running is None else (Limit(code="max_run", what=JOBS, amount=puzzle.max_running),)
    waiting = tuple(_waiting(number, job) for number, job in enumerate(puzzle.jobs))
    planner = Planner(Snapshot(now_s=0, nodes=nodes, waiting=waiting, limits=limits, depth=depth))
    starts: dict[int, float] = {}
    ends: list[tuple[float, int]] = []
    now_s = 0.0
    while len(starts) < len(puzzle.jobs):
        for release in planner.plan(now_s).releases:
            number = int(release.job_id)
            job = puzzle.jobs[number]
            starts[number] = now_s
            start_s, end_s = times[number]
            is_same = abs(start_s - now_s) <= LATE_S
            heapq.heappush(ends, (end_s if is_same else now_s + end_s - start_s, number))
            placed = {place.node: {"cpu": job.cpus * place.count} for place in release.places}
            planner.put_running(RunningJob(job_id=release.job_id, placed=placed, ends_s=now_s + 60 * job.limit_min))
        now_s = ends[0][0]
        while ends and ends[0][0] <= now_s:
            planner.drop_job(str(heapq.heappop(ends)[1]))
    return [starts[number] for number in range(len(puzzle.jobs))]


def _waiting(number: int, job: PuzzleJob) -> WaitingJob:
    shape = Shape(parts=(Part(count=job.nodes, needs={"cpu": job.cpus}),), is_scattered=True)
    order = float(-job.priority), float(number)
    return WaitingJob(job_id=str(number), order=order, shapes=(shape,), walltime_s=60 * job.limit_min)
