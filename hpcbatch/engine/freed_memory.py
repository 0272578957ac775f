"""Memory that the engine has freed and the C library still keeps: an arena for each of its threads."""

from __future__ import annotations

import ctypes


def return_freed() -> None:
    """Return it to the system. A C library without malloc_trim(3) keeps it."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
