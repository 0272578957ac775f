"""What the plan remembers of a job that it has released."""

from __future__ import annotations

from hpcbatch.dataclass import dataclass
from hpcbatch.model.record import JobRecord
from hpcbatch.model.scheduler import Scheduler
from hpcbatch.policy.plan.snapshot import Place, Shape
from hpcbatch.policy.planned import BoundPod


@dataclass(slots=True)
class Released:
    """A job that has a Volcano Job, or is just getting it."""

    record: JobRecord
    shape: Shape | None
    places: tuple[Place, ...]
    released_s: float
    is_fresh: bool
    """The caches do not show its Volcano Job yet."""
    was_bound: bool = False
    """All its pods have had their nodes."""
    is_stalled: bool = False
    is_pinned: bool = False
    scheduler: Scheduler = Scheduler.VOLCANO
    pods: tuple[BoundPod, ...] = ()

    @property
    def waits(self) -> bool:
        """None of its pods has been placed; where it may have only some of its nodes, not all."""
        return not self.was_bound and (self.scheduler.may_bind_in_part or not self.pods)

    def take_note_of(self, pods: tuple[BoundPod, ...]) -> None:
        """What pods of it have nodes now; those of a run before may still be going."""
        self.pods = pods
        self.was_bound = self.was_bound or sum(not pod.is_leaving for pod in pods) >= self.size

    @property
    def size(self) -> int:
        return 0 if self.shape is None else sum(part.count for part in self.shape.parts)

    def stalled_text(self, after_s: float) -> str:
        """Why it is planned anew."""
        nodes = ", ".join(sorted({place.node for place in self.places})[:3])
        where = f" on {nodes}" if nodes else ""
        who = "Volcano" if self.scheduler is Scheduler.VOLCANO else "The scheduler"
        text = f"{who} has not started it{where} within {after_s:.0f} s"
        said = self.record.status.message
        return f"{text}: {said}" if said else text
