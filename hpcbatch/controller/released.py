"""What the plan remembers of a job that it has released."""

from __future__ import annotations

from hpcbatch.api.port import Object
from hpcbatch.dataclass import dataclass
from hpcbatch.model.labels import PLANNED_ANNOTATION
from hpcbatch.model.record import JobRecord
from hpcbatch.model.scheduler import Scheduler
from hpcbatch.policy.lone_pod import is_given_away
from hpcbatch.policy.plan.snapshot import Place, Shape, Vector
from hpcbatch.policy.planned import BoundPod, added, placed_by, places_of
from hpcbatch.policy.views import volcano_job_view
from hpcbatch.units import parse_rfc3339
from hpcbatch.volcano.gangs.chosen import scheduler_of
from hpcbatch.volcano.pinned import is_pinned


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
    has_started: bool = False
    """It shows as running, since it was last restarted."""
    is_restarting: bool = False
    """Its pods are being made anew, in the same places: those of the run before may still have their nodes."""
    restarts: int = 0
    is_stalled: bool = False
    is_taken_back: bool = False
    """The record has no Volcano Job any more, but the caches still show it."""
    is_pinned: bool = False
    is_lone: bool = False
    """Another scheduler than Volcano's places its only pod."""
    scheduler: Scheduler = Scheduler.VOLCANO
    pods: tuple[BoundPod, ...] = ()

    @classmethod
    def found(cls, record: JobRecord, shape: Shape | None, volcano_job: Object | None, now_s: float) -> Released:
        """One that the caches show: a controller before this one has released it."""
        metadata = {} if volcano_job is None else volcano_job["metadata"]
        since = metadata.get("creationTimestamp")
        # one that Volcano has started anew by itself keeps what it counts for
        was_restarted = bool(((volcano_job or {}).get("status") or {}).get("retryCount"))
        scheduler = Scheduler.VOLCANO if volcano_job is None else scheduler_of(volcano_job)
        found = cls(
            record=record,
            shape=shape,
            places=places_of((metadata.get("annotations") or {}).get(PLANNED_ANNOTATION, "")),
            released_s=now_s if since is None else parse_rfc3339(since).timestamp(),
            is_fresh=False,
            was_bound=was_restarted and not scheduler.may_bind_in_part,
            is_pinned=volcano_job is not None and (scheduler.binds_one_by_one or is_pinned(volcano_job)),
            scheduler=scheduler,
        )
        found.take_note_of_job(record, volcano_job, now_s)
        return found

    def take_note_of_job(self, record: JobRecord, volcano_job: Object | None, now_s: float) -> None:
        """As the caches show it now. Where pods get their nodes one by one, a restarted job has to get them again."""
        self.is_fresh, self.is_taken_back, self.record = False, False, record
        if volcano_job is not None:
            self.is_lone = is_given_away(volcano_job)
        view = None if volcano_job is None or not self.scheduler.may_bind_in_part else volcano_job_view(volcano_job)
        started = record.status.start_time is not None
        if view is not None:
            started = view.is_of_this_run(record.status.start_time)
            is_again = view.restarts != self.restarts or self.is_restarting
            self.is_restarting, self.restarts = view.phase == "Restarting", view.restarts
            if self.is_restarting or is_again:
                self.was_bound, self.is_stalled, self.released_s = False, False, now_s
        self.has_started = started and not self.is_restarting
        self.was_bound = self.was_bound or self.has_started

    def placed(self, *, frees_cpus: bool = False) -> dict[str, Vector]:
        """What it takes of each node: its pods there, and where not all of them have theirs, what is planned.
        `frees_cpus`: it is suspended; else pods that have given up CPUs are about to get them again.
        """
        found: dict[str, Vector] = {}
        for pod in self.pods:
            takes = pod.takes
            if not frees_cpus and pod.whole_milli > takes.get("cpu", 0):
                takes = {**takes, "cpu": pod.whole_milli}
            found[pod.node] = added(found.get(pod.node, {}), takes)
        if not self.was_bound and self.shape is not None:
            for node, vector in placed_by(self.shape, self.places).items():
                there = found.get(node, {})
                found[node] = {name: max(there.get(name, 0), vector.get(name, 0)) for name in {*there, *vector}}
        return found

    def lacks_milli(self) -> dict[str, int]:
        """By node, the CPU that its pods have given up while it is suspended, in thousandths."""
        found: dict[str, int] = {}
        for pod in self.pods:
            found[pod.node] = found.get(pod.node, 0) + max(0, pod.whole_milli - pod.takes.get("cpu", 0))
        return found

    @property
    def waits(self) -> bool:
        """None of its pods has been placed; where it may have only some of its nodes, not all."""
        return not (self.was_bound or self.is_restarting) and (self.scheduler.may_bind_in_part or not self.pods)

    def take_note_of(self, pods: tuple[BoundPod, ...]) -> None:
        """What pods of it have nodes now; those of a run before may still be going."""
        self.pods = pods
        if self.is_restarting:
            return
        # one that is about to be started anew may still show the pods of the run before
        stays_bound = self.has_started or not self.scheduler.may_bind_in_part
        has_all = sum(not pod.is_leaving for pod in pods) >= self.size
        self.was_bound = has_all or (self.was_bound and stays_bound)

    @property
    def nodes(self) -> set[str]:
        """Where its pods are, or are to be."""
        return {place.node for place in self.places} | {pod.node for pod in self.pods}

    @property
    def size(self) -> int:
        return 0 if self.shape is None else sum(part.count for part in self.shape.parts)

    def stalled_text(self, after_s: float) -> str:
        """Why it is planned anew."""
        nodes = ", ".join(sorted({place.node for place in self.places})[:3])
        where = f" on {nodes}" if nodes else ""
        who = "Volcano" if self.scheduler is Scheduler.VOLCANO and not self.is_lone else "The scheduler"
        text = f"{who} has not started it{where} within {after_s:.0f} s"
        said = self.record.status.message
        return f"{text}: {said}" if said else text
