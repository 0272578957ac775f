"""The jobs that were recorded from a real sacct, as records of ours."""

from __future__ import annotations

import shlex
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hpcbatch.dialects.slurm.sacct import Facts, format_lines, select_lines
from hpcbatch.dialects.slurm.sacct_line import View
from hpcbatch.dialects.slurm.sacct_options import read_options
from hpcbatch.model.array import Array, ArrayStatus, Membership
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dependency import Clause, Dependency, DependencyKind, JobRef
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import ExecHost, HostUsage, JobRecord
from hpcbatch.model.state import JobState, Reason
from tests.unit.dialects.slurm.jobs import record

NOW = datetime(2026, 11, 21, 3, 10, tzinfo=UTC)
MEM = 20000 * 1024**2


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-11-21T{text}+00:00")


def ended(
    job_id: int,
    name: str,
    submit: str,
    start: str | None,
    end: str | None,
    *,
    state: JobState = JobState.FINISHED,
    reason: Reason = Reason.NONE,
    code: int | None = 0,
    cpus: int = 1,
    eligible: str = "",
    walltime_s: int = 600,
    account: str | None = None,
    mem: int | None = MEM,
    **status: Any,
) -> JobRecord:
    made = record(
        job_id,
        name,
        state,
        reason,
        cpus=cpus,
        walltime_s=walltime_s,
        submit_time=at(submit),
        eligible_time=at(eligible or submit),
        start_time=None if start is None else at(start),
        end_time=None if end is None else at(end),
        exit_code=code,
        hosts=() if start is None else (ExecHost(node="vm", pod=f"job-{job_id}-0", cpus=cpus),),
        **status,
    )
    return replace(made, spec=replace(made.spec, account=account, chunks=(Chunk(cpus=cpus, mem_bytes=mem),)))


def member(array: int, index: int, job: JobRecord) -> JobRecord:
    return replace(job, spec=replace(job.spec, member_of=Membership(array_id=array, array_name="a", index=index)))


DEPENDS = Dependency(clauses=(Clause(kind=DependencyKind.AFTER_OK, jobs=(JobRef(job_id=87),)),))
FAILED = {"state": JobState.FAILED, "reason": Reason.NON_ZERO_EXIT}
DEP = ended(89, "dep", "02:50:04", "02:50:39", "02:50:40", eligible="02:50:35")
JOBS = [
    ended(2, "hello", "02:16:00", "02:16:01", "02:16:01", code=3, walltime_s=3600, **FAILED),  # type: ignore[arg-type]
    ended(85, "sleeper", "02:50:03", "02:50:04", "02:50:29"),
    ended(86, "sleeper", "02:50:04", "02:50:04", "02:50:29"),
    ended(87, "sleeper", "02:50:04", "02:50:29", "02:50:34"),
    ended(88, "held", "02:50:04", "02:50:39", "02:50:44", eligible="02:50:06"),
    replace(DEP, spec=replace(DEP.spec, dependency=DEPENDS)),
    ended(91, "big", "02:50:04", "02:50:29", "02:50:30"),
    ended(92, "bigc", "02:50:04", None, None, state=JobState.QUEUED, reason=Reason.NEVER_FITS, code=None, cpus=99),
    ended(94, "sleeper", "02:50:04", "02:50:37", "02:50:38"),
    ended(95, "sbatch", "02:50:04", "02:50:37", "02:50:38", walltime_s=3600),
    ended(96, "wrap", "02:50:04", "02:50:39", "02:50:39", walltime_s=3600),
    member(93, 1, ended(98, "arr", "02:50:04", "02:50:31", "02:50:32")),
    member(93, 2, ended(99, "arr", "02:50:04", "02:50:31", "02:50:32")),
    member(93, 3, ended(100, "arr", "02:50:04", "02:50:31", "02:50:32")),
    member(93, 4, ended(93, "arr", "02:50:04", "02:50:31", "02:50:32")),
    ended(101, "sleeper", "02:51:00", "02:51:00", "02:51:01"),
    ended(102, "sleeper", "02:51:01", "02:51:01", "02:51:02", code=1, **FAILED),  # type: ignore[arg-type]
    ended(103, "sleeper", "02:51:02", "02:51:02", "02:51:03", account="nosuchaccount"),
    ended(104, "sleeper", "02:51:03", "02:51:03", "02:51:04"),
    ended(
        105,
        "sleeper",
        "02:51:04",
        "02:51:04",
        "02:51:05",
        state=JobState.FAILED,
        reason=Reason.OUTPUT_FAILED,
        code=None,
    ),
    ended(107, "hostname", "02:51:05", "02:51:05", "02:51:06"),
    ended(108, "echo", "02:51:06", "02:51:06", "02:51:07", cpus=2),
]
FAILER = ended(113, "failer", "02:46:06", "02:46:07", "02:46:07", code=3, walltime_s=60, **FAILED)  # type: ignore[arg-type]
CANCELLED = ended(
    159,
    "sleeper",
    "02:59:45",
    "02:59:46",
    "02:59:49",
    state=JobState.DELETED,
    reason=Reason.DELETED_BY_USER,
    code=None,
    exit_signal=15,
    deleted_by="tester",
)
NEVER_RAN = ended(
    163,
    "sleeper",
    "02:59:53",
    None,
    "02:59:54",
    state=JobState.DELETED,
    reason=Reason.DELETED_BY_USER,
    code=None,
    deleted_by="tester@vm",
)
TIMED_OUT = ended(
    170,
    "sleeper",
    "03:00:01",
    "03:00:01",
    "03:01:06",
    state=JobState.TIMEOUT,
    reason=Reason.TIME_LIMIT,
    code=None,
    exit_signal=15,
    walltime_s=60,
)
RUNNING = replace(
    TIMED_OUT, status=replace(TIMED_OUT.status, state=JobState.RUNNING, reason=Reason.NONE, end_time=None)
)


def sacct(
    line: str,
    jobs: list[JobRecord],
    *,
    now: datetime = NOW,
    environ: dict[str, str] | None = None,
    user: str = "tester",
) -> str:
    options = read_options(shlex.split(line), environ or {}, user, now)
    facts = Facts(now, {"root": 0, "boss": 77}.get, lambda gid: {1002: "tester"}.get(gid, ""))
    view = View(now, UTC, options.time_format, options.unit, options.convert, facts.group_name)
    return "".join(format_lines(select_lines(jobs, options, facts), options, view))


# Arrays


def array(state: JobState, **sets: str) -> JobRecord:
    base = ended(160, "arr", "02:59:46", None, None, state=state, code=None)
    status = ArrayStatus(limit=2, **{name: Indices.parse(text) for name, text in sets.items()})
    spec = replace(base.spec, array=Array(indices=Indices.parse("0-9"), limit=2, text="0-9%2"))
    return replace(base, spec=spec, status=replace(base.status, array=status))


# Hosts and what they used

GANG = replace(
    ended(200, "mpi", "03:02:00", "03:02:00", "03:03:40", cpus=2, mem=2**30),
    spec=replace(JOBS[1].spec, chunks=(Chunk(count=3, cpus=2, mem_bytes=2**30),)),
)
GANG = replace(
    GANG,
    status=replace(
        GANG.status,
        hosts=tuple(ExecHost(node=f"n{i}", pod=f"p{i}", cpus=2) for i in range(3)),
        cpu_used_s=3 * 150 + 3,
        max_rss_bytes=300 * 2**20,
        usage=tuple(HostUsage(pod=f"p{i}", cpu_s=150 + i, max_rss_bytes=(i + 1) * 100 * 2**20) for i in range(3)),
    ),
)
