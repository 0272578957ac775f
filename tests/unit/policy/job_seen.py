"""What is seen of a job, made by hand for the tests of policy."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import Reason
from hpcbatch.policy.observed import Observed, PodView, VolcanoJobView, Waiting
from hpcbatch.volcano.report import RunReport

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
START, END = NOW - timedelta(seconds=90), NOW - timedelta(seconds=5)
NO_WAIT = Waiting(reason=Reason.NONE, message="")
OK = RunReport(exit_code=0, walltime_s=85, cpu_s=3, session_id=7)


def seen(
    *,
    spec: dict[str, object] | None = None,
    status: JobStatus | None = None,
    phase: str | None = None,
    pods: list[PodView] | None = None,
    **flags: object,
) -> Observed:
    return Observed(
        record=JobRecord(
            job_id=7,
            namespace="ns",
            object_name="x",
            queue="q",
            spec=JobSpec(**({"dialect": Dialect.PBS, "name": "x"} | (spec or {}))),  # type: ignore[arg-type]
            status=status or JobStatus(owner="alice", layout=(Chunk(),)),
        ),
        volcano_job=None if phase is None else VolcanoJobView(uid="u", phase=phase),
        was_created=phase is not None,
        pods=pods or [],
        **({"delete_requested": False, "waiting": NO_WAIT, "now": NOW} | flags),  # type: ignore[arg-type]
    )


def pod(index: int = 0, **fields: object) -> PodView:
    given = {"index": index, "name": f"pod-{index}", "node": "node-0", "cpus": 1, "phase": "Running"} | fields
    return PodView(**given)  # type: ignore[arg-type]


RUNNING = pod(started_at=START)
ENDED = pod(phase="Succeeded", started_at=START, finished_at=END, exit_code=0, report=OK)


def ended_with(**report: object) -> PodView:
    return replace(ENDED, phase="Failed", report=RunReport(**report))  # type: ignore[arg-type]


TAKEN = pod(1, node="node-1", started_at=START, is_deleting=True, is_lost=True, node_answers=False)
DELETED = pod(1, is_deleting=True, is_gone=True, started_at=START, is_first_taken=True, is_taken_early=True)
