"""The files of the accounting log: one a day, `YYYYMMDD`, as in PBS's server_priv/accounting."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import tzinfo
from pathlib import Path

from hpcbatch.dialects.pbs.accounting import Entry
from hpcbatch.errors import HpcBatchError

_MODE = 0o640
_LOCK = ".lock"


def write_days(directory: Path, entries: Iterable[Entry], timezone: tzinfo | None) -> int:
    """Add the `entries` that the files lack; how many these are. What a file says already stays as it is.

    A file is replaced as a whole, so that it is never seen half-written, also after a kill; two at once wait for each
    other. Raises HpcBatchError if that cannot be done.
    """
    days: dict[str, list[Entry]] = {}
    for entry in entries:
        days.setdefault(entry.when.astimezone(timezone).strftime("%Y%m%d"), []).append(entry)
    try:
        directory.mkdir(mode=0o750, parents=True, exist_ok=True)
        with _locked(directory / _LOCK):
            return sum(_write_day(directory / day, found, timezone) for day, found in sorted(days.items()))
    except OSError as error:
        raise HpcBatchError(f"{error.filename or directory}: {error.strerror}") from None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _write_day(path: Path, entries: list[Entry], timezone: tzinfo | None) -> int:
    old = path.read_text().splitlines(keepends=True) if path.exists() else []
    known = {_key(line) for line in old}
    new = [line for line in (entry.line(timezone) for entry in entries) if _key(line) not in known]
    if not new:
        return 0
    # sorted() keeps the order of what happened in one second
    lines = sorted((*old, *new), key=_time)
    draft = path.with_name(f".{path.name}.new")
    with draft.open("w") as file:
        draft.chmod(_MODE)
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    return len(new)


def _key(line: str) -> str:
    """What makes an entry this one: time, letter and job."""
    return ";".join(line.split(";", 3)[:3])


def _time(line: str) -> str:
    return line.partition(";")[0]
