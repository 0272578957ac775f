"""`scontrol` where it asks about one job: write batch_script, wait_job; and completing, listpids."""

from __future__ import annotations

import os
import re
import sys

from hpcbatch.cli.common import EndedError, Session, complain
from hpcbatch.client import listing
from hpcbatch.dialects.slurm import scontrol_show
from hpcbatch.dialects.slurm.errors import INVALID_JOB
from hpcbatch.dialects.slurm.ids import parse_id
from hpcbatch.dialects.slurm.scontrol_command import ScontrolCommand, Verb
from hpcbatch.errors import UnknownJobError
from hpcbatch.model.state import JobState
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.row import JobRow

_HAS_NODES = frozenset({JobState.RUNNING, JobState.SUSPENDED})


def run_request(session: Session, command: ScontrolCommand) -> int:
    match command.verb:
        case Verb.WRITE_SCRIPT:
            return _write_script(session, command)
        case Verb.WAIT_JOB:
            return _wait_job(session, command.words[0])
        case Verb.COMPLETING:
            rows = listing.list_rows(session.api, session.namespace, finished=False)
            sys.stdout.write(scontrol_show.format_completing(rows, session.now, session.zone, command.time_format))
            return 0
        case Verb.PIDINFO:
            return _pidinfo(session, command)
        case _:
            return _listpids(command)


def _listpids(command: ScontrolCommand) -> int:
    """In a job its runner knows them; elsewhere there are none."""
    import shutil
    import subprocess

    if found := shutil.which("scontrol-listpids"):
        sys.stdout.flush()
        return subprocess.run([found, *command.words], check=False).returncode
    print(scontrol_show.PIDS_HEADING)
    raise EndedError("No job steps exist on this node.", 1)


def _write_script(session: Session, command: ScontrolCommand) -> int:
    """Its failures end with 0, as in Slurm."""
    from hpcbatch.client.records import submitted_script

    text, *file = command.words
    number = re.match("[0-9]{1,9}", text)
    try:
        row = listing.find(session.api, session.namespace, int(number[0]) if number else 0)
        script = submitted_script(session.api, listing.get_record(session.api, row))
    except UnknownJobError:
        script = b""
    if not script:  # gone, or of somebody else
        complain(f"job script retrieval failed: {INVALID_JOB}")
        return 0
    name = file[0] if file else f"slurm-{row.job_id}.sh"
    if name == "-":
        sys.stdout.buffer.write(script)
        return 0
    try:
        with open(name, "wb") as target:  # noqa: PTH123  in the directory of this process, however it is called
            target.write(script)
    except OSError as error:
        complain(f"failed to open file `{name}': {os.strerror(error.errno or 0)}")
        return 0
    if not command.quiet:
        print(f"batch script for job {row.job_id} written to {name}")
    return 0


def _pidinfo(session: Session, command: ScontrolCommand) -> int:
    """The processes that a job sees are its own: its pods share none with others."""
    number = session.environ.get("SLURM_JOB_ID", "")
    try:
        os.kill(int(command.words[0]), 0)
        row = listing.find(session.api, session.namespace, int(number))
    except (OSError, OverflowError, ValueError, UnknownJobError):
        raise EndedError(scontrol_show.NO_PID, 1) from None
    sys.stdout.write(scontrol_show.format_pidinfo(row, session.now, session.zone, command.time_format))
    return 0


def _wait_job(session: Session, text: str) -> int:
    """A job that has not started is no reason to wait for Slurm."""
    try:
        named = parse_id(text)
    except ValueError:
        raise EndedError(f"Invalid job_id {text}", 1) from None
    try:
        row: JobRow = listing.find(session.api, session.namespace, named.number)
    except UnknownJobError:
        raise EndedError(f"scontrol: Problem running job {named.number}", 1) from None
    if named.is_array and row.array_indices:
        from hpcbatch.client.arrays import own_rows

        row = next(iter(own_rows(session.api, row, named.members, ended=False).values()), row)
    if row.state not in _HAS_NODES:
        raise EndedError(f"scontrol: Job {row.job_id} no longer running", 1)
    complain(f"scontrol: Nodes are ready for job {row.job_id}")
    return 0
