"""The two databases that can hold the history: a SQLite file, or PostgreSQL. Both get the same SQL."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from hpcbatch.errors import UnreachableError

_T = TypeVar("_T")
_CONNECTIONS = 4
_LOCKED_S = 10.0
_DEFAULTS: dict[str, Any] = {
    "application_name": "hpcbatch",
    "connect_timeout": 5,
    # a server that vanished silently is noticed after half a minute
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
"""Settings of connections whose address does not set them."""
_STATEMENT_MS = 60_000


class HistoryError(UnreachableError):
    """The database cannot be used now; the text has the reason, without the password. Retried later."""


class Cursor(Protocol):
    """The part of Python's database API that is used here. `?` is a placeholder for a value."""

    def execute(self, sql: str, values: tuple[object, ...] = ()) -> object: ...

    def fetchall(self) -> list[tuple[Any, ...]]: ...


class Database(Protocol):
    blob: str
    """The type of a column of bytes."""

    def transaction(self, work: Callable[[Cursor], _T]) -> _T:
        """Returns the result of `work`. Done completely or not at all, and perhaps twice: after a lost connection it is
        retried once. Raises HistoryError.
        """

    def lock_schema(self, cursor: Cursor) -> None:
        """Prevent others from changing the tables until the transaction ends."""

    def close(self) -> None: ...


class SqliteDatabase:
    """A file that only this process uses."""

    blob = "BLOB"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        try:
            if not path.exists():  # other users must not read who ran what
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=_LOCKED_S)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=FULL")  # the BatchJob is deleted right after
        except (sqlite3.Error, OSError) as error:
            raise HistoryError(f"the history {path} cannot be opened: {error}") from error

    def transaction(self, work: Callable[[Cursor], _T]) -> _T:
        with self._lock:
            try:
                cursor = self._connection.cursor()
                cursor.execute("BEGIN")
                result = work(cursor)
                cursor.execute("COMMIT")
            except sqlite3.Error as error:
                self._roll_back()
                raise HistoryError(f"the history {self._path} cannot be used: {error}") from error
            except BaseException:
                self._roll_back()
                raise
            return result

    def _roll_back(self) -> None:
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error:
            pass  # SQLite rolls back by itself, for example when the disk is full

    def lock_schema(self, cursor: Cursor) -> None:
        """Nobody else uses the file."""

    def close(self) -> None:
        with self._lock:
            self._connection.close()


class PostgresDatabase:
    """A server; `dsn` is called for each new connection, so a renewed password needs no restart.
    It connects at the first transaction.
    """

    blob = "BYTEA"

    def __init__(self, dsn: Callable[[], str]) -> None:
        self._dsn = dsn
        self._idle: list[Any] = []
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(_CONNECTIONS)

    def transaction(self, work: Callable[[Cursor], _T]) -> _T:
        import psycopg

        with self._slots:
            while True:
                connection, is_new = self._take()
                try:
                    with connection.transaction():
                        result = work(_PostgresCursor(connection.cursor()))
                except psycopg.Error as error:
                    is_lost = connection.closed or connection.broken
                    connection.close()
                    if is_lost and not is_new:
                        continue  # the server was restarted since; the next connection may be new
                    raise HistoryError(f"the history database cannot be used: {_one_line(error)}") from None
                except BaseException:
                    connection.close()
                    raise
                with self._lock:
                    self._idle.append(connection)
                return result

    def _take(self) -> tuple[Any, bool]:
        """A connection, and whether it is new."""
        import psycopg

        with self._lock:
            if self._idle:
                return self._idle.pop(), False
        try:
            text = self._dsn()
        except OSError as error:
            raise HistoryError(f"the address of the history database cannot be read: {error}") from None
        try:
            wanted: dict[str, Any] = {**_DEFAULTS, **psycopg.conninfo.conninfo_to_dict(text)}
        except psycopg.Error:  # its text may contain a part of the password
            raise HistoryError("the address of the history database is not a connection string") from None
        try:
            connection = psycopg.connect(**wanted, autocommit=True)
            connection.execute(f"SET statement_timeout = {_STATEMENT_MS}")
        except psycopg.Error as error:
            raise HistoryError(f"the history database cannot be reached: {_one_line(error)}") from None
        return connection, True

    def lock_schema(self, cursor: Cursor) -> None:
        cursor.execute("SELECT pg_advisory_xact_lock(7236419085)")  # any number that nobody else uses

    def close(self) -> None:
        with self._lock:
            for connection in self._idle:
                connection.close()
            self._idle.clear()


class _PostgresCursor:
    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    def execute(self, sql: str, values: tuple[object, ...] = ()) -> object:
        return self._cursor.execute(sql.replace("?", "%s"), values or None)

    def fetchall(self) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self._cursor.fetchall()
        return found


def _one_line(error: Exception) -> str:
    """libpq's text, which never contains the password."""
    return " ".join(str(error).split()) or type(error).__name__
