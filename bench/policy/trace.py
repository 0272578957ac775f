"""Traces in the Standard Workload Format, version 2.2 (Parallel Workloads Archive)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceJob:
    number: int
    submit_s: int
    run_s: int
    processors: int
    requested_s: int
    """What the user asked for; a job is ended then, so it is no less than `run_s`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    processors: int
    jobs: tuple[TraceJob, ...]
    """By the time of submission, of the same second by number."""
    skipped: int = 0
    """Lines without a run time or a size, or larger than the machine."""


def read(path: Path, processors: int | None = None, limit: int | None = None) -> Trace:
    """Fields: 1 number, 2 submit, 4 run time, 5 processors, 8 requested processors, 9 requested time; -1 is unknown.
    The machine's size is `processors`, else the header's MaxProcs, else its MaxNodes.
    """
    sizes: dict[str, int] = {}
    jobs: list[TraceJob] = []
    skipped = 0
    for line in path.read_text(errors="replace").splitlines():
        if line.startswith(";"):
            name, _, value = line.lstrip("; ").partition(":")
            if name in {"MaxProcs", "MaxNodes"} and value.split():
                sizes[name] = int(value.split()[0])
            continue
        fields = [int(float(word)) for word in line.split()]
        if len(fields) < 5:
            continue
        fields += [-1] * (18 - len(fields))
        run_s, size = fields[3], fields[7] if fields[7] > 0 else fields[4]
        if run_s <= 0 or size <= 0 or fields[1] < 0:
            skipped += 1
            continue
        requested_s = max(run_s, fields[8])
        jobs.append(
            TraceJob(number=fields[0], submit_s=fields[1], run_s=run_s, processors=size, requested_s=requested_s)
        )
    size = processors or sizes.get("MaxProcs", 0) or sizes.get("MaxNodes", 0)
    if size <= 0:
        raise SystemExit(f"{path}: no MaxProcs or MaxNodes in the header: give --processors")
    fitting = [job for job in jobs if job.processors <= size]
    fitting.sort(key=lambda job: (job.submit_s, job.number))
    return Trace(processors=size, jobs=tuple(fitting[:limit]), skipped=skipped + len(jobs) - len(fitting))
