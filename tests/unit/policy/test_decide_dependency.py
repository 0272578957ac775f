"""What `decide` makes of a dependency beside holds, the begin time and a Volcano Job that is there already."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dependency import DependencyProgress
from hpcbatch.model.record import JobStatus
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.decide import decide
from hpcbatch.policy.dependencies import Outlook, Verdict
from hpcbatch.policy.observed import Observed
from tests.unit.policy.job_seen import ENDED, NOW, RUNNING, pod, seen

LATER = NOW + timedelta(hours=1)


def outlook(verdict: Verdict, *, kills: bool = False, look_again_s: float | None = None) -> Outlook:
    progress = DependencyProgress(left="" if verdict is Verdict.MET else "afterok:1")
    return Outlook(verdict=verdict, progress=progress, kills=kills, look_again_s=look_again_s, message="why")


MET, WAITS, NEVER = outlook(Verdict.MET), outlook(Verdict.WAITS), outlook(Verdict.NEVER)
ENDS = outlook(Verdict.NEVER, kills=True)


@pytest.mark.parametrize(
    ("observed", "state", "reason", "flag"),
    [
        pytest.param(seen(outlook=MET), "Queued", "None", "create", id="met"),
        pytest.param(seen(outlook=WAITS), "Held", "Dependency", "", id="waits"),
        pytest.param(seen(outlook=NEVER), "Held", "DependencyNeverSatisfied", "", id="never, Slurm"),
        pytest.param(seen(outlook=ENDS), "Deleted", "DependencyNeverSatisfied", "", id="never, PBS"),
        pytest.param(seen(outlook=WAITS, spec={"hold": True}), "Held", "HeldByUser", "", id="a hold is shown first"),
        pytest.param(seen(outlook=ENDS, spec={"hold": True}), "Deleted", "DependencyNeverSatisfied", "", id="held too"),
        pytest.param(seen(outlook=WAITS, spec={"begin_time": LATER}), "Held", "Dependency", "", id="before the time"),
        pytest.param(
            seen(outlook=MET, spec={"begin_time": LATER}), "Waiting", "BeginTime", "", id="met before the time"
        ),
        pytest.param(seen(outlook=WAITS, delete_requested=True), "Deleted", "DeletedByUser", "", id="deleted"),
        pytest.param(seen(outlook=WAITS, phase="Pending"), "Held", "Dependency", "delete", id="altered while it waits"),
        pytest.param(
            seen(outlook=ENDS, phase="Pending"), "Deleted", "DependencyNeverSatisfied", "delete", id="altered to never"
        ),
        pytest.param(
            seen(outlook=WAITS, phase="Pending", pods=[pod(phase="Pending")]), "Queued", "Starting", "", id="too late"
        ),
        pytest.param(seen(outlook=WAITS, phase="Running", pods=[RUNNING]), "Running", "None", "", id="runs"),
        pytest.param(seen(outlook=WAITS, phase="Completed", pods=[ENDED]), "Finished", "None", "", id="ended"),
    ],
)
def test_gate(observed: Observed, state: str, reason: str, flag: str) -> None:
    decision = decide(observed)
    assert (decision.status.state, decision.status.reason) == (state, reason)
    assert [name for name in ("create", "delete", "terminate") if getattr(decision, name)] == [flag] * bool(flag)
    assert observed.outlook is not None
    assert decision.status.dependency == observed.outlook.progress
    if state == "Held":
        assert decision.status.eligible_time is None


def test_the_end_says_why_and_names_nobody() -> None:
    status = decide(seen(outlook=ENDS)).status
    assert (status.message, status.deleted_by, status.end_time) == ("why", "", NOW)


def test_time_alone_may_change_it() -> None:
    assert decide(seen(outlook=outlook(Verdict.WAITS, look_again_s=7))).look_again_s == 7


def test_let_go_it_forgets_why_it_waited() -> None:
    status = JobStatus(state=JobState.HELD, reason=Reason.DEPENDENCY, message="why", layout=(Chunk(),))
    decision = decide(seen(outlook=MET, status=status))
    assert (decision.status.message, decision.status.eligible_time) == ("", NOW)


def test_who_waits_for_it_is_written_once() -> None:
    decision = decide(seen(phase="Running", pods=[RUNNING], followers=("beforeok:8",)))
    assert decision.status.dependency == DependencyProgress(followers=("beforeok:8",))
    again = decide(seen(phase="Running", pods=[RUNNING], followers=("beforeok:8",), status=decision.status))
    assert again.status == decision.status
    assert decide(seen(phase="Running", pods=[RUNNING])).status.dependency is None
