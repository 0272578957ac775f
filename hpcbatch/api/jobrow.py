"""A row of a listing, from the server-side Table that the BatchJob's printer columns give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState, Reason
from hpcbatch.model.text import printable
from hpcbatch.units import MAX_WALLTIME_S, check_time, parse_rfc3339

UNREADABLE = (HpcBatchError, ValueError, TypeError, KeyError, AttributeError, ArithmeticError)
"""What reading a record raises that is not as it should be."""
_SHOWN = 300  # characters
_SETS = ("ArrayIndices", "ArrayPending", "ArrayActive", "ArraySucceeded", "ArrayFailed", "ArrayDeleted")


def row_from_cells(columns: Mapping[str, int], cells: Sequence[Any], namespace: str, object_name: str) -> JobRow | None:
    """One row of the server-side Table; `columns` gives each column's place. None: not admitted, so not to be shown.
    A row that cannot be read keeps what says whose it is, and says so: it must not end the listing of all others.
    No text in it reaches a terminal as more than text on its line.
    """
    try:
        return _row(columns, cells, namespace, object_name)
    except UNREADABLE as error:
        shown = {"Id", "State", "Dialect", "Server", "Job", "User", "Queue", "ArrayId", "ArrayIndex"}
        rest = {name: place for name, place in columns.items() if name in shown}
        kept = [*cells]
        for name, valid in (("State", list(JobState)), ("Dialect", list(Dialect))):
            if name in rest and cells[rest[name]] not in valid:
                kept[rest[name]] = valid[0]
        row = _row(rest, kept, namespace, object_name)
        return None if row is None else row._replace(reason=Reason.BROKEN, message=unreadable(error))


def unreadable(error: Exception) -> str:
    """The message of a record that `error` keeps from being read."""
    said = error if isinstance(error, HpcBatchError) else f"{type(error).__name__}: {error}"
    return f"its record cannot be read: {said}"[:_SHOWN]


def _row(columns: Mapping[str, int], cells: Sequence[Any], namespace: str, object_name: str) -> JobRow | None:
    def cell(name: str) -> Any:
        place = columns.get(name)  # a definition that is older than this command lacks the newer ones
        value = None if place is None else cells[place]
        return printable(value) if isinstance(value, str) else value

    if cell("Id") is None or cell("State") is None:
        return None
    if cell("ArrayIndices"):
        _check_sets(map(cell, _SETS))
    hosts = [host.rpartition("*") for host in (cell("Hosts") or "").split("+") if host]
    return JobRow(
        job_id=int(cell("Id")),
        namespace=namespace,
        object_name=object_name,
        dialect=Dialect(cell("Dialect")),
        server=cell("Server") or "localhost",
        name=cell("Job") or "",
        user=cell("User") or "",
        queue=cell("Queue") or "",
        state=JobState(cell("State")),
        reason=Reason(cell("Reason") or Reason.NONE),
        message=cell("Message") or "",
        nodes=cell("Nodes") or 0,
        cpus=cell("Cpus") or 0,
        mem_bytes=cell("Mem"),
        walltime_s=_walltime_s(cell("Walltime")),
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
        keeps_number=bool(cell("KeepsNumber")),
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
        uid=cell("Uid"),
    )


def _check_sets(texts: Iterable[str | None]) -> None:
    """Raise HpcBatchError for what views could not take apart."""
    from hpcbatch.model.array import check_size
    from hpcbatch.model.indices import Indices

    for text in texts:
        check_size(Indices.parse(text or ""))


def _walltime_s(seconds: int | None) -> int | None:
    if seconds is not None and seconds > MAX_WALLTIME_S:
        raise HpcBatchError(f"a walltime of {seconds} s")
    return seconds


def parse_time(text: str | None) -> datetime | None:
    """A time of a job as Kubernetes writes it; None stays None. Raises HpcBatchError."""
    return None if text is None else check_time(parse_rfc3339(text))
