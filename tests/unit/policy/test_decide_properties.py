"""What holds for each decision, whatever was seen."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import example, given
from hypothesis import strategies as st

from hpcbatch.model.chunk import Chunk
from hpcbatch.model.record import JobStatus
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.decide import decide
from hpcbatch.policy.observed import Observed
from hpcbatch.volcano.report import RunReport
from tests.unit.policy.decide_parts import refused
from tests.unit.policy.job_seen import END, NOW, RUNNING, START, pod, seen

PODS = st.lists(
    st.builds(
        pod,
        index=st.integers(0, 2),
        node=st.sampled_from(["", "node-0"]),
        phase=st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]),
        started_at=st.sampled_from([None, START]),
        finished_at=st.sampled_from([None, END]),
        is_lost=st.booleans(),
        is_deleting=st.booleans(),
        is_taken_early=st.booleans(),
        is_gone=st.booleans(),
        problem=st.sampled_from(["", "ErrImagePull: m"]),
        bound_at=st.sampled_from([None, START, NOW - timedelta(hours=1)]),
        dies_at=st.sampled_from([None, START, NOW]),
        node_answers=st.booleans(),
        report=st.none()
        | st.builds(RunReport, exit_code=st.none() | st.integers(0, 9), reason=st.sampled_from(Reason)),
    ),
    max_size=3,
    unique_by=lambda view: view.index,
)


PHASES = [
    "Pending",
    "Running",
    "Restarting",
    "Completing",
    "Completed",
    "Failed",
    "Terminating",
    "Terminated",
    "Aborted",
]
SEEN = st.builds(
    seen,
    spec=st.fixed_dictionaries({"hold": st.booleans(), "rerunnable": st.booleans()}),
    status=st.builds(
        JobStatus,
        state=st.sampled_from(JobState),
        start_time=st.sampled_from([None, START]),
        layout=st.just((Chunk(),)),
    ),
    phase=st.none() | st.sampled_from(PHASES),
    pods=PODS,
    delete_requested=st.booleans(),
    refused_pods=st.none() | st.builds(refused, age_s=st.sampled_from([1, 1000]), may_pass=st.booleans()),
)


@given(SEEN)
def test_what_always_holds(observed: Observed) -> None:
    before, decision = observed.record.status, decide(observed)
    if before.state.is_final:
        assert decision.status == before, "a final state is final"
    assert [decision.create, decision.terminate, decision.delete].count(True) <= 1
    if decision.create:
        assert observed.volcano_job is None, "never a second Volcano Job"
        assert not observed.delete_requested
        assert not observed.record.spec.hold
    if decision.status.state.is_final and not before.state.is_final:
        assert decision.status.end_time is not None
        assert not decision.delete, "a job that has ended is not made again"
    if decision.status.state is JobState.FINISHED and not before.state.is_final:
        assert decision.status.exit_code == 0, "only exit code 0 is a good end"


LATE = seen(phase="Restarting", pods=[RUNNING])


@example(LATE)
@given(SEEN)
def test_deciding_twice_changes_nothing_more(observed: Observed) -> None:
    """But for a run first seen when Volcano restarts it: one look counts it, the next one gives it back."""
    once = decide(observed)
    again = decide(replace(observed, record=replace(observed.record, status=once.status)))
    is_counted = once.status.run_count > observed.record.status.run_count
    if is_counted and observed.volcano_job is not None and observed.volcano_job.phase == "Restarting":
        once, again = again, decide(replace(observed, record=replace(observed.record, status=again.status)))
    assert again.status == once.status


def test_a_run_that_is_seen_late_is_counted_then_given_back() -> None:
    first = decide(LATE).status
    assert (first.state, first.run_count) == (JobState.RUNNING, 1)
    again = decide(replace(LATE, record=replace(LATE.record, status=first))).status
    assert (again.state, again.run_count, len(again.past_runs)) == (JobState.QUEUED, 1, 1)
