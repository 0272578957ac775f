"""Carries out what `decide` says of a job.

It may be killed between any two steps: the next look decides the same again.
"""

from __future__ import annotations

import logging

from hpcbatch.api.port import Api
from hpcbatch.api.resources import PODS
from hpcbatch.controller.job_pods import JobPods
from hpcbatch.controller.license_gate import LicenseGate
from hpcbatch.controller.own_writes import LAG_S
from hpcbatch.controller.plan_gate import PlanGate
from hpcbatch.controller.pod_cpus import PodCpus
from hpcbatch.controller.pod_requests import PodRequests
from hpcbatch.controller.records import Admitted, remove
from hpcbatch.controller.runs import Runs
from hpcbatch.controller.start_bar import StartBar
from hpcbatch.controller.statuses import Statuses
from hpcbatch.controller.volcano_jobs import VolcanoJobs
from hpcbatch.dataclass import replace
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.deadlines import with_grant_of, without_grant
from hpcbatch.policy.observed import Decision, Observed
from hpcbatch.policy.preempted import sooner
from hpcbatch.policy.settled import is_settled
from hpcbatch.volcano import job_names

_LOG = logging.getLogger(__name__)

_WAITING_LOOK_S = 30.0  # how often the numbers in a waiting job's reason are refreshed
_COMMAND_AGAIN_S = 5.0  # Volcano may be killed between taking a Command and carrying it out
_OF_PLAN = frozenset({Reason.PRIORITY, Reason.LIMIT, Reason.RESERVED, Reason.MAINTENANCE, Reason.RESERVATION})
"""What the plan keeps back: it wakes those jobs by itself."""


class Decisions:
    def __init__(
        self,
        api: Api,
        *,
        runs: Runs,
        plan: PlanGate,
        licenses: LicenseGate,
        volcano_jobs: VolcanoJobs,
        job_pods: JobPods,
        pod_requests: PodRequests,
        pod_cpus: PodCpus,
        start_bar: StartBar,
        statuses: Statuses,
    ) -> None:
        self._api, self._runs, self._plan, self._licenses = api, runs, plan, licenses
        self._volcano_jobs, self._job_pods, self._pod_requests = volcano_jobs, job_pods, pod_requests
        self._pod_cpus, self._start_bar, self._statuses = pod_cpus, start_bar, statuses

    def carry_out(self, job: Admitted, seen: Observed, decision: Decision) -> float | None:
        """In how many seconds the job is to be looked at again; None: with its next event."""
        decision = self._to_pods(job, seen, decision)
        made = seen.volcano_job is not None and not seen.volcano_job.is_deleting
        volcano_job = job_names.job_name(job.record.job_id) if made else job.volcano_job
        if decision.create:
            job, volcano_job, decision = self._create(job, decision)
        elif seen.volcano_job is None:
            self._licenses.give_back(job.record.job_id)
            self._plan.give_back(job.record)
        record = job.record
        record_now = replace(record, status=decision.status)
        status = self._pod_requests.pass_on(job, seen, record_now, let_start=decision.let_start)
        is_alone = status == decision.status
        decision = replace(decision, status=self._plan.ranked(record, self._plan.shown(record, status)))
        is_waiting = decision.delete and seen.volcano_job is not None and not seen.volcano_job.is_final
        if is_waiting and not self._start_bar.withdraw(record, in_part=seen.is_partial and seen.awaits_word):
            return LAG_S
        if decision.delete:
            volcano_job = ""  # written first: after a kill the next look decides the same again
        if decision.status != record.status or volcano_job != job.volcano_job:
            now, is_last = replace(record, status=decision.status), is_alone and is_settled(decision)
            if (not_yet_s := self._statuses.write(job, now, volcano_job, is_settled=is_last)) is not None:
                return not_yet_s
        if record.status.state is JobState.SUSPENDED:
            cpus_s = self._pod_cpus.carry_out(job, decision.status, self._job_pods.running(job.obj), seen.now)
            decision = replace(decision, look_again_s=sooner(decision.look_again_s, cpus_s))
        if decision.delete and seen.volcano_job is not None:
            self._volcano_jobs.remove(record, seen.volcano_job.uid)
            self._job_pods.forget_ended(job.key)
            if any(pod.is_refused for pod in seen.pods) and not decision.status.state.is_final:
                self._plan.was_refused(record, seen.volcano_job.uid)
        if decision.look_again_s is None and decision.status.reason in {Reason.RESOURCES, Reason.NEVER_FITS}:
            return _WAITING_LOOK_S
        return decision.look_again_s

    def _to_pods(self, job: Admitted, seen: Observed, decision: Decision) -> Decision:
        """What becomes of the pods that are there; returns what is left to do."""
        record, namespace = job.record, job.record.namespace
        if decision.terminate and (left_s := self._pod_requests.announce_end(job, seen)):
            decision = replace(decision, terminate=False, look_again_s=left_s)
        if decision.terminate:
            self._volcano_jobs.terminate(namespace, job_names.job_name(record.job_id))
            again_s = decision.look_again_s or _COMMAND_AGAIN_S
            decision = replace(decision, look_again_s=min(again_s, _COMMAND_AGAIN_S))
        if decision.let_start:
            first = next(pod for pod in seen.pods if pod.index == 0)
            # one that was altered meanwhile, to run only once, has the word but no bar yet
            has_word = record.spec.rerunnable and first.has_word
            decision = replace(decision, let_start=has_word or self._start_bar.let_start(record, first.uid))
        for pod in decision.give_up:
            _LOG.warning("pod %s/%s is given up: node %s does not answer", namespace, pod.name, pod.node)
            remove(self._api, PODS, pod.name, namespace, uid=pod.uid, grace_period_s=0)
        return decision

    def _create(self, job: Admitted, decision: Decision) -> tuple[Admitted, str, Decision]:
        """The job with the name of its Volcano Job, or with what prevents one."""
        job, obstacle = self._runs.create(job)
        if obstacle is None:
            status = with_grant_of(job.record.status, decision.status)
            return job, job_names.job_name(job.record.job_id), replace(decision, status=status)
        status = replace(without_grant(decision.status), reason=obstacle.reason, message=obstacle.message)
        # who goes first is a matter of the plan, which wakes those that it concerns
        looks_s = [] if obstacle.reason in _OF_PLAN else [_WAITING_LOOK_S]
        looks_s += [] if decision.look_again_s is None else [decision.look_again_s]
        return job, job.volcano_job, replace(decision, status=status, look_again_s=min(looks_s, default=None))
