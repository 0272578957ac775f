"""The accounting log told from records: OpenPBS's format, each entry once, and never another one later."""

from __future__ import annotations

import shlex
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.pbs.accounting import entries
from hpcbatch.dialects.pbs.alterations import changes
from hpcbatch.model.array import Array, ArrayStatus, Membership
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dependency import Clause, Dependency, DependencyKind, JobRef
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import Alteration, ExecHost, JobRecord, JobStatus, PastRun, Suspension
from hpcbatch.model.spec import Output
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.past_runs import KEPT, remembered
from hpcbatch.policy.suspensions import with_suspensions
from tests.unit.dialects.pbs.jobs import STARTED, record

START = STARTED + timedelta(seconds=2)
END = START + timedelta(seconds=90)
HOSTS = (ExecHost(node="n1", pod="p0", cpus=2), ExecHost(node="n2", pod="p1", cpus=2))
CHUNKS = (Chunk(count=2, cpus=2, mem_bytes=2**30),)
T0, T1, T2 = (int(when.timestamp()) for when in (STARTED, START, END))


def ended(**status: object) -> JobRecord:
    base = {
        "state": JobState.FINISHED,
        "chunks": CHUNKS,
        "hosts": HOSTS,
        "start_time": START,
        "end_time": END,
        "eligible_time": STARTED,
        "exit_code": 0,
        "run_count": 1,
        "session_id": 77,
        "cpu_used_s": 30,
        "walltime_used_s": 90,
        "max_rss_bytes": 5 << 20,
        "gid": 100,
    }
    return record(12, "wrf", **(base | status))  # type: ignore[arg-type]


def lines(job: JobRecord) -> list[str]:
    return [entry.line(UTC) for entry in entries(job, {100: "users"}.get)]  # type: ignore[arg-type]


def test_a_job_that_ended_well() -> None:
    times = f"ctime={T0} qtime={T0} etime={T0} "
    who = f"user=tester group=users project=_pbs_project_default jobname=wrf queue=workq {times}"
    held = "resource_assigned.mem=2097152kb resource_assigned.ncpus=4 "
    where = f"start={T1} exec_host=n1/0*2+n2/0*2 exec_vnode=(n1:ncpus=2:mem=1048576kb)+(n2:ncpus=2:mem=1048576kb) "
    asked = (
        "Resource_List.mem=2gb Resource_List.ncpus=4 Resource_List.nodect=2 Resource_List.place=free "
        "Resource_List.select=2:ncpus=2 Resource_List.walltime=00:10:00 "
    )
    used = (
        "resources_used.cpupercent=33 resources_used.cput=00:00:30 resources_used.mem=5120kb resources_used.ncpus=4 "
        "resources_used.vmem=5120kb resources_used.walltime=00:01:30"
    )
    assert lines(ended()) == [
        f"11/21/2026 02:54:48;Q;12.pbs1;{who}{asked}\n",
        f"11/21/2026 02:54:50;S;12.pbs1;{who}{where}{asked}{held}\n",
        f"11/21/2026 02:56:20;E;12.pbs1;{who}{where}{asked}session=77 end={T2} Exit_status=0 {used} run_count=1\n",
    ]


@pytest.mark.parametrize(
    ("status", "letters", "told"),
    [
        ({"state": JobState.QUEUED, "start_time": None, "end_time": None}, "Q", ""),
        ({"state": JobState.RUNNING, "end_time": None}, "QS", ""),
        ({"state": JobState.FAILED, "reason": Reason.NON_ZERO_EXIT, "exit_code": 3}, "QSE", "Exit_status=3 "),
        ({"state": JobState.TIMEOUT, "reason": Reason.TIME_LIMIT, "exit_code": None}, "QSE", "Exit_status=-29 "),
        (
            {"state": JobState.DELETED, "reason": Reason.DELETED_BY_USER, "exit_code": None, "deleted_by": "root@adm"},
            "QSDE",
            "requestor=root@adm",
        ),
        (
            {"state": JobState.DELETED, "reason": Reason.DELETED_BY_USER, "start_time": None},
            "QD",
            "requestor=tester@pbs1",
        ),
        (
            {
                "state": JobState.DELETED,
                "reason": Reason.DEPENDENCY_NEVER,
                "start_time": None,
                "message": "Job deleted as\nresult of dependency",
            },
            "QA",
            ";Job deleted as result of dependency\n",
        ),
        ({"state": JobState.FAILED, "reason": Reason.LAUNCH_FAILED, "start_time": None}, "QA", "Aborted by PBS Server"),
    ],
)
def test_letters(status: dict[str, object], letters: str, told: str) -> None:
    found = lines(ended(**status))
    assert "".join(line.split(";")[1] for line in found) == letters
    assert told in "".join(found)


def test_runs_that_were_given_up_are_told() -> None:
    runs = tuple(
        PastRun(start_time=STARTED + timedelta(seconds=s), end_time=STARTED + timedelta(seconds=s + 1), hosts=HOSTS)
        for s in (0, 1)
    )
    found = lines(ended(past_runs=runs, run_count=3))
    assert [line.split(";")[1] for line in found] == ["Q", "S", "R", "S", "R", "S", "E"]
    assert found[2].endswith("Exit_status=-11 resources_used.ncpus=4 resources_used.walltime=00:00:01 run_count=1\n")
    assert found[4].endswith("run_count=2\n")
    assert found[6].endswith("run_count=3\n")


def test_alterations_are_told_once_a_second() -> None:
    known = tuple(
        Alteration(time=STARTED + timedelta(seconds=s, milliseconds=ms), changes=text)
        for s, ms, text in ((1, 0, "Job_Name=x"), (1, 500, "Priority=7"), (20, 0, "Resource_List.walltime=00:20:00"))
    )
    found = lines(ended(alterations=known))
    assert [line.split(";")[1] for line in found] == ["Q", "a", "S", "a", "E"]
    assert found[1] == "11/21/2026 02:54:49;a;12.pbs1;Job_Name=x Priority=7\n"
    assert found[3] == "11/21/2026 02:55:08;a;12.pbs1;Resource_List.walltime=00:20:00\n"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"walltime_s": 1200}, {"Resource_List.walltime": "00:20:00"}),
        ({"name": "other"}, {"Job_Name": "other"}),
        ({"account": "my project", "priority": 3}, {"Account_Name": '"my project"', "Priority": "3"}),
        ({"stdout": Output(path="/tmp/o")}, {"Output_Path": "pbs1:/tmp/o"}),
        ({"begin_time": STARTED}, {"Execution_Time": str(T0)}),
        ({"nice": 5}, {}),
    ],
)
def test_what_was_altered_in_the_words_of_pbs(fields: dict[str, object], expected: dict[str, str]) -> None:
    before = record(12, "wrf", walltime_s=None)
    after = replace(before, spec=replace(before.spec, **fields))  # type: ignore[arg-type]
    assert dict(changes(before, after)) == expected
    gone = dict(changes(after, before))
    assert gone.keys() == expected.keys()
    assert "UNSET" in gone.values() or not {"Account_Name", "Execution_Time"} & gone.keys()


def test_suspensions_are_told() -> None:
    def after(seconds: int) -> datetime:
        return START + timedelta(seconds=seconds)

    twice = (
        Suspension(start_time=after(10), end_time=after(30), is_resumed=True),
        Suspension(start_time=after(40), end_time=after(90)),
    )
    found = lines(ended(suspensions=twice, reason=Reason.DELETED_BY_USER, state=JobState.DELETED))
    assert [line.split(";")[1] for line in found] == ["Q", "S", "z", "r", "z", "D", "E"]
    assert found[2] == "11/21/2026 02:55:00;z;12.pbs1;resources_used.ncpus=4 resources_used.walltime=00:00:10\n"
    assert found[3] == "11/21/2026 02:55:20;r;12.pbs1;\n"
    assert found[4].endswith("resources_used.ncpus=4 resources_used.walltime=00:00:20\n")


def test_an_array_and_its_members() -> None:
    whole = Array(indices=Indices.parse("1-9"), text="1-9")
    parent = ended(
        array=whole, array_status=ArrayStatus(succeeded=Indices.parse("1-9")), hosts=(), session_id=None, run_count=0
    )
    assert lines(parent)[0].split(";")[2] == "12[].pbs1"
    assert "array_indices=1-9 " in lines(parent)[0]
    one = ended(member_of=Membership(array_id=12, array_name="a", index=7))
    assert [line.split(";")[1:3] for line in lines(one)] == [["S", "12[7].pbs1"], ["E", "12[7].pbs1"]]


def test_what_a_job_waits_for_is_told_as_it_was_asked_for() -> None:
    asked = Dependency(clauses=(Clause(kind=DependencyKind.AFTER_OK, jobs=(JobRef(job_id=7), JobRef(job_id=8))),))
    job = ended()
    job = replace(job, spec=replace(job.spec, dependency=asked))
    assert " depend=afterok:7.pbs1@pbs1:8.pbs1@pbs1 Resource_List" in lines(job)[0]
    assert "depend=" not in "".join(lines(job)[1:])


def test_a_name_adds_no_line() -> None:
    job = ended()
    told = lines(replace(job, spec=replace(job.spec, name="x\n11/21/2026 20:24:03;D;1.server;requestor=eve\r")))
    assert all(line.count("\n") == 1 and line.endswith("\n") for line in told)
    name = r'"x^J11/21/2026 20:24:03\073D\0731.server\073requestor\075eve^M"'
    assert any(f"jobname={name} " in line for line in told)


@pytest.mark.parametrize(
    "name", ["x user=bob account=victim", "x' user=bob", 'x" user=bob y="', """x' y" user=bob""", '"', "a;b"]
)
def test_a_name_adds_no_field(name: str) -> None:
    """Neither for who splits at blanks, as most readers of these logs do, nor for who knows quotes."""
    job = ended(shown={"Resource_List.x user=bob": "1", "project": name})
    told = lines(replace(job, spec=replace(job.spec, name=name, account=name, submit_host=name)))
    for line in told:
        assert line.count(";") == 3
        text = line.split(";", 3)[3]
        naive = [word.partition("=")[0] for word in text.split()]
        assert naive.count("user") == naive.count("account") == 1
        fields = [word.partition("=")[0] for word in shlex.split(text.replace("\\", "\\\\"))]
        assert fields.count("user") == fields.count("account") == fields.count("jobname") == 1
        assert "Resource_List.x_user_bob=1 " in text


def test_values_with_blanks_are_quoted() -> None:
    job = ended(shown={"Resource_List.note": "a b", "project": "big one"})
    job = replace(job, spec=replace(job.spec, account="my account"))
    assert 'account="my account" project="big one" ' in lines(job)[0]
    assert 'Resource_List.note="a b" ' in lines(job)[0]


STATES = st.sampled_from([JobState.QUEUED, JobState.RUNNING, JobState.SUSPENDED, JobState.EXITING, JobState.HELD])
_RUNS = {JobState.RUNNING, JobState.SUSPENDED, JobState.EXITING}
ENDS = st.sampled_from([state for state in JobState if state.is_final])


@given(
    st.lists(st.tuples(STATES, st.integers(1, 5)), max_size=12), st.sampled_from([s for s in JobState if s.is_final])
)
def test_what_was_told_is_never_told_otherwise(steps: list[tuple[JobState, int]], end: JobState) -> None:
    """Whatever becomes of a job: the keys of its entries only grow, and none stands twice."""
    now, status = STARTED, JobStatus(owner="tester", submit_time=STARTED, state=JobState.QUEUED)
    told: list[tuple[datetime, str]] = []
    for state, seconds in [*steps, (end, 1)]:
        now += timedelta(seconds=seconds)
        runs = state in _RUNS or (state.is_final and status.start_time is not None)
        after = replace(
            status,
            state=state,
            reason=Reason.DELETED_BY_USER if state is JobState.DELETED else Reason.NONE,
            start_time=(status.start_time or now) if runs else None,
            run_count=status.run_count + (runs and status.start_time is None),
            end_time=now if state.is_final else None,
        )
        status = with_suspensions(status, remembered(status, after, now), now)
        assert with_suspensions(status, remembered(status, status, now), now) == status
        job = replace(record(12), status=status)
        keys = [(entry.when, entry.letter) for entry in entries(job)]
        assert len(set(keys)) == len(keys)
        assert set(told) <= set(keys)
        told = keys
    letters = [letter for _, letter in told]
    assert letters.count("S") == status.run_count
    assert letters.count("r") <= letters.count("z")


def test_only_the_last_runs_are_remembered() -> None:
    status = JobStatus(start_time=START, hosts=HOSTS)
    for second in range(2 * KEPT):
        now = START + timedelta(seconds=second + 1)
        status = remembered(status, replace(status, start_time=now), now)
    assert len(status.past_runs) == KEPT
    assert status.past_runs[-1].end_time == START + timedelta(seconds=2 * KEPT)
