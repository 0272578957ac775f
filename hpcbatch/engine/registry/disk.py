"""The store's objects on disk: a row each, in SQLite.

At first each write is a transaction. From `group` on, rows wait for the next one, which comes after a moment, with a
write of a thread that waits for none (`at_once`), or when somebody calls `flush`: an object that has changed several
times meanwhile is written once. What a killed process had not written it must not have acted on outside either. So its
parts call `flush` before anything leaves the process: an answer, a pod's start, a mail, a job for the history.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from hpcbatch.api import compact
from hpcbatch.errors import ApiError, HpcBatchError

_LOG = logging.getLogger(__name__)
_AGAIN_S = 1.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (
    grp TEXT NOT NULL, plural TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (grp, plural, namespace, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT OR IGNORE INTO counters VALUES ('revision', 1);
"""

Object = dict[str, Any]
Place = tuple[str, str, str, str]
"""Group, plural, namespace and name."""


class _OfThread(threading.local):
    waits_for_none = False


class Disk:
    """`lock` is the store's: every method takes it."""

    def __init__(self, path: str, lock: AbstractContextManager[bool]) -> None:
        """`path` is a file, or `:memory:`. The process that has it open keeps every other one out."""
        self._path, self._lock = path, lock
        self._waiting: dict[Place, str | None] = {}
        self._newest = 0
        self._told: list[Callable[[], None]] = []
        self._of_thread = _OfThread()
        self._is_grouping = self._has_failed = False
        self._due, self._closing = threading.Event(), threading.Event()
        if path != ":memory:":
            _make_private(Path(path))
        try:
            self.db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0.5)
            self._open()
        except (sqlite3.Error, ValueError) as error:
            raise HpcBatchError(f"cannot open the engine's store {path}: {_reason(error)}") from error

    def _open(self) -> None:
        db = self.db
        db.execute("PRAGMA locking_mode=EXCLUSIVE")
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
        db.execute("PRAGMA cache_size=-512")  # KiB; nothing is read again, since all objects are in memory
        db.execute("BEGIN EXCLUSIVE")
        db.execute("COMMIT")
        db.executescript(_SCHEMA)
        self.revision: int = db.execute("SELECT value FROM counters WHERE name = 'revision'").fetchone()[0]
        """The newest that is on disk."""

    def read(self) -> Iterator[tuple[Place, Object]]:
        """All objects."""
        try:
            for *place, body in self.db.execute("SELECT grp, plural, namespace, name, body FROM objects"):
                yield (place[0], place[1], place[2], place[3]), compact.read(body)
        except (sqlite3.Error, ValueError) as error:
            raise HpcBatchError(f"cannot open the engine's store {self._path}: {_reason(error)}") from error

    def group(self, after_s: float) -> None:
        """From now on a write waits for others, so long at most."""
        self._is_grouping = True
        threading.Thread(target=self._flush_in_time, args=[after_s], name="store", daemon=True).start()

    def write(self, rows: Mapping[Place, str | None], revision: int) -> None:
        """Write objects' JSON, None to remove one. Raises ApiError 500 if the disk refuses; then nothing of this write
        has happened.
        """
        with self._lock:
            if self._is_grouping and not self._has_failed and not self._of_thread.waits_for_none:
                self._waiting.update(rows)
                self._newest = revision
                if not self._due.is_set():
                    self._due.set()
            else:
                self._commit({**self._waiting, **rows}, revision)

    def flush(self) -> None:
        """Returns when all that was written is on disk. Raises ApiError 500."""
        with self._lock:
            if self._waiting:
                self._commit(self._waiting, self._newest)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """What this thread writes inside is on disk when the write returns, and in the end what it has read is, too:
        but of a full disk, where reading goes on.
        """
        self._of_thread.waits_for_none = True
        try:
            yield
        finally:
            self._of_thread.waits_for_none = False
            self._try_to_flush()

    def when_written(self, tell: Callable[[], None]) -> None:
        """Call `tell`, under the lock, when all that was written until now is on disk."""
        with self._lock:
            if self._waiting:
                self._told.append(tell)
            else:
                tell()

    def close(self) -> None:
        self._closing.set()
        self._due.set()
        with self._lock:
            self._try_to_flush()
            self._waiting = {}
            self.db.close()

    def _commit(self, rows: Mapping[Place, str | None], revision: int) -> None:
        db = self.db
        try:
            db.execute("BEGIN IMMEDIATE")
            if kept := [(*place, text) for place, text in rows.items() if text is not None]:
                db.executemany("INSERT OR REPLACE INTO objects VALUES (?,?,?,?,?)", kept)
            if removed := [place for place, text in rows.items() if text is None]:
                db.executemany("DELETE FROM objects WHERE grp=? AND plural=? AND namespace=? AND name=?", removed)
            db.execute("UPDATE counters SET value=? WHERE name='revision'", (revision,))
            db.execute("COMMIT")
        except sqlite3.Error as error:
            self._has_failed = True
            try:
                if db.in_transaction:
                    db.execute("ROLLBACK")
            except sqlite3.Error:
                pass  # SQLite has rolled back by itself, as it does when the disk is full
            message = f"Internal error occurred: the engine's store {self._path} cannot be written: {_reason(error)}"
            raise ApiError(500, "InternalError", message) from error
        self._has_failed = False
        self._waiting = {}
        self._due.clear()
        self.revision = revision
        told, self._told = self._told, []
        for tell in told:
            tell()

    def _flush_in_time(self, after_s: float) -> None:
        while not self._closing.is_set():
            self._due.wait()
            self._closing.wait(_AGAIN_S if self._has_failed else after_s)
            self._try_to_flush()

    def _try_to_flush(self) -> None:
        try:
            self.flush()
        except ApiError as error:
            _LOG.error("%s", error)


def _make_private(path: Path) -> None:
    """The store holds Secrets: nobody else may read it, nor SQLite's other files, which take its mode.
    A file that is there is not opened for this: closing it would give up the locks of a store that this process has.
    """
    try:
        if not path.exists():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        elif path.is_file():
            path.chmod(0o600)
    except OSError as error:
        raise HpcBatchError(f"cannot open the engine's store {path}: {error.strerror}") from error


def _reason(error: Exception) -> str:
    text = str(error)
    return "it is in use by another engine" if text == "database is locked" else text
