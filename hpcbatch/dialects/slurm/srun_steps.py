"""sacct's lines of the steps that srun started. What their states come to was recorded from sacct 22.05.8."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from hpcbatch.dialects.slurm import states
from hpcbatch.dialects.slurm.hostlist import compress
from hpcbatch.dialects.slurm.sacct_line import Figure, Line, TaskUsage
from hpcbatch.model.indices import Indices
from hpcbatch.model.interactive import Interactive
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.step import StepRecord, TaskFigure

_SIGTERM = 15
_FIRST_HOST = Indices.of([0])


def all_steps(record: JobRecord) -> tuple[StepRecord, ...]:
    """Those of the record, and that of `srun --pty` on the login node, whose program the runner starts by itself."""
    status = record.status
    if record.spec.interactive is not Interactive.TERMINAL or status.start_time is None:
        return status.steps
    first = StepRecord(
        number=0,
        name=record.spec.name,
        start_time=status.start_time,
        end_time=status.end_time,
        cpus=status.hosts[0].cpus if status.hosts else 1,
        hosts=_FIRST_HOST,
        distribution="block",
    )
    return (first, *status.steps)


def lines_of(job: Line, now: datetime) -> Iterator[Line]:
    """Behind those of `batch` and `extern`, in the order of their numbers. `job` is the job's line."""
    status = job.record.status
    for step in status.steps:
        state, code, signal = _end(step, is_over=status.state.is_final)
        end = step.end_time or job.end
        until = end or now
        suspended_s = status.suspended_s(step.start_time, until)
        nodes = node_names(status, step)
        cpu_s = step.cpu_s if step.cpu_s is not None or status.state.is_final else 0
        by = str(status.uid) if state == "CA" and step.is_cancelled else ""
        yield job._replace(
            step=str(step.number),
            name=step.name,
            state=state,
            state_text=f"{states.LONG[state]} by {by}" if by else states.LONG[state],
            exit_code=code,
            exit_signal=signal,
            start=step.start_time,
            end=end,
            elapsed_s=max(0, int((until - step.start_time).total_seconds()) - suspended_s),
            suspended_s=suspended_s,
            cpus=step.cpus,
            nodes=len(nodes),
            allocated_nodes=len(nodes),
            node_list=compress(nodes),
            tasks=step.tasks,
            cpu_s=cpu_s,
            cpu_by_host=((nodes[0], cpu_s),) if nodes and cpu_s is not None and step.tasks == 1 else (),
            rss_bytes=((_largest(status, step), step.max_rss_bytes),) if step.max_rss_bytes else (),
            rss_task=step.max_rss_task,
            by_task=_by_task(status, step),
            layout=step.distribution.capitalize() or "Unknown",
            requested_freq="Unknown",
            cancelled_by=status.owner if by else "",
            submit_line=step.submit_line,
        )


def node_names(status: JobStatus, step: StepRecord) -> tuple[str, ...]:
    """Each once, in the job's order."""
    places = [place for place in range(len(status.hosts)) if place in step.hosts]
    return tuple(dict.fromkeys(status.hosts[place].node for place in places))


def used_by_place(status: JobStatus) -> dict[int, int]:
    """The CPU seconds of all steps on each of the job's hosts: of a step of several, as much on each."""
    found: dict[int, int] = {}
    for step in status.steps:
        places = [place for place in range(len(status.hosts)) if place in step.hosts]
        for place in places:
            found[place] = found.get(place, 0) + (step.cpu_s or 0) // len(places)
    return found


def _by_task(status: JobStatus, step: StepRecord) -> TaskUsage | None:
    if step.rss_total_bytes is None:
        return None
    return TaskUsage(
        cpu=_figure(status, step.cpu_by_task),
        least_cpu=_figure(status, step.least_cpu),
        rss_total=step.rss_total_bytes,
        vm=_figure(status, step.vm_by_task),
        read=_figure(status, step.read_by_task),
        written=_figure(status, step.written_by_task),
    )


def _figure(status: JobStatus, figure: TaskFigure | None) -> Figure | None:
    return None if figure is None else Figure(figure.total, figure.most, _node(status, figure.host), figure.task)


def _largest(status: JobStatus, step: StepRecord) -> str:
    return _node(status, step.max_rss_host)


def _node(status: JobStatus, place: int | None) -> str:
    return status.hosts[place].node if place is not None and place < len(status.hosts) else ""


def _end(step: StepRecord, *, is_over: bool) -> tuple[str, int, int]:
    """State, code and signal."""
    if step.end_time is None:
        return ("CA", 0, _SIGTERM) if is_over else ("R", 0, 0)
    code, signal = step.exit_code or 0, step.exit_signal or 0
    if step.is_timed_out:
        return "TO", 0, signal or _SIGTERM
    if signal or step.is_cancelled:
        return "CA", code, signal
    return ("F", code, 0) if code else ("CD", 0, 0)
