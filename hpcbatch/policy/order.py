"""Which of two waiting jobs goes first, and how they change places."""

from __future__ import annotations

from collections.abc import Callable

from hpcbatch.model.record import JobRecord, OrderPlace
from hpcbatch.model.row import JobRow
from hpcbatch.model.spec import MAX_WEIGHT

HIGHEST = MAX_WEIGHT - 1
_MOST_MILLIS = 2**62


def weight_of(row: JobRow) -> int:
    return row.priority - row.nice


def exchanged_place(
    record: JobRecord, other: JobRecord, request_id: str, rank_of: Callable[[JobRecord], float | None]
) -> OrderPlace:
    """The place of one of two jobs after their exchange; the other may have made it already. `rank_of`: with what
    earlier exchanges have added.
    """
    mine, theirs = record.status.order or OrderPlace(), other.status.order or OrderPlace()
    if theirs.exchange_id == request_id:
        by, number = -theirs.by_millis, theirs.number_before
    else:
        by = _millis((rank_of(other) or 0.0) - (rank_of(record) or 0.0))
        number = theirs.number or other.job_id
    return OrderPlace(
        number=number,
        shift_millis=_bounded(mine.shift_millis + by),
        exchange_id=request_id,
        by_millis=by,
        number_before=mine.number or record.job_id,
    )


def _millis(rank: float) -> int:
    return _bounded(round(max(-1e18, min(1e18, rank)) * 1000))


def _bounded(millis: int) -> int:
    return max(-_MOST_MILLIS, min(_MOST_MILLIS, millis))


def line_place(weight: int, job_id: int, array_id: int | None, index: int | None, number: int = 0) -> tuple[float, ...]:
    """The place of a waiting job among all: the smallest goes first. Members of an array have its place. `number`: of
    the job in whose place it waits.
    """
    came = (number or job_id, 0) if array_id is None else (number or array_id, index or 0)
    return -weight, *came, job_id  # not as floats: each would take memory of its own


def exchanged(one: JobRow, other: JobRow) -> dict[int, int]:
    """The weights of both, by number, that put each in the other's place, where nothing but these counts.

    Jobs of the same weight start in the order in which they came, which nothing changes there. So the earlier one of
    two goes behind the later one, and behind all others of their weight; nobody else's job is overtaken.
    """
    earlier, later = sorted((one, other), key=lambda row: (-weight_of(row), row.job_id))
    high, low = weight_of(earlier), weight_of(later)
    if high != low:
        return {earlier.job_id: low, later.job_id: high}
    if high > -MAX_WEIGHT:
        return {earlier.job_id: high - 1, later.job_id: high}
    return {earlier.job_id: high, later.job_id: high + 1}
