"""qalter, qmove and qrerun: what their command lines make of a job, and what they refuse."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from hpcbatch.dialects.pbs import usage
from hpcbatch.dialects.pbs.alter import ATTRIBUTE, Alteration, read_qalter, read_qmove, read_qrerun
from hpcbatch.dialects.pbs.errors import PbsError, PbsUsageError
from hpcbatch.dialects.pbs.submit import read_submission
from hpcbatch.errors import HpcBatchError, NotSupportedError
from hpcbatch.model.dependency import Dependency, DependencyKind
from hpcbatch.model.grouping import Grouping
from hpcbatch.model.record import JobRecord
from hpcbatch.model.spec import Arrangement, JobSpec, Output, Sharing
from hpcbatch.model.state import JobState
from hpcbatch.record.fields import ALTERABLE, WHILE_RUNNING
from tests.unit.dialects.pbs.jobs import record

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def read(*argv: str) -> Alteration:
    return read_qalter(argv, environ={}, cwd="/w", host="login", server="pbs1", now=NOW)


def submitted(*argv: str) -> JobSpec:
    return read_submission(
        argv,
        script=lambda _: (None, b"#!/bin/sh\n"),
        environ={},
        cwd="/w",
        host="login",
        user="u",
        server="pbs1",
        now=NOW,
    ).submission.spec


def job(*argv: str, state: JobState = JobState.QUEUED) -> JobRecord:
    return replace(record(12, state=state), spec=submitted(*argv))


def altered(*argv: str, before: JobRecord | None = None) -> JobSpec:
    return read(*argv, "12").apply(before or job())


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("-N", "n"), {"name": "n"}),
        (("-A", "a"), {"account": "a"}),
        (("-A", ""), {"account": None}),
        (("-p", "-5"), {"priority": -5}),
        (("-r", "n"), {"rerunnable": False}),
        (("-S", "/bin/ksh"), {"interpreter": "/bin/ksh"}),
        (("-m", "ae"), {"mail_points": "ae"}),
        (("-M", "a@b,c"), {"mail_users": ("a@b", "c")}),
        (("-R", "oe"), {"remove_output": "oe"}),
        (("-W", "umask=022"), {"umask": 0o022}),
        (("-a", "1300"), {"begin_time": NOW.replace(hour=13)}),
        (("-o", "x"), {"stdout": Output(path="/w/x")}),
        (("-e", "/e/x"), {"stderr": Output(path="/e/x")}),
        (("-j", "oe"), {"stderr": None, "stdout_to_stderr": False}),
        (("-j", "eo"), {"stderr": Output(), "stdout_to_stderr": True}),
        (("-l", "walltime=90"), {"walltime_s": 90}),
        (("-W", "depend="), {"dependency": None}),
    ],
    ids=str,
)
def test_options(argv: tuple[str, ...], expected: dict[str, Any]) -> None:
    found = altered(*argv)
    assert {name: getattr(found, name) for name in expected} == expected
    untouched = replace(
        found, attributes=job().spec.attributes, **{name: getattr(job().spec, name) for name in expected}
    )
    assert untouched == job().spec


def test_a_directory_of_its_own() -> None:
    private = altered("-W", "sandbox=PRIVATE")
    assert private.attributes == {**job().spec.attributes, "sandbox": "PRIVATE"}
    assert altered("-W", "sandbox=HOME", before=job("-W", "sandbox=PRIVATE")).attributes["sandbox"] == "HOME"


def test_streams_come_apart_again() -> None:
    joined = job("-j", "oe", "-e", "err")
    assert joined.spec.stderr is None
    apart = altered("-j", "n", before=joined)
    assert apart.stderr == Output(path="/w/err")
    assert apart.attributes["Join_Path"] == "n"
    assert altered("-o", "x", before=joined).stderr is None


@pytest.mark.parametrize(
    ("before", "argv", "select", "arrangement"),
    [
        (("-l", "select=2:ncpus=1"), ("-l", "select=3:ncpus=2:mem=1gb"), "3:ncpus=2:mem=1gb", Arrangement.FREE),
        (("-l", "select=2:ncpus=1", "-l", "place=scatter"), ("-l", "select=4"), "4:ncpus=1", Arrangement.SCATTER),
        (("-l", "select=2:ncpus=1"), ("-l", "place=pack:excl"), "2:ncpus=1", Arrangement.PACK),
        (("-l", "ncpus=2,mem=1gb"), ("-l", "ncpus=4"), "1:ncpus=4:mem=1gb", Arrangement.PACK),
        (("-l", "ncpus=2"), ("-l", "mem=2gb"), "1:ncpus=2:mem=2gb", Arrangement.PACK),
        ((), ("-l", "nodes=2:ppn=2"), "2:ncpus=2:mpiprocs=2", Arrangement.SCATTER),
        ((), ("-l", "select=2:ncpus=3"), "2:ncpus=3", Arrangement.FREE),
    ],
    ids=str,
)
def test_resources_go_over_those_asked_before(
    before: tuple[str, ...], argv: tuple[str, ...], select: str, arrangement: Arrangement
) -> None:
    found = altered(*argv, before=job("-l", "walltime=60", *before))
    assert (found.attributes["Resource_List.select"], found.arrangement) == (select, arrangement)
    assert (found.walltime_s, found.attributes["Resource_List.walltime"]) == (60, "00:01:00")
    assert found.attributes["Resource_List.nodect"] == str(sum(chunk.count for chunk in found.chunks))


def test_sharing_and_a_walltime_taken_back() -> None:
    assert altered("-l", "place=free:excl", before=job("-l", "select=1")).sharing is Sharing.EXCLUSIVE
    near = altered("-l", "place=group=rack", before=job("-l", "select=1"))
    assert near.grouping == Grouping(level="rack")
    assert altered("-l", "place=free", before=replace(job(), spec=near)).grouping is None
    found = altered("-l", "walltime=", before=job("-l", "walltime=60"))
    assert found.walltime_s is None
    assert "Resource_List.walltime" not in found.attributes


def test_dependencies_of_other_types_stay() -> None:
    before = job("-W", "depend=afterok:3")
    found = altered("-W", "depend=afterany:4", before=before).dependency
    assert isinstance(found, Dependency)
    assert [clause.kind for clause in found.clauses] == [DependencyKind.AFTER_OK, DependencyKind.AFTER_ANY]
    assert altered("-W", "depend=", before=before).dependency is None


@pytest.mark.parametrize(
    ("argv", "user", "admin"),
    [(("-h", "u"), True, ""), (("-h", "so"), False, "os"), (("-h", "n"), True, ""), (("-h", "uos"), True, "os")],
)
def test_holds(argv: tuple[str, ...], user: bool, admin: str) -> None:
    hold = read(*argv, "1").hold
    assert hold is not None
    assert (hold.user, hold.admin, bool(hold.letters)) == (user, admin, argv[1] != "n")


def test_the_limit_of_an_array() -> None:
    assert read("-W", "max_run_subjobs=7", "1[]").array_limit == 7
    assert read("-N", "x", "1[]").array_limit is None


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        ((), ""),
        (("-N", "x"), ""),
        (("-r", "x", "1"), "illegal -r value"),
        (("-a", "x", "1"), "illegal -a value"),
        (("-l", "=", "1"), "illegal -l value"),
        (("-h", "x", "1"), "illegal -h value"),
        (("-Z", "1"), "invalid option -- 'Z'"),
        (("-q", "x", "1"), "invalid option -- 'q'"),
    ],
    ids=str,
)
def test_command_lines_that_are_refused(argv: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(PbsError) as caught:
        read(*argv)
    assert (caught.value.text, caught.value.code, caught.value.usage) == (complaint, 2, usage.QALTER)


@pytest.mark.parametrize(
    "argv",
    [
        ("-N", "a b"),
        ("-p", "9999"),
        ("-m", "x"),
        ("-M", "a,,b"),
        ("-j", "y"),
        ("-k", "x"),
        ("-W", "umask=9"),
        ("-W", "sandbox=odd"),
        ("-o", "a\nb"),
    ],
    ids=str,
)
def test_values_that_no_job_can_have(argv: tuple[str, ...]) -> None:
    with pytest.raises(PbsError) as caught:
        altered(*argv)
    assert (caught.value.code, caught.value.usage) == (2, usage.QALTER)
    assert caught.value.text.startswith("illegal -")


@pytest.mark.parametrize(
    ("argv", "text", "code"),
    [
        (("-l", "foo=2"), "Unknown resource Resource_List.foo", 187),
        (("-l", "ncpus=2"), '"-lresource=" cannot be used with "select" or "place", resource is: ncpus', 5),
        (("-l", "walltime=x"), "Illegal attribute or resource value Resource_List.walltime", 166),
        (("-l", "select=x"), "Illegal attribute or resource value Resource_List.select", 166),
    ],
    ids=str,
)
def test_resources_that_are_refused(argv: tuple[str, ...], text: str, code: int) -> None:
    with pytest.raises(PbsError) as caught:
        altered(*argv, before=job("-l", "select=1:ncpus=1"))
    assert (caught.value.text, caught.value.code, caught.value.usage) == (text, code, "")


@pytest.mark.parametrize(
    ("argv", "attribute"),
    [
        (("-l", "select=2"), "Resource_List.select"),
        (("-l", "walltime=9,ncpus=2"), "Resource_List.ncpus"),
        (("-A", "x"), "Account_Name"),
        (("-o", "x"), "Output_Path"),
        (("-W", "depend=afterok:1"), "depend"),
        (("-P", "x"), "project"),
        (("-W", "sandbox=PRIVATE"), "sandbox"),
    ],
    ids=str,
)
def test_too_late_for_a_running_job(argv: tuple[str, ...], attribute: str) -> None:
    with pytest.raises(PbsError) as caught:
        altered(*argv, before=job("-l", "select=1:ncpus=1", state=JobState.RUNNING))
    assert (caught.value.text, caught.value.code) == (
        f"Cannot modify attribute while job running  {attribute}",
        167,
    )


def test_each_field_that_is_refused_while_the_job_runs_has_a_name_in_pbs() -> None:
    assert ATTRIBUTE.keys() == ALTERABLE - WHILE_RUNNING


def test_what_stands_beside_the_chunks_stays() -> None:
    asked = "nodes=2:ppn=2,feature=fast|new,cput=60,pvmem=1gb,filesystems=home,hostlist=n1,nice=3"
    before = job("-l", asked)
    after = altered("-l", "nodes=3", before=before)
    assert (after.chunks[0].count, after.chunks[0].alternatives) == (3, (("fast",), ("new",)))
    for name in ("cpu_time_s", "process_limits", "words", "required_hosts", "process_nice"):
        assert getattr(after, name) == getattr(before.spec, name), name
    assert after.attributes["Resource_List.filesystems"] == "home"
    other = altered("-l", "filesystems=scratch,cput=90,feature=old", before=before)
    assert other.chunks[0].properties == ("old",)
    assert (other.words, other.cpu_time_s) == ((("filesystems", "scratch"),), 90)
    assert (other.chunks[0].count, other.chunks[0].ranks) == (2, 2)


@pytest.mark.parametrize(
    "argv",
    [
        ("-c", "s"),
        ("-l", "soft_walltime=5"),
        ("-l", "soft_walltime=5,walltime=9"),
        ("-W", "group_list=g"),
        ("-l", "signal=15"),
    ],
)
def test_an_alteration_without_effect_is_refused(argv: tuple[str, ...]) -> None:
    with pytest.raises(NotSupportedError):
        altered(*argv)


def test_times_of_a_running_job() -> None:
    after = altered("-l", "cput=90,walltime=80", before=job("-l", "nodes=2,cput=60", state=JobState.RUNNING))
    assert (after.cpu_time_s, after.walltime_s) == (90, 80)
    assert after.attributes["Resource_List.cput"] == "00:01:30"


def test_a_running_job_takes_some() -> None:
    before = job(state=JobState.RUNNING)
    found = altered("-N", "n", "-l", "walltime=60", "-m", "e", "-M", "x", "-p", "3", "-r", "n", before=before)
    assert (found.name, found.walltime_s, found.priority, found.rerunnable) == ("n", 60, 3, False)


def test_qmove() -> None:
    assert read_qmove(["long", "1", "2"], "pbs1") == ("long", ("1", "2"))
    assert read_qmove(["long@pbs1.site", "1"], "pbs1") == ("long", ("1",))
    assert read_qmove(["@pbs1", "1"], "pbs1") == ("", ("1",))
    for argv in ([], ["long"]):
        with pytest.raises(PbsUsageError) as caught:
            read_qmove(argv, "pbs1")
        assert (caught.value.usage, caught.value.code) == (usage.QMOVE, 2)
    for destination in ("a b", "a@", "@", "", "a@b@c"):
        with pytest.raises(PbsError, match="illegally formed destination"):
            read_qmove([destination, "1"], "pbs1")
    with pytest.raises(HpcBatchError, match="not supported"):
        read_qmove(["long@elsewhere", "1"], "pbs1")


def test_qrerun() -> None:
    assert read_qrerun(["1", "2"]) == ("1", "2")
    assert read_qrerun(["-W", "force", "1"]) == ("1",)
    for argv in ([], ["-W", "x", "1"], ["-x", "1"]):
        with pytest.raises(PbsUsageError) as caught:
            read_qrerun(argv)
        assert caught.value.usage == usage.QRERUN
