"""What planning costs: 10,000 waiting jobs on 1,000 nodes, in time of one core (others may use the machine)."""

from __future__ import annotations

import random
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

from bench.policy import first_look
from bench.policy.ways import bounded
from hpcbatch.policy.plan.outcome import Plan, Release
from hpcbatch.policy.plan.planner import Planner
from hpcbatch.policy.plan.snapshot import (
    JOBS,
    Limit,
    Node,
    Owner,
    Part,
    RunningJob,
    Scope,
    Shape,
    Snapshot,
    Vector,
    WaitingJob,
    Yields,
)
from hpcbatch.policy.short_first import ShortFirst

GIB = 1 << 30
_LOW = frozenset({"low"})


def main(
    *,
    waiting: int = 10_000,
    nodes: int = 1_000,
    events: int = 1_000,
    depth: int = 1,
    seed: int = 1,
    preemptors: float = 0.0,
    short_first: bool = False,
) -> None:
    """`preemptors`: which part of the waiting jobs may end others, all of which may be ended. `short_first`: with
    short jobs first, within a bound.
    """
    random_ = random.Random(seed)
    world = _World(random_, waiting, nodes, depth, preemptors, bounded if short_first else Planner)
    print(f"{waiting} waiting jobs, {nodes} nodes, depth {depth}: {world.first_s:.2f} s to the first plan, ", end="")
    print(
        f"{len(world.planner.estate.running)} run, {len(world.planner.compiler.classes)} classes of jobs wait",
        flush=True,
    )
    for name, event in (
        ("a job ends", world.end),
        ("a job comes", world.submit),
        ("a job is deleted", world.delete),
        ("a node's room changes", world.change_node),
        ("a node closes or opens", world.close_node),
    ):
        times = sorted(world.timed(event) for _ in range(max(1, events // 5)))
        print(
            f"{name:24s} median {1000 * statistics.median(times):6.1f} ms, "
            f"95 % {1000 * times[int(len(times) * 0.95)]:6.1f} ms, longest {1000 * times[-1]:6.1f} ms",
            flush=True,
        )
    first_look.show(waiting=waiting, nodes=nodes, seed=seed)
    print(f"memory of the process at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB")


class _World:
    """A full cluster: jobs of 1 to 64 pods, of some memory, some with GPUs, of 100 users, for 10 min to 48 h."""

    def __init__(
        self,
        random_: random.Random,
        waiting: int,
        nodes: int,
        depth: int,
        preemptors: float = 0.0,
        planner_of: Callable[[Snapshot], Planner | ShortFirst] = Planner,
    ) -> None:
        self.random = random_
        self.preemptors = 0.0
        self.now_s = 0.0
        self.number = 0
        self.jobs: dict[str, WaitingJob] = {}
        all_nodes = tuple(self._node(index) for index in range(nodes))
        limits = (
            Limit(code="QOSMaxJobsPerUserLimit", what=JOBS, amount=200, of={Scope.QOS: "normal"}, per=(Scope.USER,)),
            Limit(code="AssocGrpCpuLimit", what="cpu", amount=nodes * 16_000, per=(Scope.ACCOUNT,)),
        )
        first = [self._job() for _ in range(waiting + 8 * nodes)]
        snapshot = Snapshot(now_s=0, nodes=all_nodes, waiting=tuple(first), limits=limits, depth=depth)
        filler = Planner(snapshot)
        self._carry_out(filler, filler.plan(0))  # the cluster is full, and what is left waits
        left = tuple(filler.waiting.values())[:waiting]
        left += tuple(self._job() for _ in range(waiting - len(left)))
        self.preemptors = preemptors
        part = 0 if not preemptors else round(1 / preemptors)
        left = tuple(
            replace(job, preempts=_LOW) if part and index % part == 0 else job for index, job in enumerate(left)
        )
        running = tuple(filler.estate.running.values())
        start = time.process_time()
        self.planner = planner_of(
            Snapshot(now_s=0, nodes=all_nodes, running=running, waiting=left, limits=limits, depth=depth)
        )
        plan = self.planner.plan(0)
        self.first_s = time.process_time() - start
        self._settle(plan)

    def _settle(self, plan: Plan) -> None:
        """Carry plans out until nothing more starts. Nobody is ended: each plan chooses anew."""
        while plan.releases:
            self._carry_out(self.planner, plan)
            plan = self.planner.plan(self.now_s)

    def timed(self, event: object) -> float:
        """The event and the plan after it."""
        self.now_s += 1
        start = time.process_time()
        event()  # type: ignore[operator]
        plan = self.planner.plan(self.now_s)
        taken_s = time.process_time() - start
        self._settle(plan)
        return taken_s

    def end(self) -> None:
        self.planner.drop_job(self.random.choice(list(self.planner.estate.running)))

    def submit(self) -> None:
        self.planner.put_waiting(self._job())

    def delete(self) -> None:
        self.planner.drop_job(self.random.choice(list(self.planner.waiting)))

    def change_node(self) -> None:
        self.planner.put_node(self._node(self.random.randrange(len(self.planner.estate.nodes))))

    def close_node(self) -> None:
        index = self.random.randrange(len(self.planner.estate.nodes))
        is_open = self.planner.estate.nodes[f"n{index}"].is_open
        self.planner.put_node(self._node(index, is_open=not is_open))

    def _carry_out(self, planner: Planner | ShortFirst, plan: Plan) -> None:
        for release in plan.releases:
            job = planner.waiting[release.job_id]
            placed = _placed(job, release)
            ends_s = plan.now_s + release.walltime_s
            order = (float(len(placed)), float(job.job_id))
            yields = None if job.preempts else Yields(classes=_LOW, order=order)
            planner.put_running(
                RunningJob(job_id=job.job_id, placed=placed, ends_s=ends_s, owner=job.owner, yields=yields)
            )

    def _node(self, index: int, *, is_open: bool = True) -> Node:
        has: dict[str, int] = {"cpu": 64_000, "memory": 256 * GIB - self.random.randrange(8) * GIB, "pods": 110}
        if index % 10 == 0:
            has["nvidia.com/gpu"] = 4
        return Node(name=f"n{index}", has=has, labels={"rack": str(index // 40)}, is_open=is_open)

    def _job(self) -> WaitingJob:
        self.number += 1
        cpus = self.random.choice((1, 1, 1, 2, 4, 8, 16, 32, 64))
        needs = {"cpu": cpus * 1000, "memory": self.random.choice((1, 2, 4, 8, 16, 64)) * GIB, "pods": 1}
        if self.random.random() < 0.05:
            needs["nvidia.com/gpu"] = self.random.choice((1, 2, 4))
        count = self.random.choice((1, 1, 1, 1, 2, 4, 8, 16, 64))
        shape = Shape(parts=(Part(count=count, needs=needs),), is_scattered=self.random.random() < 0.2)
        account = f"a{self.random.randrange(10)}"
        owner = Owner(user=f"u{self.random.randrange(100)}", accounts=(account,), queue="q", qos=("normal",))
        walltime_s = self.random.randrange(10, 48 * 60) * 60
        order = (0, -self.random.randrange(1_000_000), self.number)
        preempts = _LOW if self.preemptors and self.random.random() < self.preemptors else frozenset()
        return WaitingJob(
            job_id=str(self.number),
            order=order,
            shapes=(shape,),
            walltime_s=walltime_s,
            owner=owner,
            preempts=preempts,
        )


def _placed(job: WaitingJob, release: Release) -> dict[str, Vector]:
    placed: dict[str, dict[str, int]] = {}
    for place in release.places:
        here = placed.setdefault(place.node, {})
        for name, amount in job.shapes[release.shape].parts[place.part].needs.items():
            here[name] = here.get(name, 0) + amount * place.count
    return placed  # type: ignore[return-value]
