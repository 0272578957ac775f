"""`-W depend=`, in qsub's and qstat's words."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.pbs.depend import DependSyntaxError, format_depend, parse_depend, replaced, waits_for_others
from hpcbatch.dialects.pbs.errors import PbsError
from hpcbatch.dialects.pbs.qstat_full import hold_types
from hpcbatch.dialects.pbs.states import substate
from hpcbatch.errors import NotSupportedError
from hpcbatch.model.dependency import Clause, Dependency, DependencyKind, DependencyProgress, JobRef
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from tests.unit.dialects.pbs.submit_parts import refusal, spec

K = DependencyKind


def clause(kind: DependencyKind, *numbers: int) -> Clause:
    return Clause(kind=kind, jobs=tuple(JobRef(job_id=number) for number in numbers))


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("afterok:12", [clause(K.AFTER_OK, 12)]),
        ("afterok:12.pbs1", [clause(K.AFTER_OK, 12)]),
        ("afterok:12.pbs1@pbs1", [clause(K.AFTER_OK, 12)]),
        ("afterok:12[].pbs1", [clause(K.AFTER_OK, 12)]),
        ("after:1:2:3", [clause(K.AFTER, 1, 2, 3)]),
        (" afterany:1 , afternotok:2 ", [clause(K.AFTER_ANY, 1), clause(K.AFTER_NOT_OK, 2)]),
        ("afterok:1,afterok:2:1", [clause(K.AFTER_OK, 1, 2)]),
        ("before:1,beforeok:2", [clause(K.BEFORE, 1), clause(K.BEFORE_OK, 2)]),
        ("beforenotok:1,beforeany:2", [clause(K.BEFORE_NOT_OK, 1), clause(K.BEFORE_ANY, 2)]),
        ("on:3", [Clause(kind=K.ON, count=3)]),
        ("runone:5", [clause(K.RUN_ONE, 5)]),
    ],
)
def test_read(text: str, clauses: list[Clause]) -> None:
    assert parse_depend(text, "pbs1").clauses == tuple(clauses)


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("", ""),
        ("afterok", ""),
        ("afterok:", ""),
        ("afterok::1", ""),
        ("afterok:1,", ""),
        ("afterok:x", ""),
        ("AfterOk:1", ""),  # PBS tells case apart
        ("aftercorr:1", ""),
        ("singleton", ""),
        ("afterok:1[3]", "cannot have dependancy on subjob or range"),
        ("afterok:1[3-5]", "cannot have dependancy on subjob or range"),
    ],
)
def test_refused_by_the_command(text: str, before: str) -> None:
    with pytest.raises(DependSyntaxError) as caught:
        parse_depend(text, "pbs1")
    assert str(caught.value) == before


@pytest.mark.parametrize("text", ["on:0", "on:x", "on:1:2", "on:-1"])
def test_refused_by_the_server(text: str) -> None:
    with pytest.raises(PbsError) as caught:
        parse_depend(text, "pbs1")
    assert (caught.value.code, caught.value.text) == (166, "Illegal attribute or resource value depend")


@pytest.mark.parametrize("text", ["afterok:1.elsewhere", "synccount:2", "syncwith:1"])
def test_not_supported(text: str) -> None:
    with pytest.raises(NotSupportedError):
        parse_depend(text, "pbs1")


def test_qalter_replaces_by_type() -> None:
    before = Dependency(clauses=(clause(K.AFTER_OK, 1), clause(K.AFTER_ANY, 2)))
    asked = Dependency(clauses=(clause(K.AFTER_OK, 3),))
    assert replaced(before, asked).clauses == (clause(K.AFTER_ANY, 2), clause(K.AFTER_OK, 3))
    assert replaced(None, asked) == asked


def record(left: str | None, *clauses: Clause, hold: bool = False, state: JobState = JobState.HELD) -> JobRecord:
    spec = JobSpec(
        dialect=Dialect.PBS,
        name="j",
        server="pbs1",
        hold=hold,
        dependency=Dependency(clauses=clauses) if clauses else None,
    )
    progress = None if left is None else DependencyProgress(left=left)
    reason = Reason.DEPENDENCY if left else Reason.NONE
    status = JobStatus(state=state, reason=reason, dependency=progress)
    return JobRecord(job_id=140, namespace="n", object_name="o", spec=spec, status=status, queue="workq")


@pytest.mark.parametrize(
    ("left", "clauses", "shown"),
    [
        ("afterok:139", [clause(K.AFTER_OK, 139)], "afterok:139.pbs1@pbs1"),  # recorded
        ("afterok:139!", [clause(K.AFTER_OK, 139)], "afterok:139.pbs1@pbs1"),
        ("afterok:139[]", [clause(K.AFTER_OK, 139)], "afterok:139[].pbs1@pbs1"),
        ("", [clause(K.AFTER_OK, 139)], None),
        ("", [clause(K.BEFORE_OK, 7, 8)], "beforeok:7.pbs1@pbs1:8.pbs1@pbs1"),
        ("on:1,afterany:9", [Clause(kind=K.ON, count=2)], "afterany:9.pbs1@pbs1,on:1"),
        ("", [clause(K.RUN_ONE, 7)], "runone:7.pbs1@pbs1"),
        (None, [clause(K.AFTER, 1)], "after:1.pbs1@pbs1"),
        (None, [], None),
    ],
)
def test_shown(left: str | None, clauses: list[Clause], shown: str | None) -> None:
    assert format_depend(record(left, *clauses)) == shown


@pytest.mark.parametrize(
    ("left", "hold", "letters"),
    [("afterok:1", False, "s"), ("afterok:1", True, "su"), ("", True, "u"), ("", False, "n")],
)
def test_hold_types(left: str, hold: bool, letters: str) -> None:
    assert hold_types(record(left, clause(K.AFTER_OK, 1), hold=hold)) == letters


def test_an_ended_job_waits_for_nobody() -> None:
    assert not waits_for_others(record("afterok:1!", clause(K.AFTER_OK, 1), state=JobState.DELETED))


def test_substate_of_a_dependency() -> None:
    assert substate(JobState.HELD, Reason.DEPENDENCY) == 22
    assert substate(JobState.HELD, Reason.HELD_BY_USER) == 20


def test_the_command_line_goes_before_the_script() -> None:
    script = "#PBS -W depend=afterok:1,umask=022\n#PBS -W depend=afterok:2\n"
    assert spec("job", script=script).dependency == Dependency(clauses=(clause(K.AFTER_OK, 2),))
    assert spec("-W", "depend=after:3", "job", script=script).dependency == Dependency(clauses=(clause(K.AFTER, 3),))
    assert spec("job").dependency is None


def test_a_wrong_one_in_a_script_is_a_directive_error() -> None:
    printed, code = refusal("job", script="#PBS -N x\n#PBS -W depend=foo:1\n")
    assert printed.splitlines()[:2] == ["qsub: illegal -W value", "qsub: directive error: -W depend=foo:1 "]
    assert "job:2:6: " in printed
    assert code == 1


def test_only_qalter_takes_it_away() -> None:
    assert refusal("-W", "depend=", "job")[0].startswith("qsub: illegal -W value\nusage:")
