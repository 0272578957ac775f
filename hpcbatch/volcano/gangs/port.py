"""What the job controller asks of a gang's scheduler."""

from __future__ import annotations

from collections.abc import Callable, Collection

from hpcbatch.typed import Any, Protocol

Object = dict[str, Any]
PriorityOf = Callable[[str], int]
"""The value of a PriorityClass."""


class Gang(Protocol):
    group_api: str
    """The apiVersion of its PodGroups; "": it has none."""
    admits_group: bool
    """Pods are made only when the scheduler has let their PodGroup in."""
    may_overlook: bool
    """The scheduler may have looked at the last pod before it counted it, and looks again when the PodGroup changes."""

    def group_name(self, job: Object) -> str:
        """Of the Volcano Job's PodGroup."""

    def group(self, job: Object, waiting_tasks: Collection[str], priority_of: PriorityOf) -> Object:
        """The PodGroup as it is to be. `waiting_tasks` are not part of the gang yet."""

    def pod(self, pod: Object, job: Object) -> Object:
        """The pod of the job as the scheduler is to see it. It may be altered."""
