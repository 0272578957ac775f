"""Every path of one job through `decide`, and what must hold on all of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.interactive import Interactive
from hpcbatch.model.record import Alteration, JobStatus, Suspension
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.decide import decide
from hpcbatch.policy.observed import Observed, PodView, Waiting
from tests.unit.policy.job_seen import END, ENDED, NOW, RUNNING, START, ended_with, pod, seen

SET_DOWN = JobStatus(
    state=JobState.EXITING,
    reason=Reason.NODE_LOST,
    message="node n1 was set down",
    owner="alice",
    layout=(Chunk(),),
    start_time=START,
    run_count=1,
)


@pytest.mark.parametrize(
    ("observed", "state", "reason", "flag"),
    [
        pytest.param(seen(), "Queued", "None", "create", id="admitted: make the Volcano Job"),
        pytest.param(seen(spec={"hold": True}), "Held", "HeldByUser", "", id="held: nothing is made"),
        pytest.param(
            seen(spec={"begin_time": NOW + timedelta(hours=1)}), "Waiting", "BeginTime", "", id="before its time"
        ),
        pytest.param(seen(spec={"begin_time": START}), "Queued", "None", "create", id="begin time has passed"),
        pytest.param(seen(delete_requested=True), "Deleted", "DeletedByUser", "", id="deleted at once"),
        pytest.param(
            seen(phase="Pending", waiting=Waiting(reason=Reason.RESOURCES, message="m")),
            "Queued",
            "Resources",
            "",
            id="waits for room",
        ),
        pytest.param(seen(phase="Pending", spec={"hold": True}), "Held", "HeldByUser", "delete", id="held late"),
        pytest.param(seen(phase="Pending", pods=[pod(phase="Pending")]), "Queued", "Starting", "", id="pods start"),
        pytest.param(seen(phase="Running", pods=[RUNNING]), "Running", "None", "", id="runs"),
        pytest.param(seen(phase="Running", pods=[RUNNING], is_suspended=True), "Suspended", "None", "", id="suspended"),
        pytest.param(
            seen(status=JobStatus(run_count=1), phase="Running", pods=[RUNNING], is_suspended=True),
            "Running",
            "None",
            "",
            id="was suspended in the run before",
        ),
        pytest.param(
            seen(phase="Completed", pods=[ended_with(exit_code=0, reason=Reason.OUTPUT_FAILED)]),
            "Finished",
            "OutputFailed",
            "",
            id="disk full, script content",
        ),
        pytest.param(
            seen(phase="Terminated", pods=[ended_with(exit_code=2, reason=Reason.OUTPUT_FAILED)]),
            "Failed",
            "OutputFailed",
            "",
            id="disk full, script failed",
        ),
        pytest.param(
            seen(phase="Terminated", pods=[ended_with(exit_code=1, reason=Reason.PROGRAM_FAILED)]),
            "Failed",
            "ProgramFailed",
            "",
            id="a program failed by its own log",
        ),
        pytest.param(
            seen(phase="Running", pods=[RUNNING], spec={"hold": True}), "Running", "None", "", id="hold too late"
        ),
        pytest.param(seen(phase="Completing", pods=[ENDED]), "Exiting", "None", "", id="script over, workers end"),
        pytest.param(seen(phase="Completed", pods=[ENDED]), "Finished", "None", "", id="all over"),
        pytest.param(
            seen(phase="Terminated", pods=[ended_with(exit_code=3)]), "Failed", "NonZeroExit", "", id="exit code 3"
        ),
        pytest.param(
            seen(phase="Terminated", pods=[ended_with(signal=9)]), "Failed", "Signalled", "", id="killed by a signal"
        ),
        pytest.param(
            seen(phase="Terminated", pods=[ended_with(exit_code=1, reason=Reason.TIME_LIMIT)]),
            "Timeout",
            "TimeLimit",
            "",
            id="walltime",
        ),
        pytest.param(
            seen(phase="Terminated", pods=[ended_with(reason=Reason.OUTPUT_FAILED)]),
            "Failed",
            "OutputFailed",
            "",
            id="never ran: no output file",
        ),
        pytest.param(
            seen(phase="Running", pods=[RUNNING, pod(1, started_at=START, is_set_down=True)]),
            "Exiting",
            "NodeLost",
            "",
            id="a node is set down",
        ),
        pytest.param(
            seen(phase="Running", pods=[RUNNING], status=SET_DOWN), "Exiting", "NodeLost", "terminate", id="ends"
        ),
        pytest.param(
            seen(phase="Terminated", pods=[ENDED], status=SET_DOWN),
            "Queued",
            "NodeLost",
            "delete",
            id="set down: again",
        ),
        pytest.param(
            seen(phase="Terminated", pods=[ENDED], status=SET_DOWN, spec={"rerunnable": False}),
            "Failed",
            "NodeLost",
            "",
            id="set down and not rerunnable",
        ),
        pytest.param(
            seen(phase="Running", pods=[pod(phase="Pending", is_set_down=True)]),
            "Queued",
            "None",
            "terminate",
            id="set down before the job has begun",
        ),
        pytest.param(
            seen(phase="Terminated", pods=[replace(ENDED, report=None, is_lost=True)]),
            "Queued",
            "NodeLost",
            "delete",
            id="lost and rerunnable: again",
        ),
        pytest.param(
            seen(phase="Terminated", pods=[replace(ENDED, report=None, is_lost=True)], spec={"rerunnable": False}),
            "Failed",
            "NodeLost",
            "",
            id="lost and not rerunnable",
        ),
        pytest.param(
            seen(phase="Terminated", pods=[replace(ended_with(signal=15), is_deleting=True)]),
            "Queued",
            "NodeLost",
            "delete",
            id="somebody deleted the first pod: again",
        ),
        pytest.param(
            seen(
                phase="Terminated",
                pods=[
                    replace(ended_with(signal=15), is_deleting=True),
                    replace(ended_with(reason=Reason.LAUNCH_FAILED, message="no sshd"), index=1),
                ],
            ),
            "Failed",
            "LaunchFailed",
            "",
            id="a worker failed, so the first pod was ended",
        ),
        pytest.param(
            seen(
                phase="Terminated",
                pods=[replace(ended_with(reason=Reason.LAUNCH_FAILED, message="no sshd"), index=1)],
                status=JobStatus(start_time=START),
            ),
            "Failed",
            "LaunchFailed",
            "",
            id="a worker failed, and the first pod is known no more",
        ),
        pytest.param(
            seen(phase="Aborted", spec={"rerunnable": False}, status=JobStatus(start_time=START)),
            "Failed",
            "NodeLost",
            "",
            id="pod deleted",
        ),
        pytest.param(
            seen(phase="Terminated", pods=[replace(ENDED, report=None, problem="StartError: no sh")]),
            "Failed",
            "LaunchFailed",
            "",
            id="no shell in the image",
        ),
        pytest.param(
            seen(phase="Running", pods=[RUNNING], delete_requested=True),
            "Exiting",
            "None",
            "terminate",
            id="deleted while it runs",
        ),
        pytest.param(
            seen(phase="Terminated", pods=[ended_with(signal=15)], delete_requested=True),
            "Deleted",
            "DeletedByUser",
            "",
            id="deleted, and its pods have ended",
        ),
        pytest.param(
            seen(phase="Pending", delete_requested=True), "Queued", "None", "terminate", id="deleted while it waits"
        ),
    ],
)
def test_decide(observed: Observed, state: str, reason: str, flag: str) -> None:
    decision = decide(observed)
    assert (decision.status.state, decision.status.reason) == (JobState(state), Reason(reason))
    assert [name for name in ("create", "terminate", "delete") if getattr(decision, name)] == ([flag] if flag else [])


LIMITED = JobStatus(owner="alice", layout=(Chunk(),), walltime_s=30, start_time=START, run_count=1)
OVERDUE = replace(LIMITED, state=JobState.EXITING, reason=Reason.TIME_LIMIT)


@pytest.mark.parametrize(
    ("observed", "state", "reason", "flag", "look_again_s"),
    [
        pytest.param(
            seen(phase="Running", pods=[RUNNING], status=LIMITED),
            "Exiting",
            "TimeLimit",
            "",
            None,
            id="90 s of 30, 20 to be late in and 10 between TERM and KILL",
        ),
        pytest.param(
            seen(phase="Running", pods=[RUNNING], status=replace(LIMITED, walltime_s=100)),
            "Running",
            "None",
            "",
            40,
            id="in time",
        ),
        pytest.param(seen(phase="Running", pods=[RUNNING]), "Running", "None", "", None, id="without a limit"),
        pytest.param(
            seen(phase="Running", pods=[RUNNING, pod(1, started_at=START + timedelta(seconds=1))], status=LIMITED),
            "Running",
            "None",
            "",
            11,
            id="pods that have to find each other",
        ),
        pytest.param(
            seen(phase="Running", pods=[RUNNING], status=LIMITED, is_suspended=True),
            "Suspended",
            "None",
            "",
            None,
            id="suspended",
        ),
        pytest.param(
            seen(
                phase="Running",
                pods=[RUNNING],
                status=replace(
                    LIMITED, suspensions=(Suspension(start_time=START, end_time=START + timedelta(seconds=45)),)
                ),
            ),
            "Running",
            "None",
            "",
            15,
            id="was suspended for 45 s",
        ),
        pytest.param(
            seen(
                phase="Running",
                pods=[RUNNING],
                status=replace(LIMITED, alterations=(Alteration(time=NOW - timedelta(seconds=2), changes="walltime"),)),
            ),
            "Running",
            "None",
            "",
            28,
            id="a limit set a moment ago that has passed",
        ),
        pytest.param(
            seen(phase="Running", pods=[RUNNING], status=OVERDUE),
            "Exiting",
            "TimeLimit",
            "terminate",
            None,
            id="is being ended",
        ),
        pytest.param(
            seen(phase="Terminated", pods=[replace(ENDED, report=None, is_deleting=True)], status=OVERDUE),
            "Timeout",
            "TimeLimit",
            "",
            None,
            id="is over",
        ),
        pytest.param(seen(phase="Terminated", status=OVERDUE), "Timeout", "TimeLimit", "", None, id="pods are gone"),
        pytest.param(seen(status=OVERDUE), "Timeout", "TimeLimit", "", None, id="the Volcano Job is gone, too"),
        pytest.param(
            seen(phase="Running", pods=[RUNNING], status=OVERDUE, delete_requested=True),
            "Exiting",
            "TimeLimit",
            "terminate",
            None,
            id="deleted meanwhile",
        ),
    ],
)
def test_a_run_that_its_runner_does_not_end_at_its_limit(
    observed: Observed, state: str, reason: str, flag: str, look_again_s: float | None
) -> None:
    decision = decide(observed)
    assert (decision.status.state, decision.status.reason) == (JobState(state), Reason(reason))
    assert [name for name in ("create", "terminate", "delete") if getattr(decision, name)] == ([flag] if flag else [])
    assert decision.look_again_s == look_again_s


def test_a_second_start_counts() -> None:
    first = decide(seen(phase="Running", pods=[RUNNING])).status
    assert first.run_count == 1
    same = decide(seen(phase="Running", pods=[RUNNING], status=first)).status
    assert same == first
    again = decide(seen(phase="Running", pods=[replace(RUNNING, started_at=NOW)], status=first)).status
    assert (again.run_count, again.start_time) == (2, NOW)


def test_a_volcano_job_that_somebody_deleted_fails_the_job() -> None:
    gone = replace(seen(status=JobStatus(state=JobState.RUNNING, start_time=START)), was_created=True)
    status = decide(gone).status
    assert (status.state, status.reason) == (JobState.FAILED, Reason.LAUNCH_FAILED)
    assert "deleted" in status.message


def test_a_restart_is_counted_once() -> None:
    """Volcano's phase Restarting comes before the old pods begin to go."""
    status = decide(seen(phase="Running", pods=[RUNNING])).status
    for _ in range(2):
        status = decide(seen(phase="Restarting", pods=[RUNNING], status=status)).status
    assert status.run_count == 1
    again = decide(seen(phase="Running", pods=[replace(RUNNING, started_at=NOW)], status=status)).status
    assert again.run_count == 2


def test_a_lost_run_of_a_held_job_is_over() -> None:
    """Volcano starts it anew, but its user has held it since: it shows no start, and can be released."""
    status = decide(seen(phase="Running", pods=[RUNNING])).status
    decision = decide(seen(phase="Pending", pods=[pod(node="")], status=status, spec={"hold": True}))
    assert (decision.status.state, decision.status.reason) == (JobState.HELD, Reason.HELD_BY_USER)
    assert decision.status.start_time is None
    assert decision.status.hosts == ()
    assert len(decision.status.past_runs) == 1
    assert decision.delete


@pytest.mark.parametrize("phase", ["Pending", "Running", "Restarting", "Aborting"])
@pytest.mark.parametrize(("rerunnable", "count"), [(True, 1), (False, 0)])
def test_a_run_that_is_seen_only_when_its_pod_is_taken_away(phase: str, rerunnable: bool, count: int) -> None:
    """The next one is its second. One that must not run twice would not have begun without the controller's word."""
    spec: dict[str, object] = {"rerunnable": rerunnable}
    taken = replace(RUNNING, is_deleting=True)
    first = decide(seen(phase=phase, pods=[taken], spec=spec)).status
    assert first.run_count == count
    again = decide(seen(phase="Restarting", pods=[taken], status=first, spec=spec)).status
    assert again.run_count == count
    if rerunnable:
        assert [run.start_time for run in again.past_runs] == [START]
        assert decide(seen(phase="Pending", pods=[taken], status=again)).status.run_count == 1
        assert decide(seen(phase="Terminated", pods=[taken], status=again)).status.run_count == 1
        anew = replace(RUNNING, started_at=NOW)
        assert decide(seen(phase="Running", pods=[anew], status=again)).status.run_count == 2


def test_a_pod_that_volcano_makes_anew_during_a_run_keeps_its_place_in_the_record() -> None:
    """The pod that was deleted is not to be seen any more, only the one in its place, which gets no node."""
    both = [RUNNING, replace(RUNNING, index=1, name="pod-1", node="node-1")]
    spec: dict[str, object] = {"rerunnable": False}
    status = decide(seen(phase="Running", pods=both, spec=spec)).status
    anew = pod(1, name="pod-1", node="", phase="Pending")
    status = decide(seen(phase="Running", pods=[RUNNING, anew], status=status, spec=spec)).status
    assert [host.node for host in status.hosts] == [RUNNING.node, "node-1"]
    taken = replace(anew, is_deleting=True, dies_at=START)
    first = replace(RUNNING, is_deleting=True, phase="Failed", finished_at=END, dies_at=END)
    ended = decide(seen(phase="Terminated", pods=[first, taken], status=status, spec=spec)).status
    assert ended.message == "pod pod-1 on node node-1 was deleted by somebody else; not rerunnable"


@pytest.mark.parametrize(
    ("rerunnable", "others", "barred"),
    [
        (False, [replace(RUNNING, index=1)], True),
        (False, [pod(1, phase="Pending")], False),
        (True, [replace(RUNNING, index=1)], False),
    ],
    ids=["all run", "one is still to come", "rerunnable"],
)
def test_a_job_that_must_not_run_twice(rerunnable: bool, others: list[PodView], barred: bool) -> None:
    decision = decide(seen(phase="Running", pods=[RUNNING, *others], spec={"rerunnable": rerunnable}))
    assert decision.let_start is barred


@pytest.mark.parametrize(
    ("others", "wanted", "is_let"),
    [
        ([], 1, False),
        ([replace(RUNNING, index=1)], 2, True),
        ([pod(1, phase="Pending")], 2, False),
        ([replace(RUNNING, index=1)], 3, False),
        ([replace(RUNNING, index=1, is_deleting=True)], 2, False),
    ],
    ids=["one pod needs no word", "all run", "one is still to come", "one is made anew", "one is being deleted"],
)
def test_a_job_that_may_have_some_of_its_nodes(others: list[PodView], wanted: int, is_let: bool) -> None:
    at = seen(phase="Running", pods=[RUNNING, *others], pods_wanted=wanted)
    assert at.volcano_job is not None
    decision = decide(replace(at, volcano_job=replace(at.volcano_job, may_bind_in_part=True, has_run=True)))
    assert decision.let_start is is_let
    assert not decide(at).let_start, "Volcano gives all nodes or none"


def test_it_looks_again_for_what_kueue_says() -> None:
    at = seen(phase="Pending", pods=[pod(0, phase="Pending", node="")])
    assert at.volcano_job is not None
    assert decide(at).look_again_s is None
    assert decide(replace(at, volcano_job=replace(at.volcano_job, may_bind_in_part=True))).look_again_s == 5


def test_a_run_that_was_never_let_start_is_none() -> None:
    """Its first pod was deleted before all others ran. One that was let start counts, though that is seen late."""
    deleted = replace(RUNNING, is_deleting=True)
    at = seen(phase="Restarting", pods=[deleted], pods_wanted=2)
    assert at.volcano_job is not None
    in_part = replace(at, volcano_job=replace(at.volcano_job, may_bind_in_part=True))
    assert decide(in_part).status.run_count == 0
    assert decide(replace(in_part, pods=[replace(deleted, has_word=True)])).status.run_count == 1


@pytest.mark.parametrize("phase", ["Terminating", "Completing", "Aborting"])
def test_a_run_whose_pods_are_gone_is_not_given_back_to_the_queue(phase: str) -> None:
    running = decide(seen(phase="Running", pods=[RUNNING])).status
    for rerunnable in (True, False):
        decision = decide(seen(phase=phase, pods=[], status=running, spec={"rerunnable": rerunnable}))
        assert decision.status.state is JobState.EXITING
        assert decision.status.start_time == running.start_time
        assert not decision.delete


RERUNNING = JobStatus(
    state=JobState.RUNNING, owner="alice", layout=(Chunk(),), start_time=START, run_count=1, is_rerunning=True
)


def test_a_rerun_ends_the_run_and_makes_the_next_one_in_steps_of_their_own() -> None:
    """The mark is taken off when the Volcano Job is gone, and by a write of its own before another one is made."""
    running = decide(seen(phase="Running", status=RERUNNING, pods=[RUNNING]))
    assert (running.terminate, running.delete, running.status.state) == (True, False, JobState.EXITING)
    ended = ended_with(signal=15)
    over = decide(seen(phase="Terminated", status=running.status, pods=[ended]))
    assert (over.delete, over.create, over.status.state) == (True, False, JobState.QUEUED)
    assert over.status.is_rerunning
    assert decide(seen(phase="Terminated", status=over.status, pods=[ended])) == over  # killed before it was deleted
    gone = decide(seen(status=over.status))
    assert (gone.create, gone.status.is_rerunning, gone.status.state) == (False, False, JobState.QUEUED)
    again = decide(seen(status=gone.status))
    assert again.create
    assert (again.status.run_count, again.status.start_time) == (1, None)


def test_a_rerun_is_done_although_the_job_ended_by_itself_meanwhile() -> None:
    found = decide(seen(phase="Completed", status=RERUNNING, pods=[ENDED]))
    assert (found.delete, found.status.state, found.status.exit_code) == (True, JobState.QUEUED, None)


WISHED = JobStatus(state=JobState.RUNNING, owner="alice", layout=(Chunk(),), start_time=START, run_count=1)


@pytest.mark.parametrize("has_been_seen", [True, False])
def test_a_script_has_its_own_job_queued_again(has_been_seen: bool) -> None:
    """As a request does, and in the same steps; a run that was not seen before is first written down."""
    of_slurm: dict[str, object] = {"dialect": Dialect.SLURM}
    ended = ended_with(signal=15, wish="requeue")
    status = WISHED if has_been_seen else JobStatus(owner="alice", layout=(Chunk(),))
    found = decide(seen(phase="Terminated", status=status, pods=[ended], spec=of_slurm))
    if not has_been_seen:
        assert (found.status.state, found.delete, found.status.start_time) == (JobState.EXITING, False, START)
        found = decide(seen(phase="Terminated", status=found.status, pods=[ended], spec=of_slurm))
    assert (found.status.state, found.delete, found.status.is_rerunning) == (JobState.QUEUED, True, True)
    assert (found.status.run_count, len(found.status.past_runs)) == (1, 1)
    assert decide(seen(phase="Terminated", status=found.status, pods=[ended], spec=of_slurm)) == found
    gone = decide(seen(status=found.status, spec=of_slurm))
    assert (gone.status.is_rerunning, gone.create, "beginTime" in gone.status.altered) == (False, False, True)


def test_who_may_not_run_again_has_failed_whatever_its_script_requests() -> None:
    ended = ended_with(signal=15, wish="requeue")
    refused: dict[str, dict[str, object]] = {
        "PBS has operators for it": {},
        "not rerunnable": {"dialect": Dialect.SLURM, "rerunnable": False},
        "interactive": {"dialect": Dialect.SLURM, "interactive": Interactive.ALLOCATION},
    }
    for why, spec in refused.items():
        found = decide(seen(phase="Terminated", status=WISHED, pods=[ended], spec=spec))
        assert (found.status.state, found.delete) == (JobState.FAILED, False), why


def test_a_script_has_its_own_job_deleted() -> None:
    found = decide(seen(phase="Terminated", status=WISHED, pods=[ended_with(signal=15, wish="cancel")]))
    assert (found.status.state, found.status.reason) == (JobState.DELETED, Reason.DELETED_BY_USER)
    assert (found.status.exit_signal, found.status.deleted_by) == (15, "alice")


def test_deletion_goes_before_a_rerun() -> None:
    assert decide(seen(status=RERUNNING, delete_requested=True)).status.state is JobState.DELETED
    found = decide(seen(phase="Terminated", status=RERUNNING, pods=[ended_with(signal=15)], delete_requested=True))
    assert (found.status.state, found.status.is_rerunning) == (JobState.DELETED, False)


def test_a_volcano_job_from_before_an_alteration_is_made_anew_before_pods_are_placed() -> None:
    waiting = [pod(node="", phase="Pending")]
    found = decide(seen(phase="Pending", pods=waiting, is_outdated=True))
    assert (found.delete, found.status.state) == (True, JobState.QUEUED)
    assert not decide(seen(phase="Pending", pods=[pod(phase="Pending")], is_outdated=True)).delete


@pytest.mark.parametrize(
    ("spec", "state", "reason"),
    [
        ({"hold": True, "admin_holds": frozenset("o")}, JobState.HELD, Reason.HELD_BY_ADMIN),
        ({"admin_holds": frozenset("s")}, JobState.HELD, Reason.HELD_BY_ADMIN),
        ({"begin_time": NOW + timedelta(hours=1)}, JobState.WAITING, Reason.BEGIN_TIME),
    ],
)
def test_what_keeps_a_job_back_later_takes_its_volcano_job_away(
    spec: dict[str, object], state: JobState, reason: Reason
) -> None:
    for phase in (None, "Pending"):
        found = decide(seen(phase=phase, spec=spec))
        assert (found.status.state, found.status.reason, found.delete) == (state, reason, phase is not None)
