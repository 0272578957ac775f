from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hpcbatch.dialects.pbs.states import LETTER, SUBSTATE, comment, ctime, exec_host, exec_vnode, exit_status, substate
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState, Reason

from .jobs import ROWS

RUNNING, QUEUED = ROWS[0], ROWS[2]
RUN = "Job run at Sat Nov 21 at 02:54 on (pbs1:ncpus=1)"


def test_tables_are_total() -> None:
    assert LETTER.keys() == set(JobState)
    assert SUBSTATE.keys() == set(JobState)


@pytest.mark.parametrize(
    ("row", "state", "reason", "message", "expected"),
    [
        (RUNNING, JobState.RUNNING, Reason.NONE, "", RUN),
        (RUNNING, JobState.EXITING, Reason.NONE, "", RUN),
        (RUNNING, JobState.RUNNING, Reason.NONE, "pod y: FailedMount: no", f"{RUN}: pod y: FailedMount: no"),
        (RUNNING, JobState.FINISHED, Reason.NONE, "", f"{RUN} and finished"),
        (RUNNING, JobState.FINISHED, Reason.OUTPUT_FAILED, "disk full", f"{RUN} and finished: disk full"),
        (RUNNING, JobState.FAILED, Reason.NON_ZERO_EXIT, "exit 3", f"{RUN} and failed"),
        (RUNNING, JobState.FAILED, Reason.PROGRAM_FAILED, "wrf.exe: why", f"{RUN} and failed: wrf.exe: why"),
        (RUNNING, JobState.FAILED, Reason.SIGNALLED, "signal 9", f"{RUN} and failed"),
        (RUNNING, JobState.FAILED, Reason.NODE_LOST, "node n1 went away", f"{RUN} and failed: node n1 went away"),
        (RUNNING, JobState.FAILED, Reason.OUT_OF_MEMORY, "", f"{RUN} and exceeded resource mem"),
        (RUNNING, JobState.TIMEOUT, Reason.TIME_LIMIT, "", f"{RUN} and exceeded resource walltime"),
        (RUNNING, JobState.TIMEOUT, Reason.CPU_TIME_LIMIT, "", f"{RUN} and exceeded resource cput"),
        (RUNNING, JobState.DELETED, Reason.DELETED_BY_USER, "", f"{RUN} and terminated"),
        (RUNNING, JobState.FINISHED, Reason.NONE, "warning: w", f"{RUN} and finished: warning: w"),
        (RUNNING, JobState.FAILED, Reason.SIGNALLED, "signal 9; warning: w", f"{RUN} and failed: warning: w"),
        (
            RUNNING,
            JobState.FAILED,
            Reason.OUT_OF_MEMORY,
            "m; warning: w",
            f"{RUN} and exceeded resource mem: warning: w",
        ),
        (
            RUNNING,
            JobState.TIMEOUT,
            Reason.TIME_LIMIT,
            "t; warning: w",
            f"{RUN} and exceeded resource walltime: warning: w",
        ),
        (RUNNING, JobState.DELETED, Reason.DELETED_BY_USER, "warning: w", f"{RUN} and terminated: warning: w"),
        (QUEUED, JobState.QUEUED, Reason.NONE, "", None),
        (QUEUED, JobState.QUEUED, Reason.NONE, "odd", "Not Running: odd"),
        (QUEUED, JobState.QUEUED, Reason.RESOURCES, "", "Not Running: Not enough free nodes available"),
        (QUEUED, JobState.QUEUED, Reason.NEVER_FITS, "too big", "Can Never Run: too big"),
        (QUEUED, JobState.QUEUED, Reason.PRIORITY, "", "Not Running: Job would conflict with reservation or top job"),
        (QUEUED, JobState.RUNNING, Reason.STARTING, "", "Not Running: Job is being started"),
        (QUEUED, JobState.HELD, Reason.HELD_BY_USER, "held", None),
        (QUEUED, JobState.WAITING, Reason.BEGIN_TIME, "later", None),
        (QUEUED, JobState.DELETED, Reason.DELETED_BY_USER, "", None),
        (QUEUED, JobState.FAILED, Reason.LAUNCH_FAILED, "no /bin/x", "Job could not be started: no /bin/x"),
        (QUEUED, JobState.FAILED, Reason.LAUNCH_FAILED, "", "Job could not be started"),
    ],
)
def test_comments(row: JobRow, state: JobState, reason: Reason, message: str, expected: str | None) -> None:
    assert comment(row._replace(state=state, reason=reason, message=message), timezone=UTC) == expected


def test_comment_names_who_deleted_it() -> None:
    assert comment(RUNNING, ended_by="tester@pbs1", timezone=UTC) == f"{RUN} and terminated by tester@pbs1"
    deleted = RUNNING._replace(state=JobState.DELETED)
    assert comment(deleted, ended_by="a@b", vnodes="(x:ncpus=2)", timezone=UTC) == (
        "Job run at Sat Nov 21 at 02:54 on (x:ncpus=2) and terminated by a@b"
    )


@pytest.mark.parametrize(
    ("state", "reason", "has_started", "code", "signal", "expected"),
    [
        (JobState.RUNNING, Reason.NONE, True, None, None, None),
        (JobState.FINISHED, Reason.NONE, True, 0, None, 0),
        (JobState.FAILED, Reason.NON_ZERO_EXIT, True, 3, None, 3),
        (JobState.FAILED, Reason.SIGNALLED, True, None, 9, 265),
        (JobState.FAILED, Reason.OUT_OF_MEMORY, True, 137, 9, -27),
        (JobState.FAILED, Reason.LAUNCH_FAILED, False, None, None, -1),
        (JobState.FAILED, Reason.OUTPUT_FAILED, True, None, None, -1),
        (JobState.FAILED, Reason.OUTPUT_FAILED, True, 3, None, 3),
        (JobState.FINISHED, Reason.OUTPUT_FAILED, True, 0, None, 0),
        (JobState.FAILED, Reason.NODE_LOST, True, None, None, -20),
        (JobState.TIMEOUT, Reason.TIME_LIMIT, True, 143, None, -29),
        (JobState.TIMEOUT, Reason.CPU_TIME_LIMIT, True, 143, None, -28),
        (JobState.TIMEOUT, Reason.NONE, True, None, 15, -29),
        (JobState.DELETED, Reason.DELETED_BY_USER, True, None, None, 271),
        (JobState.DELETED, Reason.DELETED_BY_USER, True, None, 15, 271),
        (JobState.DELETED, Reason.DELETED_BY_USER, True, 9, None, 9),
        (JobState.DELETED, Reason.DELETED_BY_USER, True, None, 9, 265),
        (JobState.DELETED, Reason.DELETED_BY_USER, False, None, None, None),
    ],
)
def test_exit_status(
    state: JobState, reason: Reason, has_started: bool, code: int | None, signal: int | None, expected: int | None
) -> None:
    found = exit_status(state, reason, has_started=has_started, exit_code=code, exit_signal=signal)
    assert found == expected


def test_every_state_and_reason_has_an_answer() -> None:
    for state in JobState:
        for reason in Reason:
            for row in (RUNNING, QUEUED):
                comment(row._replace(state=state, reason=reason), timezone=UTC)
            status = exit_status(state, reason, has_started=True, exit_code=None, exit_signal=None)
            assert (status is None) == (not state.is_final)
            assert substate(state, reason) in range(10, 94)


def test_hosts() -> None:
    assert exec_host(["a", "b", "a"], [1, 4, 2]) == "a/0+b/0*4+a/1*2"
    pods = [Chunk(), Chunk(mem_bytes=1 << 20, resources=(("ngpus", 2),))]
    assert exec_vnode(["a", "b"], [1, 4], pods) == "(a:ncpus=1)+(b:ncpus=4:mem=1024kb:ngpus=2)"
    assert exec_host([], []) == exec_vnode([], []) == ""


def test_ctime_pads_the_day_with_a_blank() -> None:
    assert ctime(datetime(2026, 4, 9, 10, 0, 0, tzinfo=UTC), UTC) == "Thu Apr  9 10:00:00 2026"
