"""How many files the engine may have open: as many as it is allowed, its pods as many as whoever started it had."""

from __future__ import annotations

import resource
from typing import Final

_ENOUGH: Final = 65536
"""Some programs look at every number below the limit, so no more than is of use."""
_AT_START: Final = resource.getrlimit(resource.RLIMIT_NOFILE)


def raise_limit() -> None:
    """For this process. 1024, the usual soft limit, is a few hundred pods or clients."""
    soft, hard = _AT_START
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def restore_limit(pid: int) -> None:
    """For a child and what it starts: a program that calls select() fails above 1024."""
    resource.prlimit(pid, resource.RLIMIT_NOFILE, _AT_START)
