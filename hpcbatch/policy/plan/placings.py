"""Where a job is placed: as a plan tells it, as a job claims it, and what limits count of it there."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.policy.plan.compiled import Option
from hpcbatch.policy.plan.estate import Spot
from hpcbatch.policy.plan.limits import Count
from hpcbatch.policy.plan.packing import Placing
from hpcbatch.policy.plan.snapshot import NODES, Place, WaitingJob
from hpcbatch.policy.plan.tally import Uses


def counted_of(job: WaitingJob, uses: Uses, placed: list[Placing]) -> Uses:
    """With the number of nodes, now that it is known."""
    if job.uses is not None or not any(count.limit.what == NODES for count in uses):
        return uses
    nodes = len({spot for _, spot, _ in placed})
    return tuple(Count(c.key, nodes, c.limit, c.binds) if c.limit.what == NODES else c for c in uses)


def claimed(job: WaitingJob, option: Option, spots: Mapping[str, Spot]) -> list[Placing] | None:
    """The places that the job claims; None if they are not what it needs, or a node cannot be used any more."""
    counts = [0] * len(option.parts)
    placed: list[Placing] = []
    for place in job.claim:
        spot = spots.get(place.node)
        if spot is None or place.part >= len(counts) or spot not in option.parts[place.part][0].filter.able:
            return None
        counts[place.part] += place.count
        placed.append((place.part, spot, place.count))
    return placed if counts == [count for _, count in option.parts] else None


def places_of(placed: list[Placing]) -> tuple[Place, ...]:
    return tuple(Place(part=part, node=spot.name, count=count) for part, spot, count in placed)
