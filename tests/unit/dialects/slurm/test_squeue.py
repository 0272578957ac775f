"""squeue: recorded listings to the byte, filters, orders, formats, options."""

from __future__ import annotations

import string
from collections.abc import Mapping
from datetime import UTC, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.slurm.columns import complaint
from hpcbatch.dialects.slurm.errors import SlurmAnswer, SlurmUsageError, describe
from hpcbatch.dialects.slurm.squeue import check_ids, columns_of, format_queue, select_jobs
from hpcbatch.dialects.slurm.squeue_format import _BY_LETTER, LETTERS, NAMES
from hpcbatch.dialects.slurm.squeue_options import read_options
from hpcbatch.errors import HpcBatchError, NotSupportedError, UnknownJobError
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState, Reason
from tests.unit.dialects.slurm.jobs import ARRAY_ROW, NOW, ROWS, SUBMITTED, record, recorded, row

FINISHED = (
    row(
        record(
            113,
            state=JobState.FAILED,
            reason=Reason.NON_ZERO_EXIT,
            exit_code=3,
            start_time=SUBMITTED,
            end_time=SUBMITTED,
            hosts=(),
        )
    ),
    row(
        record(
            116, state=JobState.FAILED, reason=Reason.SIGNALLED, exit_signal=9, start_time=SUBMITTED, end_time=SUBMITTED
        )
    ),
)


WITH_ARRAY = (*ROWS, ARRAY_ROW)


def show(*argv: str, rows: tuple[JobRow, ...] = WITH_ARRAY, environ: Mapping[str, str] | None = None) -> str:
    return format_queue(rows, read_options(argv, environ or {}, "tester"), NOW, UTC)


def ids(*argv: str, rows: tuple[JobRow, ...] = ROWS) -> list[int]:
    return [job.job_id for job in select_jobs(rows, read_options(argv, {}, "tester"), NOW)]


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        ([], "squeue.txt"),
        (["-l"], "squeue-l.txt"),
        (["-r"], "squeue-r.txt"),
        (["-O", "JobArrayID,StateCompact,Reason", "-t", "all", "--me"], "squeue-O.txt"),
        (["-o", "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"], "squeue.txt"),
    ],
    ids=["plain", "long", "unfolded", "names", "the default as a format"],
)
def test_recorded(argv: list[str], name: str) -> None:
    assert show(*argv).splitlines() == recorded(name).splitlines()


def test_recorded_start_times() -> None:
    # The recorded scheduler foretold when jobs would start; ours knows the begin time only.
    known = {"88", "90", "92"}
    expected = [line for line in recorded("squeue-start.txt").splitlines() if line[:18].strip() in known | {"JOBID"}]
    found = [line for line in show("--start").splitlines() if line[:18].strip() in known | {"JOBID"}]
    assert found == expected


EVERYTHING = "%i|%A|%F|%K|%t|%T|%r|%R|%j|%u|%P|%M|%l|%L|%D|%C|%m|%N|%B|%S|%e|%V|%Q|%p|%Z|%o|%a|%q|%E|%k|%b|%x|%n"


def test_recorded_letters() -> None:
    expected = [line.split("|") for line in recorded("squeue-o.txt").splitlines()]
    found = [line.split("|") for line in show("-h", "-o", EVERYTHING).splitlines()]
    for mine, real in zip(found, expected, strict=True):
        masked = {22, 23} | ({19, 20} if real[4] == "PD" and real[0] != "90" else set())
        assert [f for i, f in enumerate(mine) if i not in masked] == [f for i, f in enumerate(real) if i not in masked]


def test_recorded_widths() -> None:
    names = (
        "jobid:10,name:20,state:12,timeused,timelimit,reasonlist:30,nodelist,numcpus,username,partition,priority,"
        "submittime,starttime,endtime,workdir:30"
    )
    expected = recorded("squeue-O-widths.txt").splitlines()
    for mine, real in zip(show("-h", "-O", names).splitlines(), expected, strict=True):
        assert len(mine) == len(real)
        assert mine[:192] == real[:192]
        assert mine[272:] == real[272:]


def test_recorded_finished_jobs() -> None:
    done = row(
        record(
            85,
            state=JobState.FINISHED,
            reason=Reason.NONE,
            exit_code=0,
            start_time=SUBMITTED,
            end_time=SUBMITTED + timedelta(seconds=25),
            hosts=record(85).status.hosts,
        )
    )
    done = done._replace(hosts=("vm",))
    rows = (*FINISHED, done)
    assert show("-h", "-t", "all", "-j", "113,116,85", "-o", "%i %t %T %r %M %R", rows=rows) == recorded(
        "squeue-finished.txt"
    )
    assert show("-h", rows=rows) == ""


FILTERS = [
    (["-t", "PD"], [87, 89, 91, 92, 94, 95, 96, 90, 88]),
    (["-t", "running"], [85, 86]),
    (["-t", "R,CG"], [85, 86]),
    (["-j", "85,86,88"], [88, 85, 86]),
    (["-j85"], [85]),
    (["--jobs=85,85"], [85]),
    (["-j", "85", "-j", "86"], [85, 86]),
    (["-j", "85+0"], [85]),
    (["-n", "sleeper"], [87, 94, 85, 86]),
    (["-n", "held,wrap"], [96, 88]),
    (["-u", "nosuchuser"], []),
    (["--user=tester,x", "-j", "85"], [85]),
    (["--me", "-j", "85"], [85]),
    (["-p", "nosuch"], []),
    (["-A", "x"], []),
    (["-q", "normal", "-j", "85"], [85]),
    (["-w", "vm,x"], [85, 86]),
    (["-w", "n[1-3]"], []),
    (["-S", "i"], [85, 86, 87, 88, 89, 90, 91, 92, 94, 95, 96]),
    (["-S", "-i", "-t", "R"], [86, 85]),
    (["-S", "t,-i", "-j", "85,86,87"], [87, 86, 85]),
    (["-S", "M,j", "-j", "85,87,96"], [87, 96, 85]),
    (["-S", "-C", "-j", "85,92"], [92, 85]),
]


@pytest.mark.parametrize(("argv", "expected"), FILTERS, ids=[" ".join(f[0]) for f in FILTERS])
def test_filter_and_order(argv: list[str], expected: list[int]) -> None:
    found = ids(*argv)
    # Recorded priorities followed other events too; ours follow the numbers.
    assert (found if "-S" in argv or len(expected) < 3 else sorted(found)) == (
        expected if "-S" in argv or len(expected) < 3 else sorted(expected)
    )


def test_order_by_default() -> None:
    assert ids() == [87, 89, 90, 91, 92, 94, 95, 96, 88, 85, 86]  # waiting by priority, the held one last; then running


def test_old_jobs_are_shown_only_by_their_id() -> None:
    old = FINISHED[0]._replace(end_time=NOW - timedelta(seconds=301))
    assert ids("-t", "all", rows=(old,)) == []
    assert ids("-t", "all", "-j", "113", rows=(old,)) == [113]


def test_unknown_id() -> None:
    with pytest.raises(UnknownJobError) as error:
        check_ids(ROWS, read_options(["-j", "999999"], {}, "u"))
    assert describe(error.value, "squeue") == ("slurm_load_jobs error: Invalid job id specified", 1)
    check_ids(ROWS, read_options(["-j", "999999,999999"], {}, "u"))
    check_ids(ROWS, read_options(["-j", "85"], {}, "u"))
    check_ids(ROWS, read_options(["-j"], {}, "u"))


VALID = "PENDING,RUNNING,SUSPENDED,COMPLETED,CANCELLED"
ERRORS = [
    (["-j", "abc"], "squeue: error: Invalid job id: abc"),
    (["--foo"], "squeue: unrecognized option '--foo'\nTry \"squeue --help\" for more information"),
    (["-Z"], "squeue: invalid option -- 'Z'\nTry \"squeue --help\" for more information"),
    (["-t"], "squeue: option requires an argument -- 't'\nTry \"squeue --help\" for more information"),
    (["-S", "xx"], "squeue: error: Invalid sort specification: x"),
    (["-o", "%i", "-O", "jobid"], "squeue: error: -O (--Format) is incompatible with -o (--format)"),
    (
        ["-l", "-o", "%i"],
        "squeue: fatal: Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and retry.",
    ),
]


@pytest.mark.parametrize(("argv", "text"), ERRORS, ids=[" ".join(e[0]) for e in ERRORS])
def test_error(argv: list[str], text: str) -> None:
    with pytest.raises(SlurmUsageError) as error:
        show(*argv)
    assert describe(error.value, "squeue") == (text, 1)


@pytest.mark.parametrize(
    ("argv", "complaints", "first"),
    [
        (["-o", "%A %+ %t"], "+", "85 %+ PD"),
        (["-o", "<%5+>%A"], "+", "<%5+>85"),
        (["-O", "jobid:3,foo,ExcNodes,state:8"], "foo ExcNodes", "85 PENDING "),
        (["-O", "jobid:|,ExcNodes:|,state:|"], "ExcNodes", "85||PENDING|"),
        (["-O", "foo:30"], "foo", ""),
        (["-o", "%A"], "", "85"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_unknown_fields_are_left_out(argv: list[str], complaints: str, first: str) -> None:
    options = read_options(["-h", "-j", "85", "-t", "all", *argv], {}, "u")
    told = complaint(columns_of(options), "squeue: error: Invalid job")
    assert told.splitlines() == [f"squeue: error: Invalid job format specification: {n}" for n in complaints.split()]
    row = ROWS[0]._replace(job_id=85, state=JobState.QUEUED)
    assert format_queue([row], options, NOW, UTC) == f"{first}\n"


def test_bad_state() -> None:
    with pytest.raises(SlurmUsageError) as error:
        show("-t", "foo")
    first, second, *rest = error.value.text.split("\n")
    assert first == "squeue: error: Invalid job state specified: foo"
    assert second.startswith(f"squeue: error: Valid job states include: {VALID}")
    assert rest == [""]


@pytest.mark.parametrize(
    ("argv", "environ", "expected"),
    [
        ([], {}, False),
        (["-a"], {}, True),
        (["-p", "x"], {}, True),
        (["-j", "7"], {}, True),
        (["--me"], {}, False),
        ([], {"SQUEUE_ALL": "1"}, True),
        (["--hide"], {"SQUEUE_ALL": "1"}, False),
    ],
    ids=str,
)
def test_hidden_partitions_are_asked_for(argv: list[str], environ: dict[str, str], expected: bool) -> None:
    assert read_options(argv, environ, "u").shows_hidden is expected


def test_operand() -> None:
    with pytest.raises(SlurmUsageError, match="squeue: error: Unrecognized option: foo"):
        show("foo")


@pytest.mark.parametrize("argv", [["-j", "1.0"], ["-j", "1+1"]])
def test_not_supported(argv: list[str]) -> None:
    with pytest.raises(NotSupportedError):
        show(*argv)


def test_answers() -> None:
    for argv in (["--help"], ["--usage"], ["-V"]):
        with pytest.raises(SlurmAnswer):
            show(*argv)


FORMATS = [
    (["-o", "%10i|%.10i|%3j|%.3j"], "JOBID     |     JOBID|NAM|NAM\n85        |        85|sle|sle\n"),
    (["-o", "abc"], "abc\nabc\n"),
    (["-h", "-o", '"%u"^^^%i'], '"tester"^^^85\n'),
    (["-O", "jobid:5,name:.10,state:5,username:|"], "JOBID      NAMESTATEUSER|\n85      sleeperRUNNItester|\n"),
    (["-h", "-O", "jobid,username:\x1f"], "85                  tester\x1f\n"),
    (["-h", "-o", "%S %e %V"], "2026-11-21T02:50:04 2026-11-21T03:00:04 2026-11-21T02:50:03\n"),
    (["-h", "-O", "exit_code:,pendingtime:"], "01\n"),
    (["-o", ""], "\n\n"),
]


@pytest.mark.parametrize(("argv", "text"), FORMATS, ids=[" ".join(f[0]) for f in FORMATS])
def test_format(argv: list[str], text: str) -> None:
    assert show("-j", "85", *argv) == text


def test_raw_exit_code_of_a_failed_job() -> None:
    assert show("-h", "-t", "all", "-O", "exit_code:", rows=FINISHED) == "768\n9\n"


def test_variables() -> None:
    environ = {"SQUEUE_FORMAT": "%i %t", "SQUEUE_SORT": "-i", "SQUEUE_STATES": "R"}
    assert show(environ=environ) == "JOBID ST\n86 R\n85 R\n"
    assert show("-h", "-o", "%i", "-S", "i", "-t", "R", environ=environ) == "85\n86\n"
    assert show("-h", "-O", "jobid:", environ={"SQUEUE_FORMAT": "%i", "SQUEUE_USERS": "x"}) == ""
    assert show("-h", "-j", "85", environ={"SQUEUE_FORMAT2": "jobid:3"}) == "85 \n"
    assert len(show("-h", environ={"SQUEUE_STATES": "all"}).splitlines()) == len(WITH_ARRAY)


def test_time_formats() -> None:
    for form, text in (
        ("%s", "1795229404"),
        ("standard", "2026-11-21T02:50:04"),
        ("relative", "02:50:04"),
        ("%H", "02"),
        ("%%s", "%s"),
    ):
        assert show("-h", "-j", "85", "-o", "%S", environ={"SLURM_TIME_FORMAT": form}) == f"{text}\n"
    zone = timezone(timedelta(hours=1))
    options = read_options(["-h", "-j", "85", "-o", "%S"], {}, "u")
    assert format_queue(ROWS, options, NOW, zone) == "2026-11-21T03:50:04\n"


def test_memory_and_unlimited() -> None:
    job = ROWS[0]._replace(mem_bytes=2 * 2048 * 1024**2, nodes=2, walltime_s=None)
    assert show("-h", "-o", "%m %l %L %e", rows=(job,)) == "2G UNLIMITED UNLIMITED NONE\n"
    assert show("-h", "--noconvert", "-o", "%m", rows=(job,)) == "2048M\n"


def test_nodes_are_listed_once_and_compressed() -> None:
    job = ROWS[0]._replace(hosts=("n1", "n1", "n2", "n3"))
    assert show("-h", "-o", "%R %B", rows=(job,)) == "n[1-3] n1\n"


def test_cancelled_job_shows_no_reason() -> None:
    job = ROWS[2]._replace(state=JobState.DELETED, reason=Reason.DELETED_BY_USER, end_time=NOW)
    assert show("-h", "-t", "CA", "-o", "%t|%r|%R", rows=(job,)) == "CA|None|\n"


def test_runs_and_what_befell_a_job() -> None:
    form = "restartcnt:2,requeue:2,system_comment:8"
    lost = {"state": JobState.FAILED, "reason": Reason.NODE_LOST, "message": "pod lost", "run_count": 3}
    waits = {"state": JobState.QUEUED, "run_count": 3, "reason": Reason.RESOURCES, "message": "no room"}
    cases: list[tuple[dict[str, Any], str]] = [
        (lost | {"rerunnable": False}, "2 0 pod lost"),
        (waits, "3 1 (null)  "),
        ({}, "0 1 (null)  "),
    ]
    for fields, expected in cases:
        job = FINISHED[0]._replace(**fields)
        assert show("-h", "-t", "all", "-j", "113", "-O", form, rows=(job,)) == f"{expected}\n"


def test_every_letter_and_name_has_a_value() -> None:
    assert set(LETTERS) == set(string.ascii_letters)
    assert set(_BY_LETTER.values()) <= LETTERS.keys()
    for state in JobState:
        for reason in Reason:
            job = ROWS[0]._replace(state=state, reason=reason)
            text = show("-h", "-t", "all", "-o", "".join(f"%{letter}" for letter in LETTERS), rows=(job,))
            assert bool(text) is (state is not JobState.REFUSED)
    assert show("-h", "-j", "85", "-O", ",".join(f"{name}:" for name in NAMES))


@given(st.lists(st.sampled_from(ROWS), unique=True), st.text("+-,ijPtpMlSCDuTVe", max_size=8))
def test_order_is_a_permutation(rows: list[JobRow], sort: str) -> None:
    found = ids("-S", f"i,{sort}", rows=tuple(rows))
    assert found == sorted(row.job_id for row in rows)


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=10))
def test_any_text(form: str, names: str, sort: str) -> None:
    for argv in (["-o", form], ["-O", names], ["-S", sort], ["-t", sort], ["-j", sort], [form]):
        try:
            show(*argv)
        except HpcBatchError as error:
            assert isinstance(error, SlurmAnswer) or describe(error, "squeue")[0]


def test_generic_resources_and_features() -> None:
    row = ROWS[0]._replace(tres_per_node="gres:gpu:2", tres_per_job="gres:gpu:4", features="a&b", qos="long")
    options = read_options(["-h", "-o", "%b %f %q"], {}, "tester")
    assert format_queue([row, ROWS[1]], options, NOW, UTC) == "gres:gpu:2 a&b long\nN/A (null) normal\n"
    options = read_options(["-h", "-q", "long", "-o", "%i"], {}, "tester")
    assert format_queue([row, ROWS[1]], options, NOW, UTC) == f"{row.job_id}\n"
    options = read_options(["-h", "-O", "tres-per-job:|,tres-per-task:|,feature:|"], {}, "tester")
    assert format_queue([row], options, NOW, UTC) == "gres:gpu:4|N/A|a&b|\n"


def test_columns_of_wrf() -> None:
    """Who requests them gives them; without that there are none."""
    options = read_options(["-h", "-t", "all", "-j", "113", "-O", "WRFProgress:5,wrfleft:4"], {}, "alice")
    asked: list[str] = []

    def value(row: JobRow, name: str) -> str:
        asked.append(name)
        return "7%"

    assert format_queue(FINISHED, options, NOW, UTC) == "N/A  N/A \n"
    assert format_queue(FINISHED, options, NOW, UTC, value) == "7%   7%  \n"
    assert asked == ["wrfprogress", "wrfleft"]


def test_licences() -> None:
    rows = tuple(
        row._replace(licenses=text) for row, text in zip(ROWS[:3], ("matlab:2,ansys", "matlab", ""), strict=True)
    )
    assert show("-h", "-o", "%i %W", rows=rows).splitlines() == ["87 (null)", "85 matlab:2,ansys", "86 matlab"]
    assert sorted(ids("-L", "ansys,nosuch", rows=rows)) == [85]
    assert sorted(ids("-L", "matlab", rows=rows)) == [85, 86]
    assert ids("-L", "mat", rows=rows) == []
    assert read_options([], {"SQUEUE_LICENSES": "a"}, "tester").licenses == frozenset("a")


def test_all_is_every_letter_by_the_alphabet() -> None:
    """Source: parse_format(), 22.05."""
    columns = columns_of(read_options(["-o", "%ALL"], {}, "me"))
    assert [column.key for column in columns][:3] == ["a", "b", "c"]
    assert {column.key for column in columns} == set(LETTERS)
    assert [column.suffix for column in columns] == ["|"] * (len(LETTERS) - 1) + [""]


SEVERAL = row(record(7, state=JobState.QUEUED))._replace(queue="a", other_queues=("b",))


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        ([], ["a,b"]),
        (["-p", "b"], ["a,b"]),
        (["-p", "c"], []),
        (["-P", "-S", "p,i"], ["b", "a"]),
        (["-P", "-S", "-p"], ["a", "b"]),
        (["-P", "-p", "b"], ["b"]),
    ],
)
def test_a_waiting_job_of_several_partitions(argv: list[str], shown: list[str]) -> None:
    """Source: print_jobs_array() and _sort_job_by_priority(), 22.05."""
    options = read_options(["-h", "-o", "%P", *argv], {}, "me")
    assert format_queue([SEVERAL], options, NOW, UTC, tiers={"a": 2}).split() == shown
