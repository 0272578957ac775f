"""PBS's preempt_order: by which methods a job of a lower queue makes room, tried in turn. `SCR`, or `SCR 80 SC 50 S`:
SC for a job that has 80 % of its walltime left or less, S for one that has 50 % or less.

Source: get_preemption_order and action_sched_preempt_order of OpenPBS 23.06.
"""

from __future__ import annotations

from hpcbatch.errors import HpcBatchError
from hpcbatch.typed import Final, NamedTuple

METHODS: Final = "SCRD"
"""Suspend, checkpoint, requeue, delete. There are no checkpoints here, so that C never succeeds."""
_MOST_BANDS: Final = 20


class Band(NamedTuple):
    least: int
    """Of the per cent of its walltime that a job has left, rounded down."""
    most: int
    methods: str


def bands_of(text: str) -> tuple[Band, ...]:
    """Raises HpcBatchError for what PBS would not take."""
    words = text.split()
    found: list[Band] = []
    most = 100
    for at in range(0, len(words), 2):
        methods, border = words[at], words[at + 1] if at + 1 < len(words) else None
        if not set(methods) <= set(METHODS) or len(set(methods)) < len(methods):
            raise HpcBatchError(f"{methods} is not some of the letters {METHODS}, each once")
        if border is not None and not (border.isascii() and border.isdigit() and len(border) < 4):
            raise HpcBatchError(f"{border} is no per cent of a walltime")
        found.append(Band(0 if border is None else int(border) + 1, most, methods))
        most = most if border is None else int(border)
    if not found or len(found) > _MOST_BANDS:
        raise HpcBatchError(f"expected some of the letters {METHODS}, such as SCR, or SCR 80 SC 50 S")
    return tuple(found)


def methods_of(text: str, walltime_s: int | None, ran_s: float) -> str:
    """Of a job that has run so long."""
    found = bands_of(text)
    if len(found) == 1 or not walltime_s:
        return found[0].methods
    left = int(100 - 100 * ran_s / walltime_s)
    left = 1 if left < 0 else left
    return next((band.methods for band in found if band.least <= left <= band.most), found[0].methods)


def borders_s(text: str, walltime_s: int | None) -> tuple[int, ...]:
    """After how many seconds of running other methods may hold for a job, ascending."""
    if not walltime_s:
        return ()
    # what is left is rounded down: it is 80 % as soon as it is less than 81 %
    return tuple(sorted({max(0, (99 - band.most) * walltime_s // 100 + 1) for band in bands_of(text)[1:]}))
