"""Ten jobs at a time on four nodes of four CPUs: who starts when. The same are put to real systems and to the planner.

All jobs are there before the first decision. Times to run are far apart, so that what a real system needs to start a
job and to notice an end does not change the order of events.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

NODES, CPUS = 4, 4
_RUNS_S = 12, 24, 36, 48


@dataclass(frozen=True, slots=True, kw_only=True)
class PuzzleJob:
    nodes: int
    cpus: int = CPUS
    """Of each node."""
    limit_min: int
    """The walltime."""
    run_s: int
    """After which it ends by itself."""
    priority: int = 0
    """The larger goes first; of equals the one that came first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Puzzle:
    name: str
    jobs: tuple[PuzzleJob, ...]
    max_running: int | None = None
    """How many jobs may run at a time."""


def _by_hand() -> Iterator[Puzzle]:
    one, wide = PuzzleJob(nodes=1, limit_min=1, run_s=12), PuzzleJob(nodes=4, limit_min=2, run_s=12)
    first = PuzzleJob(nodes=3, limit_min=4, run_s=24)
    # short ones fit before the wide one's planned start, long ones do not
    long = replace(one, limit_min=8)
    yield Puzzle(name="wide", jobs=(first, wide, long, one, long, one, long, one, long, one))
    # the first four fill the cluster; then two wide jobs, and what fits between them
    full = replace(one, limit_min=4, run_s=24)
    mixed = (wide, one, replace(wide, limit_min=8), one, replace(one, limit_min=8), one)
    yield Puzzle(name="two-wide", jobs=(full, full, replace(full, run_s=36), replace(full, run_s=48), *mixed))
    # in the order of their priorities, not of their arrival
    ranks = (3, 9, 1, 7, 5, 8, 2, 6, 4)
    halves = tuple(PuzzleJob(nodes=2, limit_min=2, run_s=12, priority=rank) for rank in ranks)
    yield Puzzle(name="priority", jobs=(PuzzleJob(nodes=4, limit_min=2, run_s=12, priority=10), *halves))
    # a wide one of low priority comes last, though it came first; short ones pass it
    low = replace(wide, priority=1)
    yield Puzzle(
        name="low-wide",
        jobs=(low, *(replace(first, nodes=2, priority=5, run_s=run_s) for run_s in (12, 24, 36)), *(one,) * 6),
    )
    # parts of a node: what is left of it is used
    part = PuzzleJob(nodes=1, cpus=1, limit_min=1, run_s=24)
    three = PuzzleJob(nodes=4, cpus=3, limit_min=4, run_s=36)
    yield Puzzle(name="parts", jobs=(three, wide, *(part,) * 4, *(replace(part, limit_min=8),) * 4))


def _generated(name: str, dice: random.Random, *, max_running: int | None = None) -> Puzzle:
    """Whole nodes, so that it does not matter on which of them a job is put. No two walltimes are the same: whether of
    two that start together one ends later than the other would be a matter of seconds.
    """
    jobs = []
    for limit_min in dice.sample(range(1, 40), 10):
        jobs.append(
            PuzzleJob(
                nodes=dice.choice((1, 1, 1, 2, 2, 3, 4)),
                limit_min=limit_min,
                run_s=dice.choice([run_s for run_s in _RUNS_S if run_s < 60 * limit_min]),
                priority=dice.choice((0, 0, 0, 5)),
            )
        )
    return Puzzle(name=name, jobs=tuple(jobs), max_running=max_running)


def puzzles() -> tuple[Puzzle, ...]:
    dice = random.Random(15)
    return (
        *_by_hand(),
        *(_generated(f"dice-{number}", dice) for number in range(1, 8)),
        *(_generated(f"limit-{number}", dice, max_running=2) for number in range(1, 3)),
    )
