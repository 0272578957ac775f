"""The options of sacct: which jobs, which fields, units, times, forms."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.slurm.errors import SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.sacct import Facts, select_lines
from hpcbatch.dialects.slurm.sacct_fields import FIELDS, LONG
from hpcbatch.dialects.slurm.sacct_json import format_json
from hpcbatch.dialects.slurm.sacct_line import View
from hpcbatch.dialects.slurm.sacct_options import read_options
from hpcbatch.model.state import JobState
from tests.unit.dialects.slurm.sacct_jobs import (
    CANCELLED,
    FAILER,
    GANG,
    JOBS,
    NEVER_RAN,
    NOW,
    RUNNING,
    array,
    at,
    sacct,
)

# Which jobs


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("-s R", ["170"]),
        ("-s R -S 02:50:10 -E 02:50:20", ["85", "86"]),
        ("-s PD", ["92"]),
        (
            "-s PD -S 02:50:10 -E 02:50:30",
            ["87", "88", "91", "92", "94", "95", "96", "93_1", "93_2", "93_3", "93_4"],
        ),
        ("-s F -S 02:00 -E 03:00", ["2", "113", "102", "105"]),
        ("-s CD -j 85,86,102", ["85", "86"]),
        ("-S 02:50:40 -E 02:50:50", ["88", "89", "92"]),
        ("-S 03:00 -E 03:09", ["92", "170"]),
        ("-N vm --name big,held", ["88", "91"]),
        ("-I 2-98", ["108"]),
        ("-A nosuchaccount", ["103"]),
        ("-k 1:00:00", ["2", "95", "96"]),
        ("-k 1 -K 1:00", ["113", "170"]),
        ("-R Dependency", ["89"]),
        ("-u 1002 -j 85", ["85"]),
        ("-u root", []),
        ("-u -1 -j 85", ["85"]),
        ("-g tester -j 85", ["85"]),
        ("-M other", []),
        ("-M all -j 85", ["85"]),
        ("-W key", []),
        ("-j 85 -j 86", ["85", "86"]),
        ("-S 2026-11-22 -E 2026-11-23", []),
    ],
)
def test_selection(line: str, expected: list[str]) -> None:
    if "2026-11-22" in line:
        expected = ["92", "170"]  # not over yet: eligible before the end, and no end before the start
    assert sacct(f"-X -n -P -o jobid {line}", [*JOBS, FAILER, RUNNING]).split() == expected


def test_others_jobs_are_shown_only_where_asked_for() -> None:
    assert sacct("-X -n -P -o jobid -S 02:00", JOBS, user="eve") == ""
    assert sacct("-X -n -P -o jobid -S 02:00 -a", JOBS, user="eve").split()[0] == "2"
    assert sacct("-X -n -P -o jobid -S 02:00", JOBS, user="root").split()[0] == "2"
    assert sacct("-X -n -P -o jobid -j 2", JOBS, user="eve") == "2\n"


def test_times_are_cut_to_the_window_if_asked_to() -> None:
    line = "-X -n -P -j 85 -S 02:50:10 -E 02:50:20 -o start,end,elapsed"
    assert sacct(line, JOBS) == "2026-11-21T02:50:04|2026-11-21T02:50:29|00:00:25\n"
    assert sacct(f"{line} -T", JOBS) == "2026-11-21T02:50:10|2026-11-21T02:50:20|00:00:10\n"


# Values


@pytest.mark.parametrize(
    ("options", "expected"),
    [("", "20000M"), ("--units=G", "19.53G"), ("--units K", "20480000K"), ("--noconvert", "20000M")],
)
def test_units(options: str, expected: str) -> None:
    assert sacct(f"-X -n -P -j 85 -o reqmem {options}", JOBS) == f"{expected}\n"


def test_widths() -> None:
    assert sacct("-X -n -j 85 -o jobname%4,jobname%-9,start%5,elapsed%3,jobid%-4", JOBS).count("\n") == 1
    assert sacct("-X -n -j 85 -o jobname%4", JOBS) == "sle+ \n"
    assert sacct("-X -n -j 85 -o jobname%-9", JOBS) == "sleeper   \n"
    assert sacct("-X -n -j 85 -o start%5", JOBS) == "##### \n"
    assert sacct("-X -n -j 85 -o elapsed%3", JOBS) == "00:00:25 \n"


@given(st.integers(0, 2**60), st.sampled_from(["", "K", "M", "G", "T", "P"]), st.booleans(), st.sampled_from([0, 2]))
def test_sizes_lose_nothing_unless_a_unit_is_asked_for(amount: int, unit: str, convert: bool, power: int) -> None:
    amount = amount >> (10 * power)
    text = View(NOW, UTC, unit=unit, convert=convert).size(amount, power)
    if amount == 0:
        assert text == "0"
    elif not unit and amount < 2**53:
        letters = " KMGTP"
        number, letter = (text[:-1], text[-1]) if text[-1].isalpha() else (text, " ")
        assert round(float(number) * 1024 ** letters.index(letter)) == amount * 1024**power


@pytest.mark.parametrize("name", FIELDS)
def test_each_field_has_a_value_for_any_line(name: str) -> None:
    jobs = [*JOBS, GANG, NEVER_RAN, array(JobState.RUNNING, pending="2-9", active="0")]
    text = sacct(f"-n -P -o {name} -S 01:00", jobs)
    assert len(text.splitlines()) == len(sacct("-n -P -o jobid -S 01:00", jobs).splitlines())
    assert "None\n" not in text or name == "Reason"


def test_the_long_list_names_fields_that_there_are() -> None:
    assert set(LONG) <= FIELDS.keys()


def test_json() -> None:
    options = read_options(["--json", "-S", "02:00"], {}, "tester", NOW)
    lines = select_lines([GANG, FAILER, CANCELLED], options, Facts(NOW))
    body = json.loads(format_json(lines, lambda _: "tester"))
    assert body["meta"]["Slurm"] == {"version": {"major": 22, "micro": 8, "minor": 5}, "release": "22.05.8"}
    failer, cancelled, gang = body["jobs"]
    assert (failer["job_id"], failer["name"], failer["state"]["current"]) == (113, "failer", "FAILED")
    assert failer["exit_code"] == {"status": "ERROR", "return_code": 3}
    assert (failer["time"]["limit"], failer["group"], failer["user"]) == (1, "tester", "tester")
    assert cancelled["kill_request_user"] == "tester"
    assert cancelled["steps"][0]["exit_code"]["signal"] == {"signal_id": 15, "name": "Terminated"}
    batch, extern = gang["steps"]
    assert (batch["step"]["id"], batch["tasks"]["count"], extern["step"]["id"]) == ("batch", 1, "extern")
    assert extern["tres"]["requested"]["max"][1] == {
        "type": "mem",
        "name": None,
        "id": 2,
        "count": 300 * 2**20,
        "node": "n2",
        "task": 1,
    }


# The command line


@pytest.mark.parametrize(
    ("line", "text", "code"),
    [
        ("-o nosuchfield", 'sacct: error: Invalid field requested: "nosuchfield"', 1),
        ("-j abc", "sacct: fatal: Bad job/step specified: abc", 1),
        ("-s X", "sacct: fatal: unrecognized job state value 'X'", 1),
        ("-s CG", "sacct: fatal: job state CG is not supported / accounted", 1),
        ("-S nonsense", "Invalid time specification (pos=0): nonsense", 1),
        (
            "-S now -E now-1hour",
            "sacct: error: Start time (2026-11-21T03:10:00) requested is after end time (2026-11-21T02:10:00).",
            1,
        ),
        (
            "-l -o jobid",
            "sacct: fatal: Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and retry.",
            1,
        ),
        ("-o AllocGRES", "sacct: fatal: AllocGRES has been removed, please use AllocTRES", 1),
        ("--units=X", "sacct: fatal: Invalid unit type", 1),
        ("-k x", "sacct: fatal: Invalid time limit specification", 1),
        ("-i x", "sacct: error: invalid node range -i 'x'", 1),
        ("-c", "Slurm job completion is disabled", 1),
        ("foo bar", "sacct: error: Unknown arguments:\nsacct: error:  foo\nsacct: error:  bar", 1),
        ("-Z", "sacct: invalid option -- 'Z'", 1),
        ("--nosuch", "sacct: unrecognized option '--nosuch'", 1),
    ],
)
def test_refusals(line: str, text: str, code: int) -> None:
    with pytest.raises(SlurmUsageError) as error:
        sacct(line, [])
    assert (error.value.text, error.value.code) == (text, code)


@pytest.mark.parametrize(
    ("option", "flags"),
    [
        ("", None),
        ("-F None", set()),
        ("-F SchedMain,startrecieved", {"schedmain", "startrecieved"}),
        ("--flags=xSchedBackfill", {"schedbackfill"}),
    ],
)
def test_flags(option: str, flags: set[str] | None) -> None:
    assert read_options(option.split(), {}, "me", NOW).flags == flags


def test_jobs_by_their_flags() -> None:
    every = sacct("-nXP -o jobid -S 00:00", JOBS).split()
    started = sacct("-nXP -o jobid -S 00:00 -F SchedMain", JOBS).split()
    others = sacct("-nXP -o jobid -S 00:00 -F None", JOBS).split()
    assert started and others
    assert sorted(started + others) == sorted(every)
    assert sacct("-nXP -o jobid -S 00:00 -F SchedBackfill", JOBS) == ""


def test_an_unknown_flag() -> None:
    with pytest.raises(SlurmUsageError) as error:
        read_options(["-F", "SchedMain,x"], {}, "me", NOW)
    assert error.value.text == "sacct: error: str_2_job_flags: Invalid job flag x"


@pytest.mark.parametrize(("option", "start"), [("-V", "slurm 22.05.8"), ("-h", "sacct [<OPTION>]"), ("-U", "Usage")])
def test_answers(option: str, start: str) -> None:
    with pytest.raises(SlurmAnswer) as answer:
        sacct(option, [])
    assert answer.value.text.startswith(start)


def test_names_may_be_cut_short_and_come_from_a_variable() -> None:
    assert sacct("-n -P -X -j 85 -o jobn,sta,ex", JOBS) == "sleeper|2026-11-21T02:50:04|0:0\n"
    assert sacct("-n -P -X -j 85", JOBS, environ={"SACCT_FORMAT": "jobid,state"}) == "85|COMPLETED\n"
    assert sacct("-n -P -X -j 85 -b", JOBS) == "85|COMPLETED|0:0\n"
    assert sacct("-n -P -X -j 85 -o jobid -o state --delimiter=;", JOBS) == "85;COMPLETED\n"


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("23:00", at("23:00")),
        ("now-7days", NOW - timedelta(days=7)),
        ("1120", datetime(2026, 11, 20, tzinfo=UTC)),
        ("12/24", datetime(2025, 12, 24, tzinfo=UTC)),
        ("today", datetime(2026, 11, 21, tzinfo=UTC)),
    ],
)
def test_a_time_without_a_day_or_year_is_today_or_the_last_one(text: str, start: datetime) -> None:
    assert read_options(["-S", text, "-E", "2026-11-30"], {}, "tester", NOW).start == start


def test_scripts_and_environments() -> None:
    for argv, text in (
        (["-B"], "When requesting job scripts you must also request specific jobs with the '-j' option."),
        (["--env-vars"], "When requesting job environment you must also request specific jobs with the '-j' option."),
        (["-B", "--env-vars", "-j", "3"], "Options --batch-script and --env-vars are mutually exclusive"),
    ):
        with pytest.raises(SlurmUsageError) as error:
            read_options(argv, {}, "tester", NOW)
        assert (error.value.text, error.value.code) == (f"sacct: fatal: {text}", 1)
    assert read_options(["-B", "-j", "3"], {}, "tester", NOW).text == "script"
    assert read_options(["--env-vars", "-j", "3"], {}, "tester", NOW).text == "environment"
    assert read_options(["--yaml"], {}, "tester", NOW).data == "yaml"
