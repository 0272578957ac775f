"""How far the WRF runs of several jobs are: the list of `hpcbatch wrf progress`, and columns of squeue."""

from __future__ import annotations

import json

from hpcbatch.cli.columns import aligned
from hpcbatch.cli.common import Session
from hpcbatch.cli.wrf.log_file import log_of, progress_of, settings_of
from hpcbatch.client import listing
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState
from hpcbatch.units import counted, hms
from hpcbatch.wrf.log import Progress

_RUNS = frozenset({JobState.RUNNING, JobState.SUSPENDED})
_NONE = "N/A"
_HEADINGS = ("JOBID", "NAME", "PROGRAM", "DONE", "TIME", "S/STEP", "LEFT")


class Columns:
    """The values of squeue's WRF_NAMES. A job's log is read once, when the first of them is requested."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[tuple[str, str], dict[str, str]] = {}

    def value(self, row: JobRow, name: str) -> str:
        key = row.namespace, row.object_name
        if key not in self._known:
            self._known[key] = _texts(_of_row(self._session, row))
        return self._known[key][name]


def print_all(session: Session, *, is_json: bool) -> None:
    """The running jobs of the user in which a run of WRF is found, in order of their numbers."""
    rows = listing.list_rows(session.api, session.namespace, finished=False)
    mine = [row for row in rows if row.namespace == session.namespace and row.state in _RUNS and not row.array_indices]
    found = [(row, progress) for row in mine if (progress := _of_row(session, row)) is not None]
    if is_json:
        for row, progress in found:
            print(json.dumps(_as_json(row, progress)))
        return
    if not found:
        print(f"no WRF run was found in {counted(len(mine), 'running job')}")
        return
    table: list[tuple[str, ...]] = [_HEADINGS]
    for row, progress in found:
        texts = _texts(progress)
        program = "starting" if progress.program is None else f"{progress.program}.exe"
        values = (texts[name] for name in ("wrfprogress", "wrftime", "wrfstep", "wrfleft"))
        table.append((_shown_id(row), row.name, program, *values))
    print("\n".join(aligned(table)))


def _of_row(session: Session, row: JobRow) -> Progress | None:
    """None where the job does not run, or no log of it can be read here."""
    if row.state not in _RUNS or row.array_indices:
        return None
    try:
        file = log_of(listing.get_record(session.api, row))
        if file is None:
            return None
        file.read()
    except HpcBatchError:  # ended meanwhile; somebody else's
        return None
    return progress_of(file.log, settings_of(file.path.parent, is_told=False))


def _texts(progress: Progress | None) -> dict[str, str]:
    found = progress
    first = found.domains[0] if found is not None and found.domains else None
    return {
        "wrfprogress": _NONE if found is None or found.percent is None else f"{found.percent:.0f}%",
        "wrftime": _NONE if found is None or found.time is None else f"{found.time:%Y-%m-%d_%H:%M:%S}",
        "wrfstep": _NONE if first is None else f"{first.mean_s:.3g}",
        "wrfleft": _NONE if found is None or found.eta_s is None else hms(round(found.eta_s)),
    }


def _as_json(row: JobRow, progress: Progress) -> dict[str, object]:
    first = progress.domains[0] if progress.domains else None
    return {
        "job": _shown_id(row),
        "name": row.name,
        "program": None if progress.program is None else progress.program.value,
        "percent": None if progress.percent is None else round(progress.percent, 2),
        "time": None if progress.time is None else f"{progress.time:%Y-%m-%d_%H:%M:%S}",
        "step_mean_s": None if first is None else first.mean_s,
        "eta_s": None if progress.eta_s is None else round(progress.eta_s, 1),
    }


def _shown_id(row: JobRow) -> str:
    """As the dialect that the job was submitted in shows it."""
    from hpcbatch.dialects.registry import door

    return door(row.dialect).shown_id(row)
