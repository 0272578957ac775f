"""The steps of a job's current run, as its runners report them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from hpcbatch.dataclass import replace
from hpcbatch.model.record import JobStatus
from hpcbatch.model.step import MAX_STEPS, StepRecord, TaskFigure
from hpcbatch.policy.observed import PodView
from hpcbatch.typed import Any
from hpcbatch.volcano.step_report import ByTask, Largest, Spent, StepReport, ToldStep

_SIGNALLED = 128
_USAGE = (
    *("cpu_s", "max_rss_bytes", "max_rss_host", "max_rss_task", "rss_total_bytes"),
    *("cpu_by_task", "least_cpu", "vm_by_task", "read_by_task", "written_by_task"),
)
"""What a step has used: fields of its record."""


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
                by_pod = spent.setdefault(number, {})
                before = by_pod.get(pod.name, one)
                # the later report is the greater one, but may be shorter
                by_pod[pod.name] = one if one.by_task is not None else one._replace(by_task=before.by_task)
    for number, by_pod in spent.items():
        used = _with_usage(found[number], by_pod, places, status)
        found[number] = _with_tasks(used, {places.get(pod): one.by_task for pod, one in by_pod.items()})
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
    said = StepRecord(
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
        srun_pid=told.srun_pid if before is None or told.srun_pid is not None else before.srun_pid,
    )
    return said if before is None else replace(said, **{name: getattr(before, name) for name in _USAGE})


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


def _with_tasks(step: StepRecord, by_place: Mapping[int | None, ByTask | None]) -> StepRecord:
    """With what each task has used, once all of them have been seen; what was known before is never less."""
    seen = [(place, one) for place, one in by_place.items() if one is not None]
    if sum(one.tasks for _, one in seen) != step.tasks:
        return step
    place, least = min(((place, one.least_cpu) for place, one in seen), key=lambda pair: pair[1].most)
    return replace(
        step,
        rss_total_bytes=max(step.rss_total_bytes or 0, sum(one.rss_total for _, one in seen)),
        cpu_by_task=_figure(step.cpu_by_task, [(place, one.cpu) for place, one in seen], 100),
        least_cpu=TaskFigure(total=0, most=least.most // 100, host=place, task=least.task),
        vm_by_task=_figure(step.vm_by_task, [(place, one.vm) for place, one in seen]),
        read_by_task=_figure(step.read_by_task, [(place, one.read) for place, one in seen]),
        written_by_task=_figure(step.written_by_task, [(place, one.written) for place, one in seen]),
    )


def _figure(before: TaskFigure | None, told: Sequence[tuple[int | None, Largest]], divisor: int = 1) -> TaskFigure:
    place, largest = max(told, key=lambda pair: pair[1].most)
    now = TaskFigure(
        total=sum(one.total for _, one in told) // divisor,
        most=largest.most // divisor,
        host=place,
        task=largest.task,
    )
    if before is None:
        return now
    chosen = now if now.most > before.most else before
    return replace(chosen, total=max(now.total, before.total))


def _time(seconds: int, earliest: datetime, latest: datetime) -> datetime:
    """Within these bounds: its runner's clock may be another, or forged."""
    return max(earliest, min(datetime.fromtimestamp(seconds, UTC), latest)) if earliest < latest else earliest
