"""Which of two waiting jobs goes first, and how they change places."""

from __future__ import annotations

from hpcbatch.model.row import JobRow
from hpcbatch.model.spec import MAX_WEIGHT

HIGHEST = MAX_WEIGHT - 1


def weight_of(row: JobRow) -> int:
    return row.priority - row.nice


def line_place(weight: int, job_id: int, array_id: int | None, index: int | None) -> tuple[float, ...]:
    """The place of a waiting job among all: the smallest goes first. Members of an array have its place."""
    came = (job_id, 0) if array_id is None else (array_id, index or 0)
    return float(-weight), float(came[0]), float(came[1]), float(job_id)


def exchanged(one: JobRow, other: JobRow) -> dict[int, int]:
    """The weights of both, by number, that put each in the other's place.

    Jobs of the same weight start in the order in which they came, which nothing changes. So the earlier one of two goes
    behind the later one, and behind all others of their weight; nobody else's job is overtaken.
    """
    earlier, later = sorted((one, other), key=lambda row: (-weight_of(row), row.job_id))
    high, low = weight_of(earlier), weight_of(later)
    if high != low:
        return {earlier.job_id: low, later.job_id: high}
    if high > -MAX_WEIGHT:
        return {earlier.job_id: high - 1, later.job_id: high}
    return {earlier.job_id: high, later.job_id: high + 1}
