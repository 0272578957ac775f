"""The limit of open files: the engine raises its own as far as it may, its pods get the one it was started with."""

from __future__ import annotations

import resource
from typing import Final

_ENOUGH: Final = 65536
"""An upper bound: some programs loop over every descriptor below the limit."""
_AT_START: Final = resource.getrlimit(resource.RLIMIT_NOFILE)


def raise_limit() -> None:
    """Raise it for this process. 1024, the usual soft limit, allows only a few hundred pods or clients."""
    soft, hard = _AT_START
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def restore_limit(pid: int) -> None:
    """Restore it for a child and its descendants: a program that calls select() fails above 1024."""
    resource.prlimit(pid, resource.RLIMIT_NOFILE, _AT_START)
