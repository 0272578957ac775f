"""A job's files as its user reads them: the end of its output, and pictures that it has drawn."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2s
from pathlib import Path
from typing import NamedTuple

from hpcbatch.dialects.registry import door
from hpcbatch.errors import HpcBatchError
from hpcbatch.maps.names import PAGE
from hpcbatch.model.placed import of_run
from hpcbatch.model.record import JobRecord
from hpcbatch.volcano import job_names

_TAIL = 1 << 16  # bytes
_LARGEST_OUTPUT = 1 << 25  # bytes
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PNG = b"\x89PNG\r\n\x1a\n"
_LARGEST_PICTURE = 32 << 20  # bytes
_LARGEST_PAGE = 64 << 20  # bytes
_MOST_PICTURES = 200
_VALID = re.compile(r"_\d{4}-\d\d-\d\d_\d{6}$", re.ASCII)
"""At the end of a map's name: the time that it is for."""
_MOST_FOLDERS = 60


class NoFileError(HpcBatchError):
    """There is no such file for this user on this machine."""


class Stream(NamedTuple):
    """Where a run writes one of its streams."""

    name: str
    paths: tuple[Path, ...]
    """The first of these that there is: the name while it runs, and the last."""


class Tail(NamedTuple):
    """The end of a file."""

    name: str
    path: Path
    text: str
    is_whole: bool
    size_bytes: int
    problem: str = ""


def streams(record: JobRecord) -> list[Stream]:
    """Those of the job's current or last run, by the dialect's rules."""
    job = of_run(record, job_names.pods(record.job_id, record.layout))
    output = door(record.spec.dialect).run_setup(job).output
    found = [("Output", output.stdout, output.stdout_in_dir, output.stdout_meanwhile)]
    if output.stderr is not None and output.stderr != output.stdout:
        found.append(("Errors", output.stderr, output.stderr_in_dir, output.stderr_meanwhile))
    return [Stream(name, tuple(_places(Path(path), inside, meanwhile))) for name, path, inside, meanwhile in found]


def _places(path: Path, inside: str | None, meanwhile: str) -> Iterator[Path]:
    is_folder = inside is not None and path.is_dir()
    if meanwhile:
        yield (path if is_folder else path.parent) / meanwhile
    yield path / inside if is_folder and inside else path


def open_regular(path: Path) -> int:
    """A descriptor to read from. What is no file (a pipe would wait for ever) is an OSError. The caller closes it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "not a file")
    return descriptor


def tail(stream: Stream) -> Tail:
    """The last 64 KiB."""
    problem = ""
    for path in stream.paths:
        try:
            with open(open_regular(path), "rb") as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(max(0, size - _TAIL))
                content = file.read(_TAIL)
        except FileNotFoundError:
            problem = "not written yet, or not on this machine"
            continue
        except OSError as error:
            problem = (error.strerror or str(error)).lower()
            continue
        is_whole = size <= _TAIL
        if not is_whole:
            content = content.partition(b"\n")[2] or content
        return Tail(stream.name, path, as_shown(content.decode("utf-8", "replace")), is_whole, size)
    return Tail(stream.name, stream.paths[-1], "", is_whole=True, size_bytes=0, problem=problem)


def whole(stream: Stream) -> bytes:
    """The file, of a large one its end. Raises NoFileError."""
    problem = ""
    for path in stream.paths:
        try:
            with open(open_regular(path), "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - _LARGEST_OUTPUT))
                return file.read(_LARGEST_OUTPUT)
        except OSError as error:
            problem = f"{path}: {error.strerror or error}"
    raise NoFileError(problem)


def as_shown(text: str) -> str:
    """As a terminal would show it: without colours; of lines that were written over, as progress bars are, the last."""
    plain = _COLOURS.sub("", text).replace("\r\n", "\n")
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in plain.split("\n"))


class Picture(NamedTuple):
    """A file that a job has drawn."""

    key: str
    """Names it in an address."""
    path: Path
    modified: float


def pictures(folders: Iterable[Path], since: float) -> list[Picture]:
    """PNG files there and one level below that were written since then, the newest first, as many as a page shows."""
    return _newest(folders, since, ".png", _LARGEST_PICTURE)[:_MOST_PICTURES]


def last_of_series(drawn: Sequence[Picture]) -> tuple[list[Picture], list[Picture]]:
    """Of the maps of each kind that for the latest time, and the rest, each in the order of names; pictures that are no
    map of a series are a series each.
    """
    last: dict[tuple[Path, str], Picture] = {}
    for picture in sorted(drawn, key=lambda one: one.path):
        last[picture.path.parent, _VALID.sub("", picture.path.stem)] = picture
    chosen = set(last.values())
    return list(last.values()), sorted(set(drawn) - chosen, key=lambda one: one.path)


def forecast_pages(folders: Iterable[Path], since: float) -> list[Picture]:
    """Pages with all of a forecast, in the same places."""
    return [one for one in _newest(folders, since, PAGE, _LARGEST_PAGE) if one.path.name == PAGE]


def _newest(folders: Iterable[Path], since: float, ending: str, largest: int) -> list[Picture]:
    found: dict[Path, Picture] = {}
    for folder in _with_below(folders):
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not entry.name.endswith(ending) or not entry.is_file():
                        continue
                    status = entry.stat()
                    if status.st_mtime >= since and 0 < status.st_size <= largest:
                        path = Path(entry.path)
                        key = blake2s(f"{path} {status.st_mtime_ns}".encode(), digest_size=10).hexdigest()
                        found[path] = Picture(key, path, status.st_mtime)
        except OSError:
            continue
    return sorted(found.values(), key=lambda one: (-one.modified, one.path.name))


def _with_below(folders: Iterable[Path]) -> list[Path]:
    found: dict[Path, None] = {}
    for folder in folders:
        found[folder] = None
        try:
            with os.scandir(folder) as entries:
                below = sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
        except OSError:
            continue
        found.update(dict.fromkeys(map(Path, below[:_MOST_FOLDERS])))
    return list(found)


def read_picture(path: Path) -> bytes:
    """Raises NoFileError for what is no PNG, whatever its name says."""
    content = _read(path, _LARGEST_PICTURE)
    if not content.startswith(_PNG):
        raise NoFileError("the file is no picture")
    return content


def read_page(path: Path) -> bytes:
    """Raises NoFileError."""
    return _read(path, _LARGEST_PAGE)


def _read(path: Path, largest: int) -> bytes:
    try:
        with open(open_regular(path), "rb") as file:
            content = file.read(largest + 1)
    except OSError as error:
        raise NoFileError(f"{path.name} cannot be read: {error.strerror}") from None
    if len(content) > largest:
        raise NoFileError(f"{path.name} is too large")
    return content
