"""scancel: which jobs, and what it says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbatch.dialects.slurm.errors import SlurmAnswer, SlurmUsageError, describe
from hpcbatch.dialects.slurm.scancel import (
    NoStepError,
    ScancelOptions,
    matching,
    no_match,
    outcome,
    question,
    read_options,
    step_outcome,
    step_request,
)
from hpcbatch.errors import (
    ForbiddenError,
    HpcBatchError,
    JobFinishedError,
    NotSupportedError,
    RefusedError,
    UnknownJobError,
    UnreachableError,
)
from hpcbatch.model.indices import Indices
from hpcbatch.model.interactive import Interactive
from hpcbatch.model.named import NamedJob
from hpcbatch.model.record import JobStatus
from hpcbatch.model.state import JobState
from hpcbatch.model.step import StepRecord
from tests.unit.dialects.slurm.jobs import NOW, QUEUE, ROWS


def options(*argv: str) -> ScancelOptions:
    return read_options(argv, {}, "tester")


MATCHING = [
    (["-n", "sleeper"], [85, 86, 87, 94]),
    (["--me", "-t", "RUNNING"], [85, 86]),
    (["-u", "alice"], []),
    (["-t", "pending", "-n", "held"], [88]),
    (["-p", "debug", "85", "86"], [85, 86]),
    (["-w", "vm"], [85, 86]),
    (["-t", "PD", "85", "87"], [87]),
    (["-A", "x"], []),
    (["-q", "normal", "-n", "sleeper"], [85, 86, 87, 94]),
    (["-q", "long"], []),
    (["-R", "x"], []),
    (["--wckey", "x"], []),
    (["--state=PENDING", "--user=tester", "-n", "wrap"], [96]),
]


@pytest.mark.parametrize(("argv", "ids"), MATCHING, ids=[" ".join(m[0]) for m in MATCHING])
def test_matching(argv: list[str], ids: list[int]) -> None:
    assert [row.job_id for row in matching(ROWS, options(*argv))] == ids


def test_a_job_that_is_ending_is_chosen_by_its_state_alone() -> None:
    ending = next(row for row in ROWS if row.job_id == 85)._replace(state=JobState.EXITING)
    assert matching([ending], options("-i", "85")) == matching([ending], options("--me")) == []
    assert matching([ending], options("--state=COMPLETING", "--me")) == [ending]


def test_finished_jobs_do_not_match() -> None:
    assert matching([row._replace(state=JobState.FINISHED) for row in ROWS], options("--me")) == []


def test_ids() -> None:
    assert [one.number for one in options("1", "2,3", "4+0").ids] == [1, 2, 3, 4]
    assert not options("-b", "-f", "-H", "--ctld", "1").has_filter


def test_questions() -> None:
    assert options("-i", "1").needs_match
    assert not options("-i", "1").has_filter
    with pytest.raises(SlurmUsageError, match="No job identification provided"):
        options("-i")
    one = ROWS[0]._replace(job_id=32, name="one")
    assert question(NamedJob(32), one) == "Cancel job_id=32 name=one partition=debug [y/n]? "
    array = one._replace(job_id=33, name="two x", array_indices="1-3", array_pending="1-3")
    assert question(NamedJob(33), array) == "Cancel job_id=33_[1-3] name=two x partition=debug [y/n]? "
    limited = array._replace(array_limit=2)
    assert question(NamedJob(33), limited).startswith("Cancel job_id=33_[1-3%2] ")
    member = NamedJob(33, Indices.parse("2"), is_array=True)
    assert question(member, array).startswith("Cancel job_id=33_2 ")
    assert question(NamedJob(33), array._replace(array_pending="")).startswith("Cancel job_id=33 ")


def test_no_match_names_all_filters() -> None:
    text, code = no_match(ROWS, options("-q", "foo", "-u", "tester", "-R", "r", "--wckey=w", "-v"))
    filters = "qos=foo reservation=r user_name=tester wckey=w "
    assert (text, code) == (f"scancel: error: No active jobs match ALL job filters, including: {filters}", 0)
    assert no_match((), options("-i", "9"))[1] == 1


def test_no_federation() -> None:
    with pytest.raises(SlurmUsageError) as error:
        options("--sibling=x", "34")
    text = "scancel: error: Kill job error on job id 34: Not a valid federated job"
    assert (error.value.text, error.value.code) == (text, 191)


ERRORS = [
    ([], "scancel: error: No job identification provided"),
    (["abc"], "scancel: error: Invalid job id abc"),
    (["1", "abc"], "scancel: error: Invalid job id abc"),
    ([""], "scancel: error: Invalid job id "),
    (["1_x"], "scancel: error: Invalid job id 1_x"),
    (["-t", "foo"], "Invalid job state specified: foo\nValid job states are PENDING, RUNNING, and SUSPENDED"),
    (["-s", "foo", "1"], "Unknown job signal: foo"),
    (["-s", "0", "1"], "Unknown job signal: 0"),
    (["--foo"], "scancel: unrecognized option '--foo'\nTry \"scancel --help\" for more information"),
]


@pytest.mark.parametrize(("argv", "text"), ERRORS, ids=[" ".join(e[0]) for e in ERRORS])
def test_error(argv: list[str], text: str) -> None:
    with pytest.raises(SlurmUsageError) as error:
        options(*argv)
    assert describe(error.value, "scancel") == (text, 1)


@pytest.mark.parametrize("argv", [["1.extern"], ["12+1"]], ids=str)
def test_not_supported(argv: list[str]) -> None:
    with pytest.raises(NotSupportedError):
        options(*argv)


@pytest.mark.parametrize(
    ("argv", "signal", "scope"),
    [
        (["1"], None, "steps"),
        (["-b", "1"], None, "script"),
        (["-s", "USR1", "1"], 10, "steps"),
        (["--signal=sigusr2", "1"], 12, "steps"),
        (["-s", "15", "-b", "1"], 15, "script"),
        (["-f", "-s", "64", "1"], 64, "all"),
        (["-s", "KILL", "1"], None, "steps"),
        (["-s", "9", "-f", "1"], 9, "all"),
    ],
)
def test_signal(argv: list[str], signal: int | None, scope: str) -> None:
    asked = options(*argv)
    assert (asked.signal, asked.scope) == (signal, scope)


def test_answers() -> None:
    for word in ("--help", "--usage", "-V"):
        with pytest.raises(SlurmAnswer):
            options(word)


KILL = "scancel: error: Kill job error on job id"
OUTCOMES = [
    (["-v", "-s", "USR1"], None, "scancel: Signal 10 to job 9", 0),
    (["-v", "-b", "-s", "STOP"], None, "scancel: Signal 19 to batch job 9", 0),
    (["-s", "USR1"], RefusedError("NotRunning", "x"), f"{KILL} 9: Job can not be altered now, try again later", 1),
    ([], None, "", 0),
    ([], UnknownJobError("9"), "", 0),
    ([], JobFinishedError("9"), "", 0),
    (["-v"], None, "scancel: Terminating job 9", 0),
    (
        ["-v"],
        JobFinishedError("9"),
        f"scancel: Terminating job 9\n{KILL} 9: Job/step already completing or completed",
        0,
    ),
    (["-v"], UnknownJobError("9"), f"scancel: Terminating job 9\n{KILL} 9: Invalid job id specified", 0),
    (["-Q"], UnknownJobError("9"), "", 0),
    ([], ForbiddenError(403, "Forbidden", "no"), f"{KILL} 9: Access/permission denied", 1),
    (
        [],
        UnreachableError("start it"),
        f"{KILL} 9: Unable to contact slurm controller (connect failure)\nscancel: start it",
        1,
    ),
]


@pytest.mark.parametrize(("argv", "error", "text", "code"), OUTCOMES, ids=[f"{o[0]}{o[1]!r}" for o in OUTCOMES])
def test_outcome(argv: list[str], error: UnknownJobError | None, text: str, code: int) -> None:
    assert outcome("9", error, options("9", *argv)) == (text, code)


def test_no_match() -> None:
    assert no_match(ROWS, options("-t", "PENDING", "85")) == (f"{KILL} 85: Invalid job id specified", 1)
    assert no_match(ROWS, options("999")) == ("", 0)
    assert no_match(ROWS, options("-n", "x")) == ("", 0)
    assert no_match(ROWS, options("-n", "x", "-t", "PD", "-v")) == (
        "scancel: error: No active jobs match ALL job filters, including: job_name=x state=PENDING ",
        0,
    )


def test_variables() -> None:
    assert read_options([], {"SCANCEL_USER": "x", "SCANCEL_STATE": "R"}, "u") == ScancelOptions(user="x", state="R")


# Steps, as recorded from scancel 22.05.8

RUNS = replace(
    QUEUE[0],
    status=JobStatus(
        state=JobState.RUNNING,
        steps=(
            StepRecord(number=7, start_time=NOW, end_time=NOW),
            StepRecord(number=8, start_time=NOW),
        ),
        step_count=9,
    ),
)


@pytest.mark.parametrize(
    ("argv", "asked"),
    [
        (["85.8"], (15, "cancel.8")),
        (["-s", "KILL", "85.8"], (15, "cancel.8")),
        (["-s", "USR1", "85.8"], (10, "step.8")),
        (["85.9"], (15, "cancel.9")),
        (["85.7"], None),
        (["85.3"], None),
        (["85.batch"], (9, "script")),
        (["-s", "USR1", "85.batch"], (10, "script")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_asked_of_a_step(argv: list[str], asked: tuple[int, str] | None) -> None:
    given = read_options(argv, {}, "tester")
    (step,) = given.steps
    assert given.ids == () and step.job.number == 85
    assert step_request(step, RUNS, given.signal) == asked


def test_the_program_of_a_terminal_is_asked_itself() -> None:
    job = replace(RUNS, spec=replace(RUNS.spec, interactive=Interactive.TERMINAL))
    (step,) = read_options(["85.0"], {}, "tester").steps
    assert (step_request(step, job, None), step_request(step, job, 10)) == ((9, "script"), (10, "script"))


def test_steps_beside_jobs() -> None:
    given = read_options(["12", "13.0,14_3.1"], {}, "tester")
    assert [one.number for one in given.ids] == [12]
    assert [(one.text, one.step) for one in given.steps] == [("13.0", "0"), ("14_3.1", "1")]
    with pytest.raises(SlurmUsageError) as error:
        read_options(["x.0"], {}, "tester")
    assert error.value.text == "scancel: error: Invalid job id x.0"


@pytest.mark.parametrize(
    ("argv", "error", "text", "code"),
    [
        (["1.4"], None, "", 0),
        (["-v", "1.4"], None, "scancel: Terminating step 1.4", 0),
        (["-v", "-s", "10", "1.4"], None, "scancel: Signal 10 to step 1.4", 0),
        (
            ["1.99"],
            NoStepError("1.99"),
            "scancel: error: Kill job error on job step id 1: Invalid job id specified",
            225,
        ),
        (
            ["7.0"],
            UnknownJobError("7"),
            "scancel: error: Kill job error on job step id 7.0: Invalid job id specified",
            1,
        ),
        (
            ["1.0"],
            JobFinishedError("1"),
            "scancel: error: Kill job error on job step id 1.0: Invalid job id specified",
            1,
        ),
    ],
)
def test_what_is_said_of_a_step(argv: list[str], error: HpcBatchError | None, text: str, code: int) -> None:
    given = read_options(argv, {}, "tester")
    assert step_outcome(given.steps[0], error, given) == (text, code)
