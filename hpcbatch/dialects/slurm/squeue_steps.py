"""squeue -s: the steps of jobs that run. Headings and order were recorded from squeue 22.05.8."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, tzinfo
from functools import partial

from hpcbatch.dialects.slurm.clock import ctime, short
from hpcbatch.dialects.slurm.columns import Column, line, parse_format, parse_names
from hpcbatch.dialects.slurm.hostlist import compress
from hpcbatch.dialects.slurm.squeue_format import View
from hpcbatch.dialects.slurm.squeue_options import DEFAULT_FORMAT, LONG_FORMAT, SqueueOptions
from hpcbatch.dialects.slurm.states import own_number, used_s
from hpcbatch.dialects.slurm.steps import Step, steps_of
from hpcbatch.model.named import NamedJob
from hpcbatch.model.record import JobRecord
from hpcbatch.model.row import JobRow

STEP_FORMAT = "%.15i %.8j %.9P %.8u %.9M %N"
Value = Callable[[Step, View], str]

LETTERS: dict[str, tuple[str, Value]] = {
    "A": ("TASKS", lambda step, _: str(step.tasks)),
    "b": ("TRES_PER_JOB", lambda *_: "(null)"),
    "i": ("STEPID", lambda step, _: step.step_id),
    "j": ("NAME", lambda step, _: step.title),
    "l": ("TIME_LIMIT", lambda step, _: _limit(step)),
    "M": ("TIME", lambda step, view: short(_used_s(step, view.now))),
    "N": ("NODELIST", lambda step, _: compress(step.hosts)),
    "P": ("PARTITION", lambda step, _: step.row.queue),
    "S": ("START_TIME", lambda step, view: view.stamp(step.start_time)),
    "u": ("USER", lambda step, _: step.row.user),
    "U": ("UID", lambda step, _: "N/A" if step.row.uid is None else str(step.row.uid)),
}
_NAMES: dict[str, tuple[str, Value]] = {
    "numtasks": LETTERS["A"],
    "tres-per-job": LETTERS["b"],
    "stepid": LETTERS["i"],
    "stepname": LETTERS["j"],
    "name": LETTERS["j"],
    "timelimit": LETTERS["l"],
    "timeused": LETTERS["M"],
    "nodes": LETTERS["N"],
    "nodelist": LETTERS["N"],
    "partition": LETTERS["P"],
    "starttime": LETTERS["S"],
    "username": LETTERS["u"],
    "userid": LETTERS["U"],
    "jobid": ("JOB_ID", lambda step, _: str(step.row.job_id)),
    "arrayjobid": ("ARRAY_JOB_ID", lambda step, _: str(own_number(step.row))),
    "arraytaskid": (
        "ARRAY_TASK_ID",
        lambda step, _: "N/A" if step.row.array_index is None else str(step.row.array_index),
    ),
    "stepstate": ("STATE", lambda *_: "RUNNING"),
}


def columns_of(options: SqueueOptions) -> list[Column]:
    if options.fields is not None:
        return parse_names(options.fields, _NAMES.__contains__)
    form = STEP_FORMAT if options.format in {DEFAULT_FORMAT, LONG_FORMAT} else options.format
    return parse_format(form, LETTERS.__contains__)


def format_steps(
    rows: Iterable[JobRow], records: Mapping[int, JobRecord], options: SqueueOptions, now: datetime, tz: tzinfo
) -> str:
    """The steps of `rows` that `options` ask for, in order. `records` are those of the jobs, by number. Every line
    ends in a newline.
    """
    fields, columns = _NAMES if options.fields is not None else LETTERS, columns_of(options)
    chosen = sorted((step for step in steps_of(rows, records) if _is_selected(step, options)), key=_order)
    lines = [] if options.no_header else [line(columns, lambda key: fields[key][0])]
    if (options.long or options.every_s) and not options.no_header:
        lines.insert(0, ctime(now, tz))
    view = View(now=now, tz=tz, time_format=options.time_format)
    lines += [line(columns, partial(_value, fields, step, view)) for step in chosen]
    return "".join(f"{text}\n" for text in lines)


def _value(fields: Mapping[str, tuple[str, Value]], step: Step, view: View, key: str) -> str:
    return fields[key][1](step, view)


def _limit(step: Step) -> str:
    return "UNLIMITED" if step.srun is None or step.srun.limit_s is None else short(step.srun.limit_s)


def _used_s(step: Step, now: datetime) -> int:
    """Of a step of srun without regard to suspension."""
    return used_s(step.row, now) if step.srun is None else max(0, int((now - step.srun.start_time).total_seconds()))


def _order(step: Step) -> tuple[int, int, float, str]:
    number = float("inf") if step.srun is None else step.srun.number
    return own_number(step.row), step.row.array_index or 0, number, step.name


def _is_selected(step: Step, options: SqueueOptions) -> bool:
    """By step, job, user, partition and node; what else selects jobs is passed over, as in Slurm."""
    row = step.row
    if options.steps and not any(_names(job, row) and name == step.name for job, name in options.steps):
        return False
    if options.ids is not None and not any(_names(job, row) for job in options.ids):
        return False
    if options.partitions is not None and row.queue not in options.partitions:
        return False
    if options.users is not None and not options.users & {row.user, str(row.uid)}:
        return False
    return options.hosts is None or bool(options.hosts & set(step.hosts))


def _names(job: NamedJob, row: JobRow) -> bool:
    if job.number not in {row.job_id, own_number(row)}:
        return False
    return job.members is None or (row.array_index is not None and row.array_index in job.members)
