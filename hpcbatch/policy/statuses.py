"""The status of a job while its run goes on and ends, with the usage of its pods."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from hpcbatch.dataclass import replace
from hpcbatch.model.chunk import of_each_pod
from hpcbatch.model.record import ExecHost, HostUsage, JobStatus
from hpcbatch.model.state import JobState, Reason
from hpcbatch.model.warning import with_warning
from hpcbatch.policy.deadlines import without_grant
from hpcbatch.policy.observed import Observed, PodView, Waiting
from hpcbatch.policy.steps import with_steps
from hpcbatch.typed import Any
from hpcbatch.volcano.report import RunReport

GIVEN_BACK = frozenset({Reason.NODE_LOST, Reason.PREEMPTED})
"""For a job that is requeued because its run was lost."""
_OVERDUE_AFTER = timedelta(seconds=20)
_OVERDUE_AFTER_WITH_PEERS = timedelta(seconds=60)
"""How long after its time limit and the delay before KILL a run is ended if its runner has not done so. The runner
starts the script some time after the pods, once they reach each other. A script can stop the runner or its timer."""
NOT_STARTED: dict[str, Any] = {"hosts": (), "start_time": None, "session_id": None}
NOTHING_USED: dict[str, Any] = {
    "cpu_used_s": None,
    "max_rss_bytes": None,
    "usage": (),
    "steps": (),
    "step_count": 0,
}


def queued_again(status: JobStatus, now: datetime) -> JobStatus:
    return replace(
        without_grant(status),
        state=JobState.QUEUED,
        reason=Reason.NONE,
        message="",
        **NOT_STARTED,
        eligible_time=now,
        preempted=None,
        preempting=None,
        due_since=None,
        **NOTHING_USED,
    )


def why_it_waits(seen: Observed) -> Waiting:
    if seen.refused_pods is None:
        return seen.waiting
    reason = Reason.RESOURCES if seen.refused_pods.may_pass else Reason.NEVER_FITS
    return Waiting(reason=reason, message=seen.refused_pods.message)


def as_waiting(status: JobStatus, why: Waiting) -> JobStatus:
    return replace(
        status,
        state=JobState.QUEUED,
        reason=why.reason,
        message=why.message,
        **NOT_STARTED,
    )


def late_by(seen: Observed) -> timedelta:
    """How far a run may exceed its end before it is ended without its runner."""
    return _OVERDUE_AFTER if len(seen.pods) == 1 else _OVERDUE_AFTER_WITH_PEERS


def as_running(seen: Observed) -> JobStatus:
    pods = sorted(seen.pods, key=lambda pod: pod.index)
    report = next((pod.report for pod in pods if pod.index == 0), None)
    status = seen.record.status
    cpus = _cpus_of_pods(seen)
    hosts = tuple(
        ExecHost(node=node_of(status, pod), pod=pod.name, cpus=cpus.get(pod.index, pod.cpus))
        for pod in pods
        if not pod.is_launcher
    )
    running = replace(
        status,
        hosts=hosts if len(hosts) >= len(status.hosts) else status.hosts,
        session_id=status.session_id if report is None else report.session_id,
        **(_sums(seen.usage, {pod.name for pod in pods if pod.is_launcher}) if seen.usage else {}),
    )
    return _with_steps(running, seen)


def _cpus_of_pods(seen: Observed) -> dict[int, int]:
    """What the job has of the node of each pod, by the pod's index. A pod requests less while the job is suspended, or
    where it has a whole node.
    """
    first = 1 if any(pod.is_launcher for pod in seen.pods) else 0
    each = (chunk.cpus for chunk in of_each_pod(seen.record.status.layout))
    return dict(enumerate(each, first))


def _with_steps(status: JobStatus, seen: Observed) -> JobStatus:
    return replace(status, **with_steps(status, seen.steps, seen.pods, seen.now))


def node_of(status: JobStatus, pod: PodView) -> str:
    """The node of the run's pod of this name: Volcano may have recreated it, without a node so far."""
    return pod.node or next((host.node for host in status.hosts if host.pod == pod.name), "")


def cut_short(seen: Observed, reason: Reason, message: str, first: PodView | None) -> JobStatus:
    """Failed through no act of the script; any end that it reported only resulted from that."""
    return replace(as_ended(seen, JobState.FAILED, reason, message, first), exit_code=None, exit_signal=None)


def as_ended(seen: Observed, state: JobState, reason: Reason, message: str, first: PodView | None = None) -> JobStatus:
    status = seen.record.status if first is None or first.started_at is None else as_running(seen)
    report = None if first is None else first.report
    if report is not None:
        message = with_warning(message, report.message)
    end = (first.finished_at if first is not None else None) or seen.now
    ended = replace(status, state=state, reason=reason, message=message, end_time=end, is_rerunning=False)
    if reason is Reason.DELETED_BY_USER:
        ended = replace(ended, deleted_by=status.owner)
    if status.start_time is None:
        return ended
    elapsed_s = max(0, round((end - status.start_time).total_seconds()))
    if report is None:
        return replace(ended, walltime_used_s=_without_suspensions(status, end, elapsed_s))
    ended = replace(
        ended,
        exit_code=report.exit_code,
        exit_signal=report.signal,
        walltime_used_s=_walltime_used_s(seen, report, end, elapsed_s),
        session_id=report.session_id,
        **_usage(seen),
    )
    return _with_steps(ended, seen)


def _walltime_used_s(seen: Observed, report: RunReport, end: datetime, elapsed_s: int) -> int:
    """The runner's figure, since it measures the script; at least nearly the common running time of the pods."""
    if report.walltime_s is None:
        return _without_suspensions(seen.record.status, end, elapsed_s)
    began = max(pod.started_at for pod in seen.pods if pod.started_at)
    ran_s = (end - began).total_seconds() - seen.record.status.suspended_s(began, end) - late_by(seen).total_seconds()
    return min(max(report.walltime_s, round(ran_s)), max(elapsed_s, 0) + 1)


def _without_suspensions(status: JobStatus, end: datetime, elapsed_s: int) -> int:
    return elapsed_s if status.start_time is None else max(0, elapsed_s - status.suspended_s(status.start_time, end))


def _usage(seen: Observed) -> dict[str, Any]:
    """The usage of all pods: reported at their end, else their last report."""
    known = {usage.pod: usage for usage in (*seen.record.status.usage, *seen.usage)}
    used = []
    for pod in sorted(seen.pods, key=lambda pod: pod.index):
        before = known.get(pod.name, HostUsage(pod=pod.name))
        cpu_s, rss = (None, None) if pod.report is None else (pod.report.cpu_s, pod.report.max_rss_bytes)
        used.append(
            HostUsage(
                pod=pod.name,
                cpu_s=before.cpu_s if cpu_s is None else cpu_s,
                max_rss_bytes=before.max_rss_bytes if rss is None else rss,
            )
        )
    return _sums(used, {pod.name for pod in seen.pods if pod.is_launcher})


def _sums(usage: Sequence[HostUsage], launchers: Collection[str]) -> dict[str, Any]:
    """The fields of the status. A launcher counts in the sums, but is not among the hosts."""
    cpu_s = [host.cpu_s for host in usage if host.cpu_s is not None]
    rss = [host.max_rss_bytes for host in usage if host.max_rss_bytes is not None]
    known = (host for host in usage if host.cpu_s is not None or host.max_rss_bytes is not None)
    return {
        "cpu_used_s": sum(cpu_s) if cpu_s else None,
        "max_rss_bytes": sum(rss) if rss else None,
        "usage": tuple(host for host in known if host.pod not in launchers),
    }
