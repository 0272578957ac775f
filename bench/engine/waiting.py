"""Many waiting jobs: what they cost the engine at rest, and how long lists of them take, beside bare Volcano Jobs."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench.engine.rig import Jobs, bare_job, engine, engine_cpu_s, engine_memory_mib
from bench.timing import compare, seconds
from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS, VOLCANO_JOBS, Resource
from tests.waiting import wait_for

SIZES = (10, 100, 1000, 10_000)
ROUNDS = 7
REST_S = 30.0
_LISTS = ("qstat", "squeue", "kubectl get batchjobs")
_BARE_LIST = "kubectl get vj"


class Waiting(NamedTuple):
    """An engine whose jobs wait, and how one adds to them."""

    env: Mapping[str, str]
    jobs: Jobs
    kind: Resource
    add: Callable[[int], None]


class _Row(NamedTuple):
    jobs: int
    submitted: Mapping[str, tuple[float, float]]
    """By engine: jobs a second, and ms of its CPU for each, from those before to these."""
    rest: Mapping[str, tuple[float, float]]
    """By engine: percent of a core, MiB."""
    lists: Mapping[str, float]
    """By command, seconds."""


def main(most: int = SIZES[-1]) -> None:
    sizes = [size for size in SIZES if size <= most]
    with engine() as held, engine() as queued, engine() as bare:
        engines = {"held": _held(*held), "queued": queue_up(*queued), "bare": _bare(*bare)}
        rows: list[_Row] = [_Row(0, {}, _rest(engines), {})]
        for size in sizes:
            adding = {name: _fill(one, size) for name, one in engines.items()}
            rows.append(_Row(size, adding, _rest(engines), _lists(engines)))
            print(f"  {size} measured", flush=True)
    print(f"jobs that wait; submitted by several threads of one program; at rest: over {REST_S:.0f} s, per engine")
    print("  held: qsub -h; queued: all cores are taken; bare: the same as queued, Volcano Jobs past hpcbatch")
    titles = ("submitted, jobs/s", "engine's CPU each, ms", "CPU at rest, %", "memory, MiB")
    print(f"  {'':6}" + "".join(f"{title:>24}" for title in titles))
    print(f"  {'jobs':>6}" + "".join(f"{name:>8}" for name in engines) * len(titles))
    for row in rows:
        submitted = "".join(_columns(row.submitted, part) if row.submitted else " " * 24 for part in (0, 1))
        print(f"  {row.jobs:6}{submitted}{_columns(row.rest, 0)}{_columns(row.rest, 1)}")
    print(f"lists of queued jobs, whole process, median of {ROUNDS}, ms and x `{_BARE_LIST}` of as many bare ones:")
    print(f"  {'jobs':>6} {_BARE_LIST:>16}" + "".join(f"{name:>24}" for name in _LISTS))
    for row in rows[1:]:
        bare_s = row.lists[_BARE_LIST]
        ours = "".join(f"{row.lists[name] * 1000:14.0f} {row.lists[name] / bare_s:7.2f} x" for name in _LISTS)
        print(f"  {row.jobs:6} {bare_s * 1000:16.0f}{ours}")


def _columns(by_engine: Mapping[str, tuple[float, float]], part: int) -> str:
    return "".join(f"{figures[part]:8.1f}" for figures in by_engine.values())


def _held(env: Mapping[str, str], work: Path) -> Waiting:
    jobs = Jobs(env, work)
    return Waiting(env, jobs, BATCHJOBS, partial(jobs.submit_many, jobs.submission("-h")))


def queue_up(env: Mapping[str, str], work: Path) -> Waiting:
    """Behind a job that has all cores."""
    jobs = Jobs(env, work)
    jobs.submit(jobs.submission("-l", "select=3:ncpus=2", script="exec sleep 100000"))
    wait_for("the first job's start", lambda: _count(jobs, BATCHJOBS, _runs) == 1, 60)
    return Waiting(env, jobs, BATCHJOBS, partial(jobs.submit_many, jobs.submission()))


def _bare(env: Mapping[str, str], work: Path) -> Waiting:
    jobs = Jobs(env, work)
    jobs.create_many(bare_job("sleep", "100000", pods=3, cpus=2), 1)
    wait_for("the first job's start", lambda: _count(jobs, VOLCANO_JOBS, _runs) == 1, 60)
    return Waiting(env, jobs, VOLCANO_JOBS, partial(jobs.create_many, bare_job()))


def _fill(one: Waiting, size: int) -> tuple[float, float]:
    """Add jobs until `size` wait; returns how many a second, and ms of the engine's CPU for each until it rests."""
    missing = size - _count(one.jobs, one.kind, lambda obj: not _runs(obj))
    cpu_before = engine_cpu_s(one.env)
    rate = missing / seconds(partial(one.add, missing))
    settle(one.env)
    return rate, (engine_cpu_s(one.env) - cpu_before) / missing * 1000


def _count(jobs: Jobs, kind: Resource, is_meant: Callable[[Object], bool]) -> int:
    return sum(map(is_meant, jobs.api.list(kind, jobs.namespace).items))


def _runs(obj: Object) -> bool:
    state = obj.get("status", {}).get("state")
    return (state.get("phase") if isinstance(state, dict) else state) == "Running"


def _rest(engines: Mapping[str, Waiting]) -> dict[str, tuple[float, float]]:
    """Of each engine, when what was begun is done: percent of a core over the same half minute; MiB."""
    for one in engines.values():
        settle(one.env)
    before = {name: engine_cpu_s(one.env) for name, one in engines.items()}
    began = time.monotonic()
    time.sleep(REST_S)
    lasted_s = time.monotonic() - began
    return {
        name: ((engine_cpu_s(one.env) - before[name]) / lasted_s * 100, engine_memory_mib(one.env))
        for name, one in engines.items()
    }


def settle(env: Mapping[str, str], limit_s: float = 60) -> None:
    """Until the engine takes no more of the CPU than it did two seconds before; one that never rests shows in the
    figures.
    """
    end, last = time.monotonic() + limit_s, float("inf")
    while time.monotonic() < end:
        before = engine_cpu_s(env)
        time.sleep(2)
        spent = engine_cpu_s(env) - before
        if spent < 0.1 or spent >= last:
            return
        last = spent


def _lists(engines: Mapping[str, Waiting]) -> dict[str, float]:
    run = partial(subprocess.run, check=True, stdout=subprocess.DEVNULL)
    actions = {name: partial(run, name.split(), env=engines["queued"].env) for name in _LISTS}
    return compare(actions | {_BARE_LIST: partial(run, _BARE_LIST.split(), env=engines["bare"].env)}, ROUNDS)
