"""The input of `decide` for one job, from the caches, the clock and, where the caches may lag behind, the API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta

from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import EVENTS
from hpcbatch.controller.dependents import Dependents
from hpcbatch.controller.job_pods import JobPods
from hpcbatch.controller.koordinator_reasons import why_koordinator_waits
from hpcbatch.controller.kueue_reasons import why_kueue_waits
from hpcbatch.controller.live_usage import LiveUsage
from hpcbatch.controller.node_rooms import NodeRooms
from hpcbatch.controller.pod_cpus import PodCpus
from hpcbatch.controller.records import Admitted
from hpcbatch.controller.site_source import SiteSource
from hpcbatch.controller.start_bar import StartBar
from hpcbatch.controller.volcano_jobs import VolcanoJobs
from hpcbatch.dataclass import replace
from hpcbatch.model.queue_switches import Switches
from hpcbatch.model.record import HostUsage, JobRecord, Preempted
from hpcbatch.model.state import JobState, Reason
from hpcbatch.model.step import MAX_STEPS
from hpcbatch.policy.freed_cpus import has_its_cpus
from hpcbatch.policy.observed import Observed, PodView, Waiting
from hpcbatch.policy.plausible import NodeSize, plausible_usage
from hpcbatch.policy.pod_creation import Refusals
from hpcbatch.policy.reserved import ends_at, is_deleted
from hpcbatch.policy.standstill import is_suspended_for_another
from hpcbatch.policy.stops import stopped_because
from hpcbatch.policy.views import problem_from_events
from hpcbatch.policy.waiting import explain
from hpcbatch.record.batchjob import is_suspended
from hpcbatch.volcano.step_report import StepReport

_SILENT = timedelta(seconds=10)  # normal starts take less
_SILENT_ASKED = 3


class Observer:
    """`usage` is None if the logs of running jobs are not read. `withdrawn` says why the plan takes back a job that
    Volcano has not started, `preempted` that a running one ends for another.
    """

    def __init__(
        self,
        api: Api,
        sites: SiteSource,
        *,
        volcano_jobs: VolcanoJobs,
        job_pods: JobPods,
        rooms: NodeRooms,
        refusals: Refusals,
        dependents: Dependents,
        start_bar: StartBar,
        usage: LiveUsage | None,
        switches: Callable[[str], Switches],
        withdrawn: Callable[[JobRecord], Waiting | None],
        preempted: Callable[[JobRecord], Preempted | None],
        pod_cpus: PodCpus,
        may_go_on: Callable[[JobRecord], bool],
    ) -> None:
        self._api, self._sites, self._volcano_jobs, self._job_pods = api, sites, volcano_jobs, job_pods
        self._rooms, self._refusals, self._dependents = rooms, refusals, dependents
        self._start_bar, self._usage, self._switches, self._withdrawn = start_bar, usage, switches, withdrawn
        self._preempted, self._pod_cpus, self._may_go_on = preempted, pod_cpus, may_go_on

    def observe(self, job: Admitted) -> Observed:
        return self._with_cpus(job, self._observed(job))

    def _with_cpus(self, job: Admitted, seen: Observed) -> Observed:
        """Of a job that is suspended, or is to be."""
        status = job.record.status
        is_still = status.state is JobState.SUSPENDED
        if not (is_still or seen.is_suspended or is_suspended_for_another(status)):
            return seen
        pods = self._job_pods.running(job.obj)
        waits = is_still and status.frees_cpus and not (seen.is_suspended or seen.delete_requested)
        return replace(
            seen,
            why_not_freed=self._pod_cpus.why_not_freed(job.key, pods),
            has_cpus=has_its_cpus(pods),
            may_go_on=waits and self._may_go_on(job.record),
        )

    def _observed(self, job: Admitted) -> Observed:
        record, now, site = job.record, datetime.now(UTC), self._sites.in_force.config
        made = self._volcano_jobs.of(job)
        volcano_job = None if made is None else self._volcano_jobs.view(job, made)
        pods = self._job_pods.seen(job, made, volcano_job)
        views, is_final = pods.views, volcano_job is not None and volcano_job.is_final
        return Observed(
            record=record,
            delete_requested=bool(job.obj["spec"].get("deleteRequested")) or is_deleted(record, site, now),
            ends_at=ends_at(record, site, now),
            volcano_job=volcano_job,
            was_created=bool(job.volcano_job),
            pods=self._with_events(record.namespace, views, now),
            pods_wanted=pods.wanted,
            waiting=self._waiting(record, made, pods.unplaced)
            if volcano_job and (volcano_job.lacks_nodes(views, pods.wanted) or not any(v.node for v in views))
            else Waiting(reason=Reason.NONE, message=""),
            now=now,
            is_barred=is_final and not views and self._start_bar.has_started(record),
            refused_pods=self._refusals.about(made) if made is not None and not pods.are_complete else None,
            kill_delay_s=site.kill_delay_s,
            start_limit_s=site.image_pull_timeout_s,
            outlook=self._dependents.look(record, now),
            followers=self._dependents.followers(record),
            stopped=self._stopped(record) or self._withdrawn(record),
            is_suspended=is_suspended(job.obj["spec"], record.status.run_count),
            preemption=self._preempted(record) if record.status.preempted is None else None,
            steps=self._steps(job, views),
            usage=() if self._usage is None else _plausible_usage(self._usage.of(job.obj), views, pods.sizes, now),
        )

    def _steps(self, job: Admitted, views: Iterable[PodView]) -> Mapping[str, StepReport]:
        """What the pods have said of the steps of srun; of the first one, at its end, also what only its log has."""
        if self._usage is None:
            return {}
        found = self._usage.steps_of(job.obj)
        first = next((view for view in views if view.index == 0), None)
        if first is None or first.report is None or job.record.status.state.is_final:
            return found
        if len(first.report.steps.steps) >= min(first.report.steps.total, MAX_STEPS):
            return found
        pod = self._job_pods.last_seen_first(job)
        return found if pod is None else {**found, first.name: self._usage.last_steps(pod)}

    def _with_events(self, namespace: str, views: Iterable[PodView], now: datetime) -> list[PodView]:
        """Add problems that only Events report for slow-starting pods; of a few pods, which mostly share the cause."""
        silent = [
            view for view in views if view.is_silent and view.bound_at is not None and now - view.bound_at > _SILENT
        ][:_SILENT_ASKED]
        problems: dict[int, str] = {}
        for view in silent:
            fields = f"involvedObject.kind=Pod,involvedObject.name={view.name},involvedObject.uid={view.uid}"
            problems[view.index] = problem_from_events(self._api.list(EVENTS, namespace, fields=fields).items)
        return [replace(view, problem=problems[view.index]) if view.index in problems else view for view in views]

    def _stopped(self, record: JobRecord) -> Waiting | None:
        queue = self._sites.in_force.config.queue(record.queue)
        return None if queue is None else stopped_because(queue, self._switches(queue.volcano_queue))

    def _waiting(self, record: JobRecord, made: Object | None, unplaced: Iterable[str]) -> Waiting:
        if made is not None:
            why = why_kueue_waits(self._api, made) or why_koordinator_waits(made, unplaced)
            if why is not None:
                return why
        site = self._sites.in_force.config
        queue = site.queue(record.queue)
        if queue is None:
            return Waiting(reason=Reason.NONE, message="")
        return explain(
            record.status.layout, self._rooms.get(), is_scattered=record.spec.is_scattered, queue=queue, site=site
        )


def _plausible_usage(
    usage: Iterable[HostUsage], views: Iterable[PodView], sizes: Mapping[str, NodeSize], now: datetime
) -> tuple[HostUsage, ...]:
    begun = {view.name: (view.started_at, sizes.get(view.node)) for view in views if view.started_at is not None}
    return tuple(
        plausible_usage(one, (now - begun[one.pod][0]).total_seconds(), begun[one.pod][1])
        for one in usage
        if one.pod in begun
    )
