"""The jobs of the recorded outputs, as our records."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from hpcbatch.model.array import Array, ArrayStatus, Membership
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import ExecHost, JobRecord, JobStatus
from hpcbatch.model.row import JobRow
from hpcbatch.model.spec import JobSpec, Output
from hpcbatch.model.state import JobState, Reason
from hpcbatch.record.rows import row_of

DATA = Path(__file__).parent / "data"
NOW = datetime.fromtimestamp(1795229697, UTC)
STARTED = datetime(2026, 11, 21, 2, 54, 48, tzinfo=UTC)
VARIABLES = {
    "PBS_O_HOME": "/home/tester",
    "PBS_O_LANG": "C.UTF-8",
    "PBS_O_LOGNAME": "tester",
    "PBS_O_PATH": "/opt/pbs/bin:/usr/local/bin:/usr/bin:/bin",
    "PBS_O_SHELL": "/bin/bash",
    "PBS_O_INTERACTIVE_AUTH_METHOD": "resvport",
    "PBS_O_INTERACTIVE_ENCRYPT_METHOD": "",
    "PBS_O_WORKDIR": "/home/tester",
    "PBS_O_SYSTEM": "Linux",
    "PBS_O_QUEUE": "workq",
    "PBS_O_HOST": "pbs1",
}


def recorded(name: str) -> str:
    return (DATA / name).read_text()


def record(
    job_id: int,
    name: str = "sleeper",
    state: JobState = JobState.QUEUED,
    *,
    reason: Reason = Reason.NONE,
    message: str = "",
    chunks: tuple[Chunk, ...] = (Chunk(),),
    walltime_s: int | None = 600,
    shown: dict[str, str] | None = None,
    array: Array | None = None,
    array_status: ArrayStatus | None = None,
    member_of: Membership | None = None,
    **status: object,
) -> JobRecord:
    count = sum(c.count for c in chunks)
    resources = {
        "ncpus": str(sum(c.count * c.cpus for c in chunks)),
        "nodect": str(count),
        "place": "free",
        "select": "+".join(f"{c.count}:ncpus={c.cpus}" for c in chunks),
    }
    attributes = {f"Resource_List.{key}": value for key, value in resources.items()} | {
        "Join_Path": "n",
        "Keep_Files": "n",
        "Mail_Points": "a",
        "project": "_pbs_project_default",
    }
    spec = JobSpec(
        dialect=Dialect.PBS,
        name=name,
        chunks=chunks,
        walltime_s=walltime_s,
        submit_dir="/home/tester",
        submit_host="pbs1",
        stderr=Output(),
        server="pbs1",
        array=array,
        member_of=member_of,
        attributes=attributes | (shown or {}),
    )
    base = JobStatus(
        state=state,
        reason=reason,
        message=message,
        owner="tester",
        home="/home/tester",
        submit_time=STARTED,
        array=array_status,
    )
    return JobRecord(
        job_id=job_id,
        namespace="tester",
        object_name=f"job-{job_id}",
        spec=spec,
        status=replace(base, **status),  # type: ignore[arg-type]
        queue="workq",
    )


RUNNING_HOST = (ExecHost(node="pbs1", pod="job-0", cpus=1),)
WAITS = {"reason": Reason.RESOURCES, "message": "Not enough free nodes available"}
NEVER = {"reason": Reason.NEVER_FITS, "message": "Insufficient amount of resource: ncpus (R: 5 A: 2 T: 2)"}
ARRAY = record(
    92,
    "arr",
    shown={"Submit_arguments": "-N arr -J 1-4 -v T=2 psleep.sh"},
    eligible_time=STARTED,
    array=Array(indices=Indices.parse("1-4"), text="1-4"),
    array_status=ArrayStatus(pending=Indices.parse("1-4")),
    **WAITS,  # type: ignore[arg-type]
)
QUEUE: tuple[JobRecord, ...] = (
    record(85, state=JobState.RUNNING, hosts=RUNNING_HOST, session_id=11171, start_time=STARTED),
    record(86, state=JobState.RUNNING, hosts=RUNNING_HOST, session_id=11173, start_time=STARTED),
    record(87, **WAITS),  # type: ignore[arg-type]
    record(88, "held", JobState.HELD),
    record(89, "dep", JobState.HELD),
    record(90, "later", JobState.WAITING),
    record(91, "big", chunks=(Chunk(count=5),), **NEVER),  # type: ignore[arg-type]
    ARRAY,
    record(93, "STDIN", walltime_s=None, **WAITS),  # type: ignore[arg-type]
    record(94, "cmdline", walltime_s=None, **WAITS),  # type: ignore[arg-type]
    record(96, **WAITS),  # type: ignore[arg-type]
)
ROWS: tuple[JobRow, ...] = tuple(row_of(job) for job in QUEUE)
