"""The log of a WRF run: where a job's is, and reading it as it grows."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

from hpcbatch.cli.common import complain
from hpcbatch.cli.wrf.directory import read_namelist
from hpcbatch.errors import HpcBatchError
from hpcbatch.typed import TYPE_CHECKING
from hpcbatch.wrf.log import MAIN_LOG, OUT_LOG, Log, Progress, progress, witness
from hpcbatch.wrf.run import Program
from hpcbatch.wrf.settings import Settings, dates

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord

_PART = 1 << 22  # bytes read at once
_HEAD = 256  # bytes by which a log that was begun anew is told
_FIRST_LINES = 4096  # bytes; the name of rank 0's host stands on the first line
_MOST_DIRECTORIES = 2000  # looked into below those of a job
_JOB_HOST = re.compile(r"^\s*taskid: 0 hostname: job-([0-9]{1,18})-mpi", re.MULTILINE)


def directories(record: JobRecord) -> list[Path]:
    """Where a job's script may run WRF, the likeliest first: scripts change to where they were submitted."""
    spec, status = record.spec, record.status
    places = (spec.submit_dir, spec.work_dir, status.home)
    return [Path(place) for place in dict.fromkeys(places) if place]


def log_of(record: JobRecord) -> LogFile | None:
    """The log that rank 0 has written in a pod of this job, in one of its directories or up to two levels below."""
    if record.status.start_time is None:
        return None
    since = record.status.start_time.timestamp() - 1
    places = directories(record)
    for place in chain(places, islice(_below(places[:2]), _MOST_DIRECTORIES)):
        file = LogFile(place / MAIN_LOG)
        if file.is_newer(since) and file.job_number() == record.job_id:
            return file
    return None


def _below(places: Iterable[Path], levels: int = 2) -> Iterator[Path]:
    """The directories below, level by level; links are not followed."""
    found = []
    for place in places:
        try:
            with os.scandir(place) as entries:
                found += sorted(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))
        except OSError:
            continue
    yield from found
    if levels > 1 and found:
        yield from _below(found[:_MOST_DIRECTORIES], levels - 1)


class LogFile:
    """The two logs of rank 0, named by that of its errors."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._error, self._out = _Reader(path), _Reader(path.with_name(OUT_LOG))

    @property
    def _is_out_older(self) -> bool:
        """A program begins both anew: then it is not the one that knows more, or is left over from another run."""
        return self._out.modified < self._error.modified

    @property
    def log(self) -> Log:
        return self._error.log if self._is_out_older else witness(self._error.log, self._out.log)

    @property
    def files(self) -> list[BinaryIO]:
        """Those that were read and may tell how the run ended."""
        found = [self._error.file] if self._is_out_older else [self._error.file, self._out.file]
        return [file for file in found if file is not None]

    @property
    def modified(self) -> float:
        return max(self._error.modified, self._out.modified)

    @property
    def quiet_s(self) -> float:
        return max(0.0, time.time() - self.modified) if self.modified else 0.0

    def is_newer(self, since: float | None) -> bool:
        try:
            return since is None or self.path.stat().st_mtime >= since
        except OSError:
            return False

    def read(self) -> bool:
        """Whether these are other logs than at the last look. Raises HpcBatchError if they cannot be read."""
        is_new = [each.read() for each in (self._error, self._out)]
        return any(is_new)

    def finish(self) -> None:
        """Nothing more is expected."""
        self._error.log.finish()
        self._out.log.finish()

    def job_number(self) -> int | None:
        """Of the job in whose pod rank 0 ran; None where the log does not say, or it ran in none of ours."""
        try:
            with self.path.open("rb") as file:
                head = file.read(_FIRST_LINES).decode("latin-1")
        except OSError:
            return None
        match = _JOB_HOST.search(head)
        return None if match is None else int(match[1])


class _Reader:
    """Reads what a file has got more since the last look; a program that starts anew cuts it to nothing first."""

    def __init__(self, path: Path) -> None:
        self._path, self.log = path, Log()
        self.file: BinaryIO | None = None
        """As last read; it stays open, since scripts move logs away after a run."""
        self._offset, self._head = 0, b""
        self.modified = 0.0

    def read(self) -> bool:
        try:
            file = self._path.open("rb")
            if self.file is not None:
                self.file.close()
            self.file = file
            status = os.fstat(file.fileno())
            self.modified = status.st_mtime
            head = file.read(_HEAD)
            is_new = status.st_size < self._offset or not head.startswith(self._head)
            if is_new:
                self.log, self._offset = Log(), 0
            self._head = head
            file.seek(self._offset)
            while part := file.read(_PART):
                self._offset += len(part)
                self.log.feed(part.decode("latin-1"))
            return is_new
        except FileNotFoundError:
            return False  # moved away; what was read holds
        except OSError as error:
            raise HpcBatchError(f"{self._path}: {error.strerror}") from None


def settings_of(folder: Path, *, is_told: bool = True) -> Settings | None:
    try:
        return Settings(read_namelist(folder))
    except HpcBatchError as error:
        if is_told:
            complain(f"hpcbatch: {error}: without it there is no percentage and no time left")
        return None


def progress_of(log: Log, settings: Settings | None) -> Progress:
    if settings is None:
        return progress(log, None, None)
    start, end = settings.start(), settings.run_end()
    total = None
    if log.program is Program.REAL and start is not None:
        last = settings.end()
        total = len(dates(start, last, settings.interval)) if last is not None else None
    return progress(log, start, end, total)
