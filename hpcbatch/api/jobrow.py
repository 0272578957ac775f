"""A row of a listing, from the server-side Table that the BatchJob's printer columns give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from hpcbatch.model.dialect import Dialect
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState, Reason
from hpcbatch.units import parse_rfc3339


def row_from_cells(columns: Mapping[str, int], cells: Sequence[Any], namespace: str, object_name: str) -> JobRow | None:
    """One row of the server-side Table; `columns` gives each column's place. None: not admitted, so not to be shown."""

    def cell(name: str) -> Any:
        place = columns.get(name)  # a definition that is older than this command lacks the newer ones
        return None if place is None else cells[place]

    if cell("Id") is None or cell("State") is None:
        return None
    hosts = [host.rpartition("*") for host in (cell("Hosts") or "").split("+") if host]
    return JobRow(
        job_id=int(cell("Id")),
        namespace=namespace,
        object_name=object_name,
        dialect=Dialect(cell("Dialect")),
        server=cell("Server") or "localhost",
        name=cell("Job"),
        user=cell("User") or "",
        queue=cell("Queue") or "",
        state=JobState(cell("State")),
        reason=Reason(cell("Reason") or Reason.NONE),
        message=cell("Message") or "",
        nodes=cell("Nodes") or 0,
        cpus=cell("Cpus") or 0,
        mem_bytes=cell("Mem"),
        walltime_s=cell("Walltime"),
        cpu_used_s=cell("CpuUsed"),
        hosts=tuple(node for node, _, _ in hosts),
        cpus_per_host=tuple(int(cpus) for _, _, cpus in hosts),
        submit_time=parse_time(cell("Submitted")),
        eligible_time=parse_time(cell("Eligible")),
        start_time=parse_time(cell("Started")),
        end_time=parse_time(cell("Ended")),
        begin_time=parse_time(cell("Begin")),
        exit_code=cell("ExitCode"),
        exit_signal=cell("ExitSignal"),
        priority=cell("Priority") or 0,
        account=cell("Account") or "",
        work_dir=cell("WorkDir") or "",
        command=cell("Command") or "",
        session_id=cell("Session"),
        tres_per_node=cell("TresPerNode") or "",
        tres_per_job=cell("TresPerJob") or "",
        tres_per_task=cell("TresPerTask") or "",
        features=cell("Features") or "",
        qos=cell("Qos") or "",
        array_id=cell("ArrayId"),
        array_index=cell("ArrayIndex"),
        array_indices=cell("ArrayIndices") or "",
        array_pending=cell("ArrayPending") or "",
        array_active=cell("ArrayActive") or "",
        array_succeeded=cell("ArraySucceeded") or "",
        array_failed=cell("ArrayFailed") or "",
        array_deleted=cell("ArrayDeleted") or "",
        array_limit=cell("ArrayLimit"),
        array_held=cell("ArrayHeld") or "",
        nice=cell("Nice") or 0,
        dependency=cell("Dependency") or "",
        run_count=cell("Runs") or 0,
        rerunnable=cell("Rerunnable") is not False,
    )


def parse_time(text: str | None) -> datetime | None:
    """A time of Kubernetes; None stays None."""
    return None if text is None else parse_rfc3339(text)
