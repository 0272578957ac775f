"""A large table of ended jobs in PostgreSQL: what the last day of a user costs, and the removal of what is old."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from bench.controller.etcd import like
from bench.controller.rig import USERS
from hpcbatch.history.databases import PostgresDatabase
from hpcbatch.history.query import Query
from hpcbatch.history.store import HistoryStore
from tests.postgres import postgres

ROWS, DAYS = 1_000_000, 100
_MULTIPLY = """
INSERT INTO hpcbatch_jobs SELECT
    '00000000-0000-4000-8000-' || lpad(i::text, 12, '0'), i,
    'user' || lpad((i % {users})::text, 2, '0'), 'pbs-row-' || i, 'user' || lpad((i % {users})::text, 2, '0'),
    queue, job_name, state, array_number,
    {last} - ({rows} - i) * {each}::bigint, {last} - ({rows} - i) * {each}::bigint, account,
    cpus, cpu_used_s, eligible, is_array, has_started, body, cells, cells_of
FROM hpcbatch_jobs, generate_series(1, {rows}) i
"""
"""Of the one row that there is, so many, evenly over the days, of all users in turn."""


def main(rows: int = ROWS) -> None:
    import psycopg

    now = datetime.now(UTC)
    with postgres() as database:
        store = HistoryStore(PostgresDatabase(lambda: database.dsn))
        store.put([like()])
        each = timedelta(days=DAYS) // timedelta(microseconds=1) // rows
        began = time.perf_counter()
        with psycopg.connect(database.dsn, autocommit=True) as connection:
            last = int(now.timestamp() * 1e6)
            connection.execute(_MULTIPLY.format(users=len(USERS), last=last, rows=rows, each=each))
            connection.execute("VACUUM ANALYZE hpcbatch_jobs")
            table, indexes = _sizes(connection)
        print(
            f"{rows} rows of {DAYS} days and {len(USERS)} users, made in {time.perf_counter() - began:.0f} s:",
            flush=True,
        )
        print(
            f"  {table / rows:.0f} bytes each, and {indexes / rows:.0f} in indexes; {(table + indexes) / 2**30:.2f} GiB"
        )
        of_user = Query(namespace=USERS[0], owners=(USERS[0],), ended_after=now - timedelta(days=1))
        _tell("a user's last day, whole records (sacct)", lambda: len(store.packed(of_user)[0]))
        _tell("a user's last day, rows (qstat -x)", lambda: len(store.listing(of_user).rows))
        _tell("all users' last day, rows", lambda: len(store.listing(Query(ended_after=now - timedelta(days=1))).rows))
        _tell("one job by its number", lambda: store.by_number(rows // 2) is not None)
        _tell("the last 30 days for a report", lambda: len(store.usage(Query(ended_after=now - timedelta(days=30)))))
        _tell("the oldest 1,000 removed", lambda: store.remove_ended_before(now - timedelta(days=DAYS - 10)))
        store.close()


def _tell(what: str, act: Callable[[], object]) -> None:
    """The median of five."""
    times = []
    for _ in range(5):
        began = time.perf_counter()
        found = act()
        times.append(time.perf_counter() - began)
    print(f"  {what:45} {found!s:>8} {sorted(times)[2] * 1000:9.1f} ms", flush=True)


def _sizes(connection: Any) -> tuple[int, int]:
    """Bytes of the table, and of its indexes."""
    found = connection.execute("SELECT pg_table_size('hpcbatch_jobs'), pg_indexes_size('hpcbatch_jobs')").fetchone()
    return int(found[0]), int(found[1])
