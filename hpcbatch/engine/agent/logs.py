"""Where the logs of a pod's containers lie: `logs/<container>/<n>.log`, n for each start."""

from __future__ import annotations

import os
from pathlib import Path

_END_BYTES = 32768
_TAIL_BYTES = 2048
_TAIL_LINES = 80


def latest(directory: Path, container: str, *, previous: bool = False) -> Path | None:
    """The log of the latest run, or with `previous` of the one before; None if there is none (yet)."""
    if "/" in container:
        return None
    try:
        numbers = sorted(int(path.stem) for path in (directory / container).iterdir() if path.stem.isdecimal())
    except OSError:
        return None
    wanted = numbers[:-1] if previous else numbers
    return directory / container / f"{wanted[-1]}.log" if wanted else None


def end(path: Path | None) -> str:
    """The last lines of a log."""
    if path is None:
        return ""
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _END_BYTES))
            return file.read().decode(errors="replace")
    except OSError:  # removed meanwhile
        return ""


def tail(path: Path | None) -> str:
    """What a container said last, for its termination message: at most 80 lines and 2048 bytes. Source: kubelet."""
    if path is None:
        return ""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 4 * _TAIL_BYTES))
            lines = file.read().splitlines(keepends=True)[-_TAIL_LINES:]
    except OSError:
        return ""
    return b"".join(line.split(b" ", 3)[-1] for line in lines)[-_TAIL_BYTES:].decode(errors="replace")
