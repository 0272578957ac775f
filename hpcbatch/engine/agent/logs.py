"""Where the logs of a pod's containers lie in its directory: `<container>.<n>.log`, n for each start. Containers have
no dots in their names.
"""

from __future__ import annotations

import os
from pathlib import Path

_END_BYTES = 32768
_TAIL_BYTES = 2048
_TAIL_LINES = 80


def latest(directory: Path, container: str, *, previous: bool = False) -> Path | None:
    """The log of the latest run, or with `previous` of the one before; None if there is none (yet)."""
    numbers = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                owner, _, rest = entry.name.partition(".")
                number = rest.removesuffix(".log")
                if owner == container and number.isdecimal():
                    numbers.append(int(number))
    except OSError:
        return None
    wanted = sorted(numbers)[:-1] if previous else sorted(numbers)
    return path(directory, container, wanted[-1]) if wanted else None


def path(directory: Path, container: str, number: int) -> Path:
    return directory / f"{container}.{number}.log"


def end(log: Path | None) -> str:
    """The last lines of a log."""
    if log is None:
        return ""
    try:
        with log.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _END_BYTES))
            return file.read().decode(errors="replace")
    except OSError:  # removed meanwhile
        return ""


def tail(log: Path | None) -> str:
    """What a container said last, for its termination message: at most 80 lines and 2048 bytes. Source: kubelet."""
    if log is None:
        return ""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 4 * _TAIL_BYTES))
            lines = file.read().splitlines(keepends=True)[-_TAIL_LINES:]
    except OSError:
        return ""
    return b"".join(line.split(b" ", 3)[-1] for line in lines)[-_TAIL_BYTES:].decode(errors="replace")
