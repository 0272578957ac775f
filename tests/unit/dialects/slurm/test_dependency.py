"""`--dependency`, in sbatch's and squeue's words."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.slurm.dependency import format_dependency, parse_dependency
from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.errors import NotSupportedError
from hpcbatch.model.dependency import Clause, Dependency, DependencyKind, JobRef
from hpcbatch.model.state import JobState
from tests.unit.dialects.slurm.submit_parts import directives, spec, submit

K = DependencyKind


def clause(kind: DependencyKind, *refs: int | tuple[int, int], delay_s: int = 0) -> Clause:
    jobs = tuple(JobRef(job_id=ref) if isinstance(ref, int) else JobRef(job_id=ref[0], index=ref[1]) for ref in refs)
    return Clause(kind=kind, jobs=jobs, delay_s=delay_s)


@pytest.mark.parametrize(
    ("text", "clauses", "is_any"),
    [
        ("afterok:12", [clause(K.AFTER_OK, 12)], False),
        ("AfterOK:12", [clause(K.AFTER_OK, 12)], False),
        ("afterok:1:2:3", [clause(K.AFTER_OK, 1, 2, 3)], False),
        ("afterok:1,afterany:2", [clause(K.AFTER_OK, 1), clause(K.AFTER_ANY, 2)], False),
        ("afterok:1?afternotok:2", [clause(K.AFTER_OK, 1), clause(K.AFTER_NOT_OK, 2)], True),
        ("after:12+5", [clause(K.AFTER, 12, delay_s=300)], False),
        ("after:12+5:13", [clause(K.AFTER, 12, delay_s=300), clause(K.AFTER, 13)], False),
        ("aftercorr:12", [clause(K.AFTER_CORR, 12)], False),
        ("singleton", [Clause(kind=K.SINGLETON)], False),
        ("Singleton,afterok:3", [Clause(kind=K.SINGLETON), clause(K.AFTER_OK, 3)], False),
        ("123", [clause(K.AFTER_ANY, 123)], False),
        ("123,124", [clause(K.AFTER_ANY, 123), clause(K.AFTER_ANY, 124)], False),
        ("afterok:12_7", [clause(K.AFTER_OK, (12, 7))], False),
        ("afterok:12_*", [clause(K.AFTER_OK, 12)], False),
        ("afterok:12_[4-5,7]:9", [clause(K.AFTER_OK, (12, 4), (12, 5), (12, 7), 9)], False),
        ("afterok:12(unfulfilled)", [clause(K.AFTER_OK, 12)], False),  # as squeue shows it
    ],
)
def test_read(text: str, clauses: list[Clause], is_any: bool) -> None:
    assert parse_dependency(text) == Dependency(clauses=tuple(clauses), is_any=is_any)


@pytest.mark.parametrize("text", ["", "0"])
def test_none(text: str) -> None:
    assert parse_dependency(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "foo:1",
        "afterok",
        "afterok:",
        "afterok:0",
        "afterok:x",
        "afterok:1,",
        "afterok:1 ",
        ",afterok:1",
        "after:1+0",
        "after:1+x",
        "singleton:1",
        "singletons",
        "afterok:1_[3",
        "afterok:1_x",
        "-1",
        "1?2",
        "before:1",
        "afterok:1;2",
        "afterok:1_[0-999999999]",
    ],
)
def test_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_dependency(text)


@pytest.mark.parametrize("text", ["expand:1", "afterburstbuffer:1"])
def test_not_supported(text: str) -> None:
    with pytest.raises(NotSupportedError):
        parse_dependency(text)


@pytest.mark.parametrize(
    ("left", "shown"),
    [
        ("", "(null)"),
        ("afterok:87", "afterok:87(unfulfilled)"),  # recorded
        ("afterok:164!", "afterok:164(failed)"),  # recorded
        ("afterok:1[]", "afterok:1_*(unfulfilled)"),
        ("afterok:1[7],after:2+300", "afterok:1_7(unfulfilled),after:2+5(unfulfilled)"),
        ("afterok:1!?afterany:2", "afterok:1(failed)?afterany:2(unfulfilled)"),
        ("singleton", "singleton(unfulfilled)"),
        ("on:2", "on:2(unfulfilled)"),
    ],
)
def test_shown(left: str, shown: str) -> None:
    assert format_dependency(left, JobState.HELD) == shown


def test_not_shown_when_it_has_run() -> None:
    assert format_dependency("aftercorr:1", JobState.FINISHED) == "(null)"


def test_in_a_submission() -> None:
    script = directives("-d afterok:1", "--kill-on-invalid-dep=yes")
    once = Dependency(clauses=(clause(K.AFTER_OK, 1),), kill_if_never=True)
    assert spec(script=script).dependency == once
    later = Dependency(clauses=(clause(K.AFTER_ANY, 2),), kill_if_never=False)
    assert spec("--dep=2", "--kill-on-invalid-dep=no", script=script).dependency == later
    assert spec("-d", "0", script=script).dependency is None
    assert spec("--kill-on-invalid-dep=yes").dependency is None


@pytest.mark.parametrize(
    ("argv", "text", "code"),
    [
        (("-d", "foo:1"), "sbatch: error: Batch job submission failed: Job dependency problem", 1),
        (("--kill-on-invalid-dep=maybe",), "sbatch: error: Invalid --kill-on-invalid-dep specification", 255),
    ],
)
def test_refused_by_sbatch(argv: tuple[str, ...], text: str, code: int) -> None:
    with pytest.raises(SlurmUsageError) as caught:
        spec(*argv)
    assert (caught.value.text, caught.value.code) == (text, code)


def test_the_job_sees_what_it_waited_for() -> None:
    assert submit("-d", "afterok:3").submission.environment["SLURM_JOB_DEPENDENCY"] == "afterok:3"
    assert "SLURM_JOB_DEPENDENCY" not in submit().submission.environment
