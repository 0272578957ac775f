"""Jobs whose nodes are to be near each other: which groups of nodes they may have. Pure.

Each choice of groups is a way in which the job can run, so the plan looks for one in which it can start the soonest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import combinations, islice

from hpcbatch.dataclass import replace
from hpcbatch.model.grouping import Grouping, Level
from hpcbatch.model.record import JobRecord
from hpcbatch.model.state import Reason
from hpcbatch.policy.observed import Waiting
from hpcbatch.policy.plan.snapshot import LabelTest, Part, Shape
from hpcbatch.typed import Final

MOST_CHOICES: Final = 64
"""So many choices of several groups are looked at."""


def groups_of(label: str, nodes: Iterable[Mapping[str, str]]) -> tuple[str, ...]:
    """The groups that there are, by the labels of all nodes, in order."""
    return tuple(sorted({labels[label] for labels in nodes if labels.get(label)}))


def until_s(record: JobRecord) -> float | None:
    """When the job has waited long enough for its groups, in seconds since the epoch; None: never."""
    grouping = record.spec.grouping
    since = record.status.eligible_time or record.status.submit_time
    if grouping is None or grouping.wait_s is None or since is None:
        return None
    begin = record.spec.begin_time
    return (since if begin is None else max(since, begin)).timestamp() + grouping.wait_s


def choices(
    shape: Shape, grouping: Grouping, label: str, groups: Collection[str], *, any_will_do: bool
) -> tuple[Shape, ...]:
    """The ways in which a job of that shape can run. `any_will_do`: it has waited long enough for its groups."""
    if len(groups) <= grouping.groups and groups:
        return (shape,)
    found = [_within(shape, label, some) for some in islice(combinations(groups, grouping.groups), MOST_CHOICES)]
    if not found:  # no node is in any group
        found = [_within(shape, label, ())]
    return (*found, shape) if any_will_do else tuple(found)


def apart(level: Level, *, is_for_ever: bool) -> Waiting:
    """What a job shows that would have its nodes if they might be anywhere."""
    if is_for_ever:
        return Waiting(reason=Reason.NEVER_FITS, message=f"No {level.name} has all the nodes that the job needs")
    return Waiting(reason=Reason.RESOURCES, message=f"Not enough free nodes of one {level.name}")


def _within(shape: Shape, label: str, groups: Iterable[str]) -> Shape:
    test = LabelTest(key=label, values=frozenset(groups))

    def kept(part: Part) -> Part:
        return replace(part, terms=tuple((*term, test) for term in part.terms) or ((test,),))

    return replace(shape, parts=tuple(map(kept, shape.parts)))
