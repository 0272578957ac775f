"""The steps of a job's current run, as its runners report them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from hpcbatch.dataclass import replace
from hpcbatch.model.record import JobStatus
from hpcbatch.model.step import MAX_STEPS, StepRecord
from hpcbatch.policy.observed import PodView
from hpcbatch.typed import Any
from hpcbatch.volcano.step_report import Spent, StepReport, ToldStep

_SIGNALLED = 128


def with_steps(
    status: JobStatus, live: Mapping[str, StepReport], pods: Iterable[PodView], now: datetime
) -> dict[str, Any]:
    """The fields of `status` for its steps: what it has, and what the pods have reported while they ran (`live`, by
    their names) and at their end. What a step has used is at most what the job has, and never less than before.
    """
    reports = [
        (pod, report)
        for pod in pods
        for report in (live.get(pod.name), None if pod.report is None else pod.report.steps)
        if report is not None
    ]
    found = {step.number: step for step in status.steps}
    count = status.step_count
    for pod, report in reports:
        if pod.index == 0:
            count = max(count, report.total)
            for told in report.steps:
                found[told.number] = _merged(found.get(told.number), told, status.start_time or now, now)
    places = {host.pod: place for place, host in enumerate(status.hosts)}
    spent: dict[int, dict[str, Spent]] = {}
    for pod, report in reports:
        for number, one in report.spent:
            if number in found:
                spent.setdefault(number, {})[pod.name] = one  # the later report is the greater one
    for number, by_pod in spent.items():
        found[number] = _with_usage(found[number], by_pod, places, status)
    steps = newest([found[number] for number in sorted(found)])
    return {"steps": steps, "step_count": max(count, len(steps))}


def newest(steps: Sequence[StepRecord]) -> tuple[StepRecord, ...]:
    """Those that a record keeps, in order: the steps that run, and the last ones that have ended."""
    if len(steps) <= MAX_STEPS:
        return tuple(steps)
    chosen = sorted(steps, key=lambda step: (step.end_time is not None, -step.number))[:MAX_STEPS]
    return tuple(sorted(chosen, key=lambda step: step.number))


def _merged(before: StepRecord | None, told: ToldStep, earliest: datetime, now: datetime) -> StepRecord:
    if before is not None and before.end_time is not None:
        return before
    start = _time(told.start, earliest, now) if before is None else before.start_time
    code = told.code
    signal = code - _SIGNALLED if code is not None and _SIGNALLED < code < 2 * _SIGNALLED else None
    return StepRecord(
        number=told.number,
        name=told.name,
        submit_line=told.submit_line or ("" if before is None else before.submit_line),
        start_time=start,
        end_time=None if told.end is None else _time(told.end, start, now),
        exit_code=code if signal is None else None,
        exit_signal=signal,
        is_cancelled=told.is_cancelled,
        is_timed_out=told.is_timed_out,
        limit_s=told.limit_s,
        tasks=told.tasks,
        cpus=told.cpus,
        hosts=told.hosts,
        distribution=told.distribution,
        cpu_s=None if before is None else before.cpu_s,
        max_rss_bytes=None if before is None else before.max_rss_bytes,
        max_rss_host=None if before is None else before.max_rss_host,
        max_rss_task=None if before is None else before.max_rss_task,
    )


def _with_usage(
    step: StepRecord, by_pod: Mapping[str, Spent], places: Mapping[str, int], status: JobStatus
) -> StepRecord:
    cpu_s = sum(one.ticks for one in by_pod.values()) // 100
    if status.cpu_used_s is not None:
        cpu_s = min(cpu_s, status.cpu_used_s)
    largest = max(by_pod, key=lambda pod: by_pod[pod].rss_bytes)
    rss = by_pod[largest].rss_bytes
    if status.max_rss_bytes is not None:
        rss = min(rss, status.max_rss_bytes)
    step = replace(step, cpu_s=max(cpu_s, step.cpu_s or 0))
    if rss <= (step.max_rss_bytes or 0):
        return step
    return replace(step, max_rss_bytes=rss, max_rss_host=places.get(largest), max_rss_task=by_pod[largest].task)


def _time(seconds: int, earliest: datetime, latest: datetime) -> datetime:
    """Within these bounds: its runner's clock may be another, or forged."""
    return max(earliest, min(datetime.fromtimestamp(seconds, UTC), latest)) if earliest < latest else earliest
