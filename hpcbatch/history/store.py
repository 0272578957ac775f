"""The table of ended jobs: each as its whole BatchJob, compressed, with a few columns for queries."""

from __future__ import annotations

import base64
import binascii
import json
import threading
import zlib
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from hpcbatch.api.port import Object
from hpcbatch.errors import GoneError
from hpcbatch.history.databases import Cursor, Database, HistoryError
from hpcbatch.history.query import Query
from hpcbatch.history.tables import cells_of, columns_mark
from hpcbatch.units import parse_rfc3339

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_AT_ONCE = 1000
_T = TypeVar("_T")
_NOT_KEPT = ("managedFields", "finalizers")
_IN_CELLS = ("row", "rowMark")
"""Of a job's status, what only listings read."""

# Times are microseconds since 1970. `began` is the start of a job that never started: its end.
# `cells` is the job as a row of a listing, ready to be sent; `cells_of` identifies its columns.
# Each index ends with the columns that order the pages.
_MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE hpcbatch_jobs (
            uid TEXT PRIMARY KEY, number BIGINT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
            owner TEXT NOT NULL, queue TEXT NOT NULL, job_name TEXT NOT NULL, state TEXT NOT NULL,
            array_number BIGINT, began BIGINT NOT NULL, ended BIGINT NOT NULL, account TEXT NOT NULL,
            cpus BIGINT NOT NULL, cpu_used_s BIGINT, eligible BIGINT, is_array INTEGER NOT NULL,
            has_started INTEGER NOT NULL, body {blob} NOT NULL, cells TEXT NOT NULL, cells_of TEXT NOT NULL
        )""",
        "CREATE INDEX hpcbatch_jobs_by_end ON hpcbatch_jobs (ended, uid)",
        "CREATE INDEX hpcbatch_jobs_by_namespace ON hpcbatch_jobs (namespace, ended, uid)",
        "CREATE INDEX hpcbatch_jobs_by_owner ON hpcbatch_jobs (owner, ended, uid)",
        "CREATE INDEX hpcbatch_jobs_by_state ON hpcbatch_jobs (state, ended, uid)",
        "CREATE INDEX hpcbatch_jobs_by_number ON hpcbatch_jobs (number)",
        "CREATE INDEX hpcbatch_jobs_by_array ON hpcbatch_jobs (array_number)",
        "CREATE INDEX hpcbatch_jobs_by_name ON hpcbatch_jobs (name, namespace)",
    ),
)
"""The statements that migrate each version to the next; `{blob}` is the database's type for bytes."""

_COLUMNS = (
    "uid",
    "number",
    "namespace",
    "name",
    "owner",
    "queue",
    "job_name",
    "state",
    "array_number",
    "began",
    "ended",
    "account",
    "cpus",
    "cpu_used_s",
    "eligible",
    "is_array",
    "has_started",
    "body",
    "cells",
    "cells_of",
)
_PUT = (
    f"INSERT INTO hpcbatch_jobs ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))}) "  # noqa: S608
    f"ON CONFLICT (uid) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _COLUMNS[1:])}"
)


_USAGE = (
    "number, owner, queue, account, state, cpus, eligible / 1000000, "
    "CASE WHEN has_started = 1 THEN began / 1000000 END, ended / 1000000, cpu_used_s"
)
Usage = list[list[Any]]
"""One row per job: number, owner, queue, account, state, CPUs; when it could start, started and ended, in seconds since
1970; CPU seconds used. None: unknown, or never started.
"""


class Page(NamedTuple):
    """Some of the matching jobs. `more` is the token of the next page; "" at the end."""

    jobs: list[Object]
    more: str


class Listed(NamedTuple):
    """A job as a row of a listing."""

    uid: str
    namespace: str
    name: str
    cells: str
    """The values of `tables.columns`, as JSON."""


class Listing(NamedTuple):
    """Some of the matching jobs. `more` as in Page."""

    rows: list[Listed]
    more: str


class HistoryStore:
    """Ended BatchJobs in a database. All calls raise HistoryError while it cannot be used; safe from all threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._is_ready = False

    def close(self) -> None:
        self._database.close()

    def put(self, jobs: Iterable[Object]) -> None:
        """Store these, all or none; a stored job is replaced."""
        rows = [_row(job) for job in jobs]

        def work(cursor: Cursor) -> None:
            for row in rows:
                cursor.execute(_PUT, row)

        self._run(work)

    def page(self, query: Query, *, limit: int = 0, after: str = "") -> Page:
        """The matching jobs, in the order of their ends. `limit` 0: all. `after` is the `more` of the previous page.
        Raises GoneError for an invalid one.
        """
        rows, more = self._part("body", query, limit, after)
        return Page([_object(body) for *_, body in rows], more)

    def packed(self, query: Query, *, limit: int = 0, after: str = "") -> tuple[list[bytes], str]:
        """As `page`, each job as JSON compressed by zlib, as stored; and `more`."""
        rows, more = self._part("body", query, limit, after)
        return [body for *_, body in rows], more

    def listing(self, query: Query, *, limit: int = 0, after: str = "") -> Listing:
        """As `page`, with the cells of a listing: ten times faster, because the jobs themselves are not read."""
        rows, more = self._part("namespace, name, cells, cells_of", query, limit, after)
        mark = columns_mark()
        found = []
        for _, uid, namespace, name, cells, kept_of in rows:
            text = cells if kept_of == mark else self._cells_anew(uid)
            if text is not None:
                found.append(Listed(uid, namespace, name, text))
        return Listing(found, more)

    def _cells_anew(self, uid: str) -> str | None:
        """The cells of a job that another version stored with other columns; None if it was removed."""
        rows = self._select("SELECT body FROM hpcbatch_jobs WHERE uid = ?", [uid])
        return cells_of(_object(rows[0][0])) if rows else None

    def _part(self, columns: str, query: Query, limit: int, after: str) -> tuple[list[tuple[Any, ...]], str]:
        """End, uid and `columns` of the jobs of a page, and the token of the next one."""
        where, values = _conditions(query)
        if after:
            where.append("(ended, uid) > (?, ?)")
            values += _read_token(after)
        sql = f"SELECT ended, uid, {columns} FROM hpcbatch_jobs WHERE {' AND '.join(where) or '1 = 1'}"  # noqa: S608
        rows = self._select(f"{sql} ORDER BY ended, uid" + (f" LIMIT {limit + 1:d}" if limit else ""), values)
        has_more = bool(limit) and len(rows) > limit
        rows = rows[:limit] if has_more else rows
        return rows, _token(*rows[-1][:2]) if has_more else ""

    def usage(self, query: Query) -> Usage:
        """The data that reports need of the matching jobs, without their bodies: a hundred thousand take half a second.
        Includes the members of arrays instead of the arrays.
        """
        where, values = _conditions(query)
        sql = f"SELECT {_USAGE} FROM hpcbatch_jobs WHERE {' AND '.join([*where, 'is_array = 0'])}"  # noqa: S608
        return [list(row) for row in self._select(sql, values)]

    def get(self, namespace: str, name: str) -> Object | None:
        """The BatchJob of that name; of several over time the last."""
        sql = "SELECT body FROM hpcbatch_jobs WHERE name = ? AND namespace = ? ORDER BY ended DESC LIMIT 1"
        rows = self._select(sql, [name, namespace])
        return _object(rows[0][0]) if rows else None

    def by_number(self, number: int) -> Object | None:
        """The job of that number."""
        rows = self._select("SELECT body FROM hpcbatch_jobs WHERE number = ? ORDER BY ended DESC LIMIT 1", [number])
        return _object(rows[0][0]) if rows else None

    def member(self, array: int, name: str) -> Object | None:
        """The member of that name of the array of that number."""
        sql = "SELECT body FROM hpcbatch_jobs WHERE name = ? AND array_number = ?"
        rows = self._select(sql, [name, array])
        return _object(rows[0][0]) if rows else None

    def remove(self, namespace: str, name: str) -> None:
        """Delete a job, if it exists."""
        sql = "DELETE FROM hpcbatch_jobs WHERE name = ? AND namespace = ?"
        self._run(lambda cursor: cursor.execute(sql, (name, namespace)))

    def remove_ended_before(self, when: datetime) -> bool:
        """Delete the oldest of the jobs that ended before `when`; True if there are more of them."""
        limit = _micros(when)

        def work(cursor: Cursor) -> bool:
            cursor.execute(
                "SELECT uid FROM hpcbatch_jobs WHERE ended < ? ORDER BY ended, uid LIMIT ?", (limit, _AT_ONCE)
            )
            found = cursor.fetchall()
            for row in found:
                cursor.execute("DELETE FROM hpcbatch_jobs WHERE uid = ?", row)
            return len(found) == _AT_ONCE

        return self._run(work)

    def count(self, query: Query) -> int:
        """The number of matching jobs."""
        where, values = _conditions(query)
        sql = f"SELECT COUNT(*) FROM hpcbatch_jobs WHERE {' AND '.join(where) or '1 = 1'}"  # noqa: S608
        return int(self._select(sql, values)[0][0])

    def highest_number(self) -> int:
        """The highest number of all jobs; 0 if there are none."""
        return int(self._select("SELECT MAX(number) FROM hpcbatch_jobs", [])[0][0] or 0)

    def _select(self, sql: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        def work(cursor: Cursor) -> list[tuple[Any, ...]]:
            cursor.execute(sql, tuple(values))
            return cursor.fetchall()

        return self._run(work)

    def _run(self, work: Callable[[Cursor], _T]) -> _T:
        with self._lock:
            if not self._is_ready:
                self._database.transaction(self._migrate)
                self._is_ready = True
        return self._database.transaction(work)

    def _migrate(self, cursor: Cursor) -> None:
        self._database.lock_schema(cursor)
        cursor.execute("CREATE TABLE IF NOT EXISTS hpcbatch_schema (version INTEGER NOT NULL)")
        cursor.execute("SELECT version FROM hpcbatch_schema")
        rows = cursor.fetchall()
        version = int(rows[0][0]) if rows else 0
        if version > len(_MIGRATIONS):
            raise HistoryError(
                f"the history's tables have version {version}, made by a newer hpcbatch: this one knows "
                f"{len(_MIGRATIONS)}"
            )
        for statements in _MIGRATIONS[version:]:
            for statement in statements:
                cursor.execute(statement.format(blob=self._database.blob))
        if not rows:
            cursor.execute("INSERT INTO hpcbatch_schema (version) VALUES (?)", (len(_MIGRATIONS),))
        elif version < len(_MIGRATIONS):
            cursor.execute("UPDATE hpcbatch_schema SET version = ?", (len(_MIGRATIONS),))


def end_of(job: Object) -> datetime:
    """When a job ended; if that is missing, when it was made."""
    return parse_rfc3339((job.get("status") or {}).get("endTime") or job["metadata"]["creationTimestamp"])


def _row(job: Object) -> tuple[object, ...]:
    metadata, status = job["metadata"], job["status"]
    kept = {
        "metadata": {key: value for key, value in metadata.items() if key not in _NOT_KEPT},
        "status": {key: value for key, value in status.items() if key not in _IN_CELLS},
    }
    body = json.dumps(job | kept, separators=(",", ":")).encode()
    ended = _micros(end_of(job))
    began = _micros(parse_rfc3339(status["startTime"])) if status.get("startTime") else ended
    summary: Object = status.get("summary") or {}
    eligible = parse_rfc3339(status["eligibleTime"]) if status.get("eligibleTime") else None
    return (
        metadata["uid"],
        int(status["jobId"]),
        metadata["namespace"],
        metadata["name"],
        _plain(status.get("owner")),
        _plain(status.get("queue")),
        _plain(job["spec"].get("name")),
        status["state"],
        (job["spec"].get("memberOf") or {}).get("arrayId"),
        began,
        ended,
        _plain(summary.get("account")),
        summary.get("cpus") or 0,
        status.get("cpuUsedSeconds"),
        None if eligible is None else _micros(eligible),
        int("array" in job["spec"]),
        int(bool(status.get("startTime"))),
        zlib.compress(body, 6),
        cells_of(job),
        columns_mark(),
    )


def _plain(text: str | None) -> str:
    """Text that PostgreSQL accepts; the body has the whole text."""
    return (text or "").replace("\0", "").encode("utf-8", "replace").decode()


def _object(body: bytes) -> Object:
    found: Object = json.loads(zlib.decompress(body))
    return found


def _conditions(query: Query) -> tuple[list[str], list[object]]:
    where: list[str] = []
    values: list[object] = []
    sets: tuple[tuple[str, str, tuple[object, ...]], ...] = (
        ("namespace", "IN", () if query.namespace is None else (query.namespace,)),
        ("name", "IN", query.names),
        ("number", "IN", query.numbers),
        ("array_number", "IN", query.array_numbers),
        ("owner", "IN", query.owners),
        ("queue", "IN", query.queues),
        ("job_name", "IN", query.job_names),
        ("state", "IN", query.states),
        ("state", "NOT IN", query.other_states),
    )
    for column, operator, wanted in sets:
        if wanted:
            where.append(f"{column} {operator} ({', '.join('?' * len(wanted))})")
            values += wanted
    if query.no_members:
        where.append("+array_number IS NULL")  # `+` prevents the use of this index: the one by end gives the order
    for condition, when in (
        ("ended >= ?", query.ended_after),
        ("ended < ?", query.ended_before),
        ("began < ?", query.began_before),
    ):
        if when is not None:
            where.append(condition)
            values.append(_micros(when))
    return where, values


def _micros(when: datetime) -> int:
    return (when - _EPOCH) // _MICROSECOND


def _token(ended: object, uid: object) -> str:
    return base64.urlsafe_b64encode(json.dumps([ended, uid]).encode()).decode().rstrip("=")


def _read_token(token: str) -> tuple[int, str]:
    try:
        ended, uid = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        return int(ended), str(uid)
    except (binascii.Error, ValueError, TypeError):
        raise GoneError(410, "Expired", "the continue token is not one that this server gave") from None
