"""Requests to a running job, passed to the runner in its first pod: signals, a new walltime, suspension, the requeue
of its run; and the permission to start, which a job waits for that must not run twice.

Pods do not call the API. An annotation of the pod holds the requests; a downwardAPI volume shows it as a file, which
the kubelet updates when the annotation changes, and runner/watch/watch.sh reads once a second. The text follows from
the record and the previous text, so a controller that was killed in between writes the same again, and each signal is
sent once.
"""

from __future__ import annotations

import signal as unix_signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import PODS
from hpcbatch.controller.job_pods import JobPods
from hpcbatch.controller.records import Admitted
from hpcbatch.controller.site_source import SiteSource
from hpcbatch.dialects.registry import door
from hpcbatch.model.labels import REQUESTS_ANNOTATION, START_WORD
from hpcbatch.model.record import JobRecord, JobStatus, Reply
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.state import JobState
from hpcbatch.policy.observed import Observed

_SIGNALS_KEPT: Final = 16
"""Sent signals that are kept: far more than come between two looks of the runner."""
_READ_WITHIN_S = 2.0
"""The time that the kubelet needs to show an annotation in the pod."""
_RUNNING = frozenset({JobState.RUNNING, JobState.SUSPENDED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    request_id: str
    number: int
    scope: str


def unsent_signal(spec: Mapping[str, Any], status: JobStatus) -> Signal | None:
    """The `signalRequest` of a BatchJob's spec, if it has not been handled yet."""
    request = spec.get("signalRequest")
    if not request or request["id"] == status.signalled:
        return None
    return Signal(request_id=request["id"], number=request["signal"], scope=request["scope"])


def signals_of_grace(record: JobRecord, *, sends_user_signal: bool) -> list[Signal]:
    """What a run gets when its grace time before the end for another job begins; as its record says it."""
    preempted, warning = record.status.preempted, record.spec.warn_signal
    if preempted is None or preempted.end_time <= preempted.time:
        return []
    request_id = f"preempted-{int(preempted.time.timestamp())}"
    if sends_user_signal and warning is not None:
        scope = "script" if warning.is_batch_only else "steps"
        return [Signal(request_id=request_id, number=warning.signal, scope=scope)]
    both = (unix_signal.SIGCONT, unix_signal.SIGTERM)
    return [Signal(request_id=f"{request_id}-{one.name}", number=one.value, scope="steps") for one in both]


def requests_text(
    before: str, status: JobStatus, *, is_suspended: bool, signals: Sequence[Signal] = (), may_start: bool = False
) -> str:
    """The annotation: `start` once it may, `signal SEQUENCE NUMBER SCOPE ID` for each signal, `walltime SECONDS` and
    `cput SECONDS` if they were altered, and `suspend`. `before` is its current text.
    """
    start = [START_WORD] if may_start or START_WORD in before.splitlines() else []
    sent = [line for line in before.splitlines() if line.startswith("signal ")]
    for signal in signals:
        if signal.request_id not in (line.rpartition(" ")[2] for line in sent):
            last = int(sent[-1].split(" ")[1]) if sent else 0
            sent.append(f"signal {last + 1} {signal.number} {signal.scope} {signal.request_id}")
    lines = start + sent[-_SIGNALS_KEPT:]
    if "walltimeSeconds" in status.altered:
        lines.append(f"walltime {'none' if status.walltime_s is None else status.walltime_s}")
    if "cpuTimeSeconds" in status.altered:
        cpu_time_s = status.altered["cpuTimeSeconds"]
        lines.append(f"cput {'none' if cpu_time_s is None else cpu_time_s}")
    if is_suspended:
        lines.append("suspend")
    return "".join(f"{line}\n" for line in lines)


def announce_end(api: Api, pod: Object, word: str, now: datetime) -> float:
    """Announce to a running job's pod why its run is ended: `requeue` or `preempt`; the runner writes that into the
    output. Returns the seconds until the pod can read it. Raises ConflictError if the pod has changed since.
    """
    before = (pod["metadata"].get("annotations") or {}).get(REQUESTS_ANNOTATION, "")
    announced = next((line for line in before.splitlines() if line.startswith(f"{word} ")), None)
    if announced is not None:
        return max(0.0, _READ_WITHIN_S - (now.timestamp() - int(announced.split(" ")[1])))
    text = f"{before}{word} {int(now.timestamp())}\n"
    change = {"annotations": {REQUESTS_ANNOTATION: text}, "resourceVersion": pod["metadata"]["resourceVersion"]}
    api.patch(PODS, pod["metadata"]["name"], {"metadata": change}, pod["metadata"]["namespace"])
    return _READ_WITHIN_S


def pass_on(
    api: Api,
    spec: Mapping[str, Any],
    record: JobRecord,
    pod: Object | None,
    *,
    may_start: bool = False,
    in_grace: Sequence[Signal] = (),
) -> JobStatus:
    """Pass new requests to the pod that runs the script. Returns the status, with the reply to a request for a signal.

    `spec` is the BatchJob's, `pod` the first pod as last seen, or None. Raises ConflictError if it has changed since:
    what was passed on a moment ago must not be lost.
    """
    status = record.status
    signal = unsent_signal(spec, status)
    is_running = status.state in _RUNNING and pod is not None
    if pod is not None and is_running:
        before = (pod["metadata"].get("annotations") or {}).get(REQUESTS_ANNOTATION, "")
        text = requests_text(
            before,
            status,
            is_suspended=status.state is JobState.SUSPENDED,
            signals=[*in_grace, *([] if signal is None else [signal])],
            may_start=may_start,
        )
        if text != before:
            change = {"annotations": {REQUESTS_ANNOTATION: text}, "resourceVersion": pod["metadata"]["resourceVersion"]}
            api.patch(PODS, pod["metadata"]["name"], {"metadata": change}, pod["metadata"]["namespace"])
    if signal is None:
        return status
    code, message = ("", "") if is_running else (RefusalCode.NOT_RUNNING, "the job is not running")
    reply = Reply(request_id=signal.request_id, code=code, message=message)
    return replace(status, signalled=signal.request_id, answered=reply)


class PodRequests:
    """Of jobs as the controller observes them."""

    def __init__(self, api: Api, job_pods: JobPods, sites: SiteSource) -> None:
        self._api, self._job_pods, self._sites = api, job_pods, sites

    def announce_end(self, job: Admitted, seen: Observed) -> float:
        """Seconds to wait before the pods of a job may be ended that is to run again, or gives way to another."""
        status = job.record.status
        if seen.delete_requested or not door(job.record.spec.dialect).rules.warns_before_requeue:
            return 0.0
        word = "preempt" if status.preempted is not None else "requeue" if status.is_rerunning else ""
        pod = self._job_pods.running_first(job.record, seen) if word else None
        return 0.0 if pod is None else announce_end(self._api, pod, word, seen.now)

    def pass_on(self, job: Admitted, seen: Observed, record: JobRecord, *, let_start: bool) -> JobStatus:
        """Pass on the requests to the running job; `let_start`: and that it may start its script."""
        pod = self._job_pods.running_first(record, seen)
        # by what is written: a mark that is not yet may be another one after a kill
        preemption = self._sites.in_force.config.preemption
        in_grace = signals_of_grace(job.record, sends_user_signal=preemption.sends_user_signal)
        return pass_on(self._api, job.obj["spec"], record, pod, may_start=let_start, in_grace=in_grace)
