"""PBS's mails: when, to whom, and their words. Source: OpenPBS 20, svr_mail.c, req_jobobit.c, pbs_messages.c."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hpcbatch.dialects.pbs.mail import mails
from hpcbatch.model.array import Array, ArrayStatus, Membership
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobRecord
from hpcbatch.model.state import JobState, Reason
from tests.unit.dialects.pbs.jobs import RUNNING_HOST, STARTED, record

NOW = STARTED + timedelta(seconds=30)
ENDED = STARTED + timedelta(seconds=15)
RAN: dict[str, Any] = {
    "start_time": STARTED,
    "run_count": 1,
    "hosts": RUNNING_HOST,
    "cpu_used_s": 3,
    "max_rss_bytes": 1724 << 10,
    "walltime_used_s": 15,
}
OVER = RAN | {"end_time": ENDED}


def job(points: str, state: JobState, **given: Any) -> JobRecord:
    users = given.pop("users", ())
    made = record(12, "test", state, **given)
    return replace(made, spec=replace(made.spec, mail_points=points, mail_users=users))


def ids(found: JobRecord) -> list[str]:
    return [mail.mail_id for mail in mails(found, NOW)]


def test_begin() -> None:
    (mail,) = mails(job("abe", JobState.RUNNING, **RAN), NOW)
    assert (mail.mail_id, mail.when, mail.to) == ("begin.1", STARTED, ("tester@pbs1",))
    assert mail.subject == "PBS JOB 12.pbs1"
    assert mail.body == "PBS Job Id: 12.pbs1\nJob Name:   test\nBegun execution\n"


def test_each_run_begins() -> None:
    assert ids(job("b", JobState.RUNNING, **RAN | {"run_count": 2})) == ["begin.2"]


def test_end() -> None:
    mail = mails(job("abe", JobState.FINISHED, **OVER, exit_code=0), NOW)[-1]
    assert (mail.mail_id, mail.when) == ("end", ENDED)
    assert mail.body == (
        "PBS Job Id: 12.pbs1\nJob Name:   test\nExecution terminated\nExit_status=0\nresources_used.cpupercent=20\n"
        "resources_used.cput=00:00:03\nresources_used.mem=1724kb\nresources_used.ncpus=1\nresources_used.vmem=1724kb\n"
        "resources_used.walltime=00:00:15\n"
    )


def test_users_in_place_of_the_owner() -> None:
    (mail,) = mails(job("b", JobState.RUNNING, **RAN, users=("a@b", "c")), NOW)
    assert mail.to == ("a@b", "c")


ABORTS = [
    (JobState.TIMEOUT, Reason.CPU_TIME_LIMIT, "", "Job exceeded resource cput\nSee job standard error file"),
    (JobState.TIMEOUT, Reason.TIME_LIMIT, "", "Job exceeded resource walltime\nSee job standard error file"),
    (JobState.FAILED, Reason.OUT_OF_MEMORY, "", "Job exceeded resource mem\nSee job standard error file"),
    (JobState.FAILED, Reason.NODE_LOST, "pod x on node n was lost", "pod x on node n was lost"),
    (JobState.FAILED, Reason.LAUNCH_FAILED, "no image", "Job cannot be executed\nSee Administrator for help\nno image"),
    (JobState.FAILED, Reason.OUTPUT_FAILED, "", "Job cannot be executed\nSee job standard error file"),
]


@pytest.mark.parametrize(("state", "reason", "message", "text"), ABORTS, ids=[a[1].value for a in ABORTS])
@pytest.mark.parametrize("points", ["a", "e", "abe"])
def test_what_pbs_aborts_it_tells_in_place_of_the_end(
    points: str, state: JobState, reason: Reason, message: str, text: str
) -> None:
    mail = mails(job(points, state, reason=reason, message=message, **OVER), NOW)[-1]
    assert mail.mail_id == "abort"
    assert mail.body == f"PBS Job Id: 12.pbs1\nJob Name:   test\nAborted by PBS Server \n{text}\n"


def test_output_that_could_not_be_delivered() -> None:
    done = job("a", JobState.FINISHED, reason=Reason.OUTPUT_FAILED, message="disk full", **OVER, exit_code=0)
    (mail,) = mails(done, NOW)
    assert mail.mail_id == "output"
    assert mail.body == (
        "PBS Job Id: 12.pbs1\nJob Name:   test\nPost job file processing error; job 12.pbs1 on host pbs1\ndisk full\n"
    )


POINTS = [
    ("n", JobState.TIMEOUT, Reason.TIME_LIMIT, OVER, []),
    ("a", JobState.FINISHED, Reason.NONE, OVER | {"exit_code": 0}, []),
    ("a", JobState.FAILED, Reason.NON_ZERO_EXIT, OVER | {"exit_code": 1}, []),
    ("e", JobState.DELETED, Reason.DELETED_BY_USER, OVER, ["end"]),
    ("abe", JobState.DELETED, Reason.DELETED_BY_USER, {"end_time": ENDED}, []),  # by its owner, who knows
    ("abe", JobState.QUEUED, Reason.NODE_LOST, {"run_count": 1}, []),
    ("be", JobState.DELETED, Reason.DEPENDENCY_NEVER, {"end_time": ENDED}, []),
    ("a", JobState.DELETED, Reason.DEPENDENCY_NEVER, {"end_time": ENDED}, ["abort"]),
]


@pytest.mark.parametrize(("points", "state", "reason", "status", "expected"), POINTS)
def test_points(points: str, state: JobState, reason: Reason, status: dict[str, Any], expected: list[str]) -> None:
    assert ids(job(points, state, reason=reason, **status)) == expected


def test_a_member_needs_j() -> None:
    member = Membership(array_id=9, array_name="pbs-a", index=7)
    done = OVER | {"exit_code": 0, "member_of": member}
    assert ids(job("abe", JobState.FINISHED, **done)) == []
    assert ids(job("abe", JobState.TIMEOUT, reason=Reason.TIME_LIMIT, **done)) == []
    begin, end = mails(job("abej", JobState.FINISHED, **done), NOW)
    assert begin.subject == end.subject == "PBS JOB 9[7].pbs1"


def test_an_array_has_one_begin_and_one_end() -> None:
    array = Array(indices=Indices.parse("1-3"))
    status = ArrayStatus(succeeded=Indices.parse("1-2"), failed=Indices.parse("3"))
    done = job(
        "abe",
        JobState.FAILED,
        array=array,
        array_status=status,
        exit_code=1,
        start_time=STARTED,
        end_time=ENDED,
        reason=Reason.NON_ZERO_EXIT,
    )
    begin, end = mails(done, NOW)
    assert begin.subject == "PBS JOB 12[].pbs1"
    assert end.body == "PBS Job Id: 12[].pbs1\nJob Name:   test\nExecution terminated\nExit_status=1\n"
