"""Where the logs of a pod's containers lie: `logs/<container>/<n>.log`, n for each start."""

from __future__ import annotations

import os
from pathlib import Path

_END_BYTES = 32768


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
