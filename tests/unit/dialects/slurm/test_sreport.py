"""sreport: recorded reports of an hour in which two users held 2430 and 600 seconds of CPU time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hpcbatch.dialects.slurm.errors import SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.sreport import Cluster, format_report
from hpcbatch.dialects.slurm.sreport_options import Report, has_no_command, kept_options, read_options
from hpcbatch.errors import NotSupportedError
from hpcbatch.model.report import Job
from hpcbatch.model.state import JobState
from tests.unit.dialects.slurm.transcripts import Case, cases, check

NOW = datetime(2026, 11, 25, 10, 5, tzinfo=UTC)
BEGIN = datetime(2026, 11, 25, 9, 0, tzinfo=UTC).timestamp()
NAMES = {"root": "root"}
SEEN_CPUS = 2848 / 3600
"""slurmdbd had known of the node for a part of the hour only."""


def job(user: str, account: str, cpus: int, start: float, end: float | None) -> Job:
    state = JobState.RUNNING if end is None else JobState.FINISHED
    return Job(1, user, "debug", account, state.value, cpus, start, start, end, None)


USED = [
    job("tester", "phys", 2, BEGIN - 600, BEGIN + 1200),
    job("tester", "phys", 1, BEGIN + 10, BEGIN + 40),
    job("root", "root", 1, BEGIN, BEGIN + 600),
    job("tester", "phys", 9, BEGIN - 7200, BEGIN),
]


def answer(argv: tuple[str, ...], jobs: list[Job] = USED) -> str:
    options = read_options(argv, NOW)
    if options is None:
        return ""
    if options.report is Report.UTILIZATION:
        jobs = [job("a", "", 1, BEGIN, BEGIN + 784)]
    cluster = Cluster("real", SEEN_CPUS)
    now, names = NOW.timestamp(), lambda user: NAMES.get(user, "")
    return "".join(format_report(options, jobs, cluster, now=now, tz=UTC, proper_name=names))


@pytest.mark.parametrize("case", cases("sreport.txt"))
def test_recorded(case: Case) -> None:
    check(case, answer)


def test_sizes() -> None:
    jobs = [
        job("a", "phys", 4, BEGIN, BEGIN + 60),
        job("b", "", 60, BEGIN, BEGIN + 60),
        job("a", "phys", 1, BEGIN, None),
    ]
    words = ("-nP", "job", "sizes", "start=2026-11-25T09:00:00", "end=2026-11-25T10:00:00")
    assert answer(words, jobs) == "real|(null)|0|60|0|0|0|48.39%\nreal|phys|64|0|0|0|0|51.61%\n"
    assert answer((*words, "grouping=2,4", "printjobcount"), jobs).splitlines()[1].startswith("real|phys|1|0|1|")
    heads = answer(("-P", "job", "sizes", "grouping=2,4"), []).splitlines()[-1]
    assert heads == "Cluster|Account|0-1 CPUs|2-3 CPUs|>= 4 CPUs|% of cluster"


def test_jobs_that_run_count_until_now() -> None:
    words = ("-nP", "-t", "Seconds", "user", "top", "start=2026-11-25T10:00:00", "end=2026-11-25T12:00:00")
    assert answer(words, [job("a", "", 2, BEGIN, None)]) == "real|a||(null)|600|0\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("cluster util foo=bar", " Unknown condition: foo=bar\nUse keyword set to modify value"),
        ("cluster util format=foo", " Unknown field 'foo'"),
        ("-t foo cluster util", "unknown time format foo"),
        ("cluster util start=foo", "Invalid time specification (pos=0): foo"),
        ("job SizesByWckey", "sreport: error: Your user doesn't have privilege to perform this action"),
    ],
)
def test_errors(words: str, text: str) -> None:
    with pytest.raises(SlurmUsageError) as error:
        answer(tuple(words.split()))
    assert text in error.value.text


def test_answers() -> None:
    for argv in (["--help"], ["help"], ["--usage"]):
        with pytest.raises(SlurmAnswer):
            read_options(argv, NOW)
    with pytest.raises(NotSupportedError):
        read_options(["-T", "mem", "cluster", "util"], NOW)
    assert read_options(["exit"], NOW) is None
    near = read_options(["user", "top", "end=now"], NOW)
    assert near is not None
    assert (near.until.hour, near.until.minute) == (10, 0)


@pytest.mark.parametrize(("argv", "expected"), [([], True), (["-t", "hours"], True), (["user", "top"], False)])
def test_without_a_report_requests_come_from_standard_input(argv: list[str], expected: bool) -> None:
    assert has_no_command(argv) is expected


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["time", "hours"], ["-p", "--time=hours"]),
        (["parsable2"], ["-p", "--parsable2"]),
        (["nonp"], []),
        (["user", "top"], ["-p"]),
    ],
)
def test_some_requests_hold_for_those_that_follow(words: list[str], kept: list[str]) -> None:
    assert kept_options(["-p"], words) == kept
    assert read_options(["-p", *words], NOW) is None or words[0] == "user"


def test_a_time_without_its_unit() -> None:
    with pytest.raises(SlurmUsageError, match="too few arguments for keyword:time"):
        read_options(["time"], NOW)
