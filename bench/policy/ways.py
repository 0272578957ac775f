"""The ways of scheduling a trace, and a table of how they compare with EASY."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.policy import book, favour
from bench.policy.measures import Starts, measure, waits_s
from bench.policy.others import accasim
from bench.policy.replay import by_submission, replay
from bench.policy.trace import Trace
from hpcbatch.policy.plan.snapshot import Snapshot
from hpcbatch.policy.short_first import ShortFirst

SHORT_S, DELAY_S = 30.0, 1800.0
"""What a site would set as shortFirst."""

Way = Callable[[Trace, int | None], Starts]
"""A trace and the processors of a node."""


def bounded(snapshot: Snapshot) -> ShortFirst:
    return ShortFirst(snapshot, short_s=SHORT_S, delay_s=DELAY_S)


def _promised(trace: Trace, per_node: int | None) -> Starts:
    promised = favour.Promised(trace)
    return replay(trace, order=promised.order, moved=promised.moved, per_node=per_node)


def _bounded(trace: Trace, per_node: int | None) -> Starts:
    return replay(trace, planner_of=bounded, per_node=per_node)


ALL: Mapping[str, Way] = {
    "fcfs": lambda trace, _: book.fcfs(trace),
    "easy": lambda trace, _: book.easy(trace),
    "conservative": lambda trace, _: book.conservative(trace),
    "plan": lambda trace, per_node: replay(trace, order=by_submission, per_node=per_node),
    "plan-8": lambda trace, per_node: replay(trace, depth=8, per_node=per_node),
    "plan-all": lambda trace, per_node: replay(trace, depth=None, per_node=per_node),
    "plan-short": lambda trace, per_node: replay(trace, order=favour.short_first(trace), per_node=per_node),
    "plan-promised": _promised,
    "plan-bounded": _bounded,
}
DEFAULT = ("fcfs", "easy", "conservative", "plan", "plan-short", "plan-promised", "plan-bounded")


def of_accasim(python: Path) -> Mapping[str, Way]:
    return {
        "accasim-fcfs": lambda trace, _: accasim(trace, python, "fcfs"),
        "accasim-easy": lambda trace, _: accasim(trace, python, "easy"),
    }


def show(trace: Trace, some: Mapping[str, Way], *, per_node: int | None) -> None:
    print(f"{len(trace.jobs)} jobs on {trace.processors} processors; {trace.skipped} lines left out")
    print(
        "way              slowdown   x EASY   mean wait s   longest s   utilisation   waits > 2 x EASY's   most later s"
        "   CPU s"
    )
    easy_starts = book.easy(trace)
    easy, easy_waits = measure(trace, easy_starts), waits_s(trace, easy_starts)
    for name, way in some.items():
        start = time.process_time()
        starts = way(trace, per_node)
        taken_s = time.process_time() - start
        found, waits = measure(trace, starts), waits_s(trace, starts)
        doubled = sum(wait > 2 * before for wait, before in zip(waits, easy_waits, strict=True))
        later_s = max(wait - before for wait, before in zip(waits, easy_waits, strict=True))
        print(
            f"{name:14s} {found.slowdown:10.2f} {found.slowdown / easy.slowdown:8.3f} {found.wait_s:13.0f} "
            f"{found.longest_wait_s:11.0f} {found.utilisation:13.4f} {doubled:20d} "
            f"{later_s:14.0f} {taken_s:7.1f}",
            flush=True,
        )
