"""Overload of a real kube-apiserver, with the priorities of deploy/: its cluster is full, so that few jobs run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from bench.controller.kubernetes_rig import kubernetes_rig
from bench.controller.overload import (
    KILL_S,
    MOVED,
    NEVER_S,
    RATE,
    SECONDS,
    Pair,
    submitted,
    tell,
    tell_memory,
)
from bench.controller.users import Call
from hpcbatch.api.port import Object
from hpcbatch.history.databases import PostgresDatabase
from hpcbatch.history.query import Query
from hpcbatch.history.store import HistoryStore
from tests.postgres import postgres

_NODES, _CPUS, _RUN_S = 8, 2, 5.0


class Found(NamedTuple):
    calls: Sequence[Call]
    kills: int
    memory_mib: Sequence[float]
    """Of the controllers together, now and then."""
    placed: int
    """Jobs that got nodes."""
    there: int
    moved: int
    """Jobs in the API, and in PostgreSQL, after the last submission."""
    lost: int
    """Jobs whose number somebody was told, and that are in neither."""
    doubled: int
    """Numbers of several jobs."""
    untold: int
    """Jobs with a number that nobody was told."""
    cpu_s: Mapping[str, float]
    """By program, while users submitted; of the controllers that lived to the end."""
    etcd_mib: float


def main(rate: float = RATE, seconds: float = SECONDS, *, kills: bool = True) -> None:
    found = overload(rate, seconds, KILL_S if kills else NEVER_S)
    tell(found.calls, seconds)
    print("CPU:", ", ".join(f"{name} {spent_s:.0f} s" for name, spent_s in found.cpu_s.items()))
    print(f"etcd's file has {found.etcd_mib:.0f} MiB; {found.there} jobs are there, {found.moved} in PostgreSQL")
    print(f"{found.placed} jobs got nodes; {found.kills} controllers were killed; {found.lost} jobs are lost")
    print(f"{found.doubled} numbers were given twice; {found.untold} jobs have a number that nobody was told")
    tell_memory(found.memory_mib)


def overload(rate: float, seconds: float, kill_s: tuple[float, float] = KILL_S) -> Found:
    with kubernetes_rig(_NODES, _CPUS, more_of_site=MOVED, run_s=_RUN_S) as running, postgres() as database:
        (running.directory / "dsn").write_text(database.dsn)
        pair = Pair(running)
        pair.begin()
        before_s = running.cpu_s_by_program()
        calls, clients_s, played_s = submitted(running, pair, rate, seconds, kill_s)
        after_s = running.cpu_s_by_program()
        there = running.records()
        moved = HistoryStore(PostgresDatabase(lambda: database.dsn)).page(Query()).jobs
        etcd_mib = running.etcd_mib()
        pair.end()
    told = {str(call.job_id) for call in calls if call.job_id}
    uids = _uids_by_number((*there, *moved))
    spent_s = {name: total_s - before_s.get(name, 0.0) for name, total_s in after_s.items()}
    return Found(
        calls=calls,
        kills=pair.kills,
        memory_mib=pair.memory_mib,
        placed=len(running.volcano.placed),
        there=len(there),
        moved=len(moved),
        lost=len(told - uids.keys()),
        doubled=sum(len(having) > 1 for having in uids.values()),
        untold=len(uids.keys() - told),
        cpu_s={"users": clients_s, "played cluster": played_s, **spent_s},
        etcd_mib=etcd_mib,
    )


def _uids_by_number(jobs: Iterable[Object]) -> Mapping[str, set[str]]:
    """A job that moves is in both places, with one uid."""
    found: dict[str, set[str]] = {}
    for obj in jobs:
        if number := obj.get("status", {}).get("jobId"):
            found.setdefault(number, set()).add(obj["metadata"]["uid"])
    return found
