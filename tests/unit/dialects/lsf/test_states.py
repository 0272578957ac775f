"""The tables of states and reasons."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hpcbatch.dialects.lsf import states
from hpcbatch.dialects.lsf.bjobs import table
from hpcbatch.dialects.lsf.commands import parse
from hpcbatch.dialects.lsf.errors import REFUSED
from hpcbatch.dialects.lsf.long import changes_text
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from hpcbatch.record.rows import row_of

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def test_tables_are_total() -> None:
    assert states.STAT.keys() == set(JobState)
    assert states.PENDING.keys() == set(Reason)
    assert REFUSED.keys() == set(RefusalCode)
    assert set(states.STAT.values()) <= set(states.ORDER)


def test_who_waits_to_go_on_is_suspended_by_the_system() -> None:
    spec, status = JobSpec(dialect=Dialect.LSF, name="j", chunks=(Chunk(),)), JobStatus(state=JobState.SUSPENDED)
    job = row_of(JobRecord(job_id=1, namespace="n", object_name="o", spec=spec, status=status, queue="q"))
    assert states.stat(job) == "USUSP"
    waits = job._replace(reason=Reason.RESOURCES)
    assert (states.stat(waits), states.suspension_reason(waits)[:16]) == ("SSUSP", "The job goes on ")


def test_who_waits_for_others_is_not_suspended() -> None:
    spec, status = JobSpec(dialect=Dialect.LSF, name="j", chunks=(Chunk(),)), JobStatus(state=JobState.HELD)
    job = row_of(JobRecord(job_id=1, namespace="n", object_name="o", spec=spec, status=status, queue="q"))
    stats = {reason: states.stat(job._replace(reason=reason)) for reason in Reason}
    assert {reason for reason, stat in stats.items() if stat == "PEND"} == {Reason.DEPENDENCY, Reason.DEPENDENCY_NEVER}
    assert set(stats.values()) == {"PEND", "PSUSP"}


def test_no_time_of_the_widest_table_has_a_blank() -> None:
    """Programs take it apart at the blanks."""
    spec, status = JobSpec(dialect=Dialect.LSF, name="j", chunks=(Chunk(),)), JobStatus(submit_time=NOON)
    job = row_of(JobRecord(job_id=1, namespace="n", object_name="o", spec=spec, status=status, queue="q"))
    shown = {each: list(table([job], parse("bjobs", [each, "-noheader"]), NOON, UTC)) for each in ("-w", "-W")}
    assert "Nov 21 12:00" in shown["-w"][0]
    assert "11/21-12:00:00" in shown["-W"][0].split()


ENDS = [
    ((JobState.FINISHED, Reason.NONE, 0, None), 0, ""),
    ((JobState.FAILED, Reason.NON_ZERO_EXIT, 3, None), 3, ""),
    ((JobState.FAILED, Reason.SIGNALLED, None, 9), 137, ""),
    ((JobState.TIMEOUT, Reason.TIME_LIMIT, 143, None), 140, "TERM_RUNLIMIT"),
    ((JobState.FAILED, Reason.OUT_OF_MEMORY, 137, None), 137, "TERM_MEMLIMIT"),
    ((JobState.DELETED, Reason.DELETED_BY_USER, None, 15), 130, "TERM_OWNER"),
    ((JobState.RUNNING, Reason.NONE, None, None), None, ""),
]


@pytest.mark.parametrize(("end", "code", "term"), ENDS)
def test_end(end: tuple[JobState, Reason, int | None, int | None], code: int | None, term: str) -> None:
    assert states.code_of(*end) == code
    assert states.termination(*end[:2]).partition(":")[0] == term


def test_changes_stand_in_lsf_s_words() -> None:
    found = changes_text('Resource_List.walltime=00:20:00 Job_Name="a b\\073c" depend=UNSET umask=22 a...')
    assert found == (
        "Run limit changes to : 00:20:00, Job name changes to : a b;c, Dependency condition changes to : none, "
        "umask changes to : 22"
    )
