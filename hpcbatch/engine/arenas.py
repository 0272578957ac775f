"""How the C library divides the engine's memory: by default into an arena for each of its threads, of which each keeps
what it has ever had.
"""

from __future__ import annotations

import ctypes
from typing import Final

_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
_LARGE_BYTES: Final = 256 * 1024


def use_one_arena() -> None:
    """Python runs one thread at a time: one arena is enough. Blocks as large as the pages of lists are returned to the
    system when they are freed. Call it before there are threads; a C library without mallopt(3) does without.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 1)
        mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
