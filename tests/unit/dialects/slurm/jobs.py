"""The jobs of the recorded outputs, as our records."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hpcbatch.model.array import Array, ArrayStatus, Membership
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dependency import DependencyProgress
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import ExecHost, JobRecord, JobStatus
from hpcbatch.model.row import JobRow, NodeRow, QueueRow
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from hpcbatch.record.rows import row_of

DATA = Path(__file__).parent / "data"
NOW = datetime(2026, 11, 21, 2, 50, 6, tzinfo=UTC)
SUBMITTED = NOW - timedelta(seconds=2)


def recorded(name: str) -> str:
    return (DATA / name).read_text()


def record(
    job_id: int,
    name: str = "sleeper",
    state: JobState = JobState.QUEUED,
    reason: Reason = Reason.PRIORITY,
    *,
    args: tuple[str, ...] = ("1",),
    cpus: int = 1,
    begin: datetime | None = None,
    walltime_s: int | None = 600,
    path: str | None = "/home/tester/sleep.sh",
    attributes: dict[str, str] | None = None,
    array: Array | None = None,
    array_status: ArrayStatus | None = None,
    member_of: Membership | None = None,
    **status: object,
) -> JobRecord:
    spec = JobSpec(
        dialect=Dialect.SLURM,
        name=name,
        chunks=(Chunk(cpus=cpus),),
        walltime_s=walltime_s,
        script_path=path,
        script_args=args,
        work_dir="/home/tester",
        submit_dir="/home/tester",
        submit_host="localhost",
        begin_time=begin,
        hold=state is JobState.HELD,
        array=array,
        member_of=member_of,
        attributes=attributes or {},
    )
    base = JobStatus(
        state=state,
        reason=reason,
        owner="tester",
        uid=1002,
        gid=1002,
        home="/home/tester",
        session_id=2309,
        submit_time=SUBMITTED,
        eligible_time=SUBMITTED,
        array=array_status,
    )
    full = replace(base, **status)  # type: ignore[arg-type]
    return JobRecord(
        job_id=job_id, namespace="tester", object_name=f"job-{job_id}", spec=spec, status=full, queue="debug"
    )


HOST = (ExecHost(node="vm", pod="job-85-0", cpus=1),)
RUNNING: dict[str, Any] = {"hosts": HOST, "start_time": SUBMITTED, "run_count": 1}
EARLIER = SUBMITTED - timedelta(seconds=1)
QUEUE: tuple[JobRecord, ...] = (
    record(
        85,
        state=JobState.RUNNING,
        reason=Reason.NONE,
        args=("25",),
        submit_time=EARLIER,
        eligible_time=EARLIER,
        **RUNNING,
    ),
    record(86, state=JobState.RUNNING, reason=Reason.NONE, args=("25",), **RUNNING),
    record(87, reason=Reason.RESOURCES, args=("5",)),
    record(88, "held", JobState.HELD, Reason.HELD_BY_USER, args=("5",), eligible_time=None),
    record(
        89,
        "dep",
        JobState.HELD,
        Reason.DEPENDENCY,
        eligible_time=None,
        dependency=DependencyProgress(left="afterok:87"),
    ),
    record(90, "later", JobState.WAITING, Reason.BEGIN_TIME, begin=SUBMITTED + timedelta(hours=1), eligible_time=None),
    record(91, "big"),
    record(92, "bigc", reason=Reason.NEVER_FITS, cpus=99),
    record(94),
    record(95, "sbatch", path=None, args=(), walltime_s=3600),
    record(96, "wrap", path=None, args=(), walltime_s=3600),
)


def row(job: JobRecord) -> JobRow:
    """The row, with the arguments that the recorded command shows behind the script."""
    command = " ".join((job.spec.script_path, *job.spec.script_args)) if job.spec.script_path else ""
    return row_of(job)._replace(command=command)


ARRAY = record(
    93,
    "arr",
    array=Array(indices=Indices.parse("1-4"), limit=2, text="1-4%2"),
    array_status=ArrayStatus(pending=Indices.parse("1-4"), limit=2),
)
ARRAY_ROW = row(ARRAY)
ROWS: tuple[JobRow, ...] = tuple(row(job) for job in QUEUE)

NODE = NodeRow(
    name="vm", ready=True, schedulable=True, cpus=2, mem_bytes=20000 * 1024**2, cpus_used=0, mem_used_bytes=0
)
QUEUES = (
    QueueRow(name="debug", is_default=True, is_open=True),
    QueueRow(name="long", is_default=False, is_open=True, max_walltime_s=7 * 86400),
)
