"""pbs_rsub, pbs_ralter, pbs_rdel and pbs_rstat: their command lines, and reservations as they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from hpcbatch.dataclass import replace
from hpcbatch.dialects.pbs.errors import PbsError, PbsUsageError
from hpcbatch.dialects.pbs.reservations import Shown, format_list, parse_rstat, read_id
from hpcbatch.dialects.pbs.rsub import Rsub, Times, read_ralter, read_rdel, read_rsub, refused_at_once
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.reservation import Denial, Flag, KeptNode, Phase, ReservationSpec, ReservationStatus
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState
from hpcbatch.record.reservation import ReservationRecord

NOW = datetime(2026, 11, 25, 10, 0, tzinfo=UTC)
START = datetime(2026, 11, 25, 14, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


RUNNING = JobRecord(
    job_id=7,
    namespace="ns",
    object_name="o",
    spec=JobSpec(dialect="pbs", name="x", chunks=(Chunk(count=2, cpus=4),), walltime_s=3600),
    status=JobStatus(start_time=START, state=JobState.RUNNING, walltime_s=3600),
    queue="default",
)


def read_job(arguments: Sequence[str]) -> JobSpec:
    walltime = next((text for text in arguments if text.startswith("walltime=")), "")
    seconds = int(walltime.partition("=")[2]) if walltime else None
    return JobSpec(dialect="pbs", name="x", chunks=(Chunk(count=2, cpus=4),), walltime_s=seconds)


def rsub(*argv: str, zone: str = "") -> Rsub:
    return read_rsub(
        argv,
        now=NOW,
        environ={"PBS_TZID": zone} if zone else {},
        host="login",
        read_job=read_job,
        node_cpus=lambda: {"n1": 8, "n2": 8},
        waiting_job=lambda job_id: replace(
            read_job(["walltime=60"] if job_id == "7" else []), attributes={"Resource_List.select": "2:ncpus=4:a=b"}
        ),
        running_job=lambda _: RUNNING,
    )


def test_rstat() -> None:
    assert parse_rstat([]) == ("S", ())
    assert parse_rstat(["-f", "R12", "-B"]) == ("B", ("R12",))
    with pytest.raises(PbsUsageError) as caught:
        parse_rstat(["-x"])
    assert caught.value.code == 1


@pytest.mark.parametrize(
    ("name", "number"), [("R12", "R12"), ("S1.pbs1", "S1"), ("M3.a@b", "M3"), ("12", ""), ("12.pbs", "")]
)
def test_ids(name: str, number: str) -> None:
    assert read_id(name) == number


def test_what_is_no_id() -> None:
    with pytest.raises(PbsError, match="illegally formed reservation identifier: nosuch"):
        read_id("nosuch")


@pytest.mark.parametrize(
    ("argv", "start", "end"),
    [
        pytest.param(("-R", "1400", "-E", "1500"), START, START + HOUR, id="start-end"),
        pytest.param(("-R", "1400", "-D", "1:00:00"), START, START + HOUR, id="start-duration"),
        pytest.param(("-E", "1500", "-D", "3600"), START, START + HOUR, id="end-duration"),
        pytest.param(("-R", "1400", "-l", "walltime=3600"), START, START + HOUR, id="start-walltime"),
        pytest.param(("-R", "1400", "-E", "1500", "-D", "3600"), START, START + HOUR, id="all"),
        pytest.param(("-R", "202611251400.00", "-D", "3600"), START, START + HOUR, id="date"),
        pytest.param(("-R", "1400", "-E", "1300"), START, START + timedelta(hours=23), id="past-midnight"),
    ],
)
def test_times(argv: tuple[str, ...], start: datetime, end: datetime) -> None:
    found = rsub(*argv, "-l", "select=2:ncpus=4").spec
    assert (found.start, found.end) == (start, end)
    assert found.attributes["select"] == "2:ncpus=4"
    assert (found.attributes["ncpus"], found.attributes["nodect"]) == ("8", "2")


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(Times(), id="none"),
        pytest.param(Times(start=START), id="start"),
        pytest.param(Times(duration=HOUR), id="duration"),
        pytest.param(Times(start=START, end=START), id="empty"),
        pytest.param(Times(start=START, end=START + HOUR, duration=2 * HOUR), id="contradiction"),
        pytest.param(Times(start=NOW - HOUR, duration=2 * HOUR), id="past"),
        pytest.param(Times(end=NOW + HOUR, duration=2 * HOUR), id="begins-in-the-past"),
    ],
)
def test_bad_times(given: Times) -> None:
    with pytest.raises(PbsError) as caught:
        given.settled(NOW)
    assert (caught.value.text, caught.value.code) == ("Bad time specification(s)", 238)


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("-R", "x"), "illegal -R time value"),
        (("-E", "x"), "illegal -E time value"),
        (("-D", "x"), "illegal -D value"),
        (("-I", "x"), "illegal -I time value"),
        (("-m", "j"), "illegal -m value"),
        (("-m", "bn"), "illegal -m value"),
        (("-M", "a,,b"), "illegal -M value"),
        (("-q", "x"), 'illegal -q value: format "@server"'),
        (("-r", "F" * 67), "illegal -r value (expression too long)"),
        (("--hosts",), "missing host(s)"),
        (("--hosts", "n1", "n1"), "Duplicate host: n1"),
        (("-I", "5", "--hosts", "n1"), "can't use -I with --hosts"),
        (("-l", "select=1", "--hosts", "n1"), "can't use -l with --hosts"),
        (("-R", "1400", "word"), "directive error: -R 1400 word "),
        (("-Z",), "invalid option -- 'Z'"),
        (("--job",), "invalid option -- '-'"),
        (("--job", "7", "-E", "1500"), "Start/End time cannot be used with --job option"),
        (("--job", "7", "8"), "directive error: --job 7 8 "),
        (("--job", "7", "-l", "select=1", "--hosts"), "missing host(s)"),
    ],
)
def test_wrong_command_lines(argv: tuple[str, ...], says: str) -> None:
    with pytest.raises(PbsUsageError) as caught:
        rsub(*argv)
    assert caught.value.code == 2
    assert says in caught.value.text.split("\n")
    assert caught.value.usage.startswith("usage: pbs_rsub ")


def test_of_a_waiting_job() -> None:
    found = rsub("-W", "qmove=7")
    assert (found.is_of_job, found.spec.start, found.spec.end) == (True, NOW, NOW + timedelta(minutes=1))
    assert (found.spec.flags, found.spec.purge_s) == ((Flag.PURGE_COMP,), 600)
    assert found.spec.attributes["select"] == "2:ncpus=4:a=b"
    longer = rsub("-W", "qmove=7,delete_idle_time=0:01:00", "-D", "0:02:00", "-I", "-5").spec
    assert (longer.end, longer.purge_s) == (NOW + timedelta(minutes=2), 60)
    alone = rsub("-W", "delete_idle_time=30", "-R", "1400", "-D", "60", "-l", "select=1")
    assert (alone.is_of_job, alone.spec.purge_s) == (False, 30)


def test_of_a_running_job() -> None:
    found = rsub("--job", "7", "-N", "mine", "-U", "bob", "-m", "a")
    assert (found.is_running_job, found.is_of_job, found.spec.job, found.spec.name) == (True, False, 7, "mine")
    assert (found.spec.start, found.spec.end) == (START, START + HOUR)
    assert (found.spec.chunks, found.spec.mail_points) == ((Chunk(count=2, cpus=4),), "a")
    assert found.spec.attributes["select"] == "2:ncpus=4"
    for more in (("-l", "select=1"), ("-D", "60"), ("-r", "FREQ=DAILY"), ("-W", "qmove=8")):
        with pytest.raises(PbsUsageError, match=f"--job goes without {more[0]}"):
            rsub("--job", "7", *more)


@pytest.mark.parametrize(
    ("argv", "text", "number"),
    [
        (("-W", "qmove=8"), "Bad time specification(s)", 238),
        (("-W", "qmove=7", "-I", "5"), "-I <timeout> value must be negative", 2),
        (("-W", "colour=red", "-R", "1400", "-D", "60", "-l", "select=1"), "Undefined attribute  colour", 154),
    ],
)
def test_what_no_job_gets(argv: tuple[str, ...], text: str, number: int) -> None:
    with pytest.raises(PbsError) as caught:
        rsub(*argv)
    assert (caught.value.text.startswith(text), caught.value.code) == (True, number)


def test_a_rule_needs_a_zone() -> None:
    rule = "FREQ=DAILY;COUNT=2"
    with pytest.raises(PbsError) as caught:
        rsub("-R", "1400", "-D", "60", "-r", rule)
    assert caught.value.usage.startswith("pbs_rsub error: a valid PBS_TZID")
    found = rsub("-R", "1400", "-D", "60", "-r", rule, zone="Europe/Berlin").spec
    assert (found.rule, found.zone) == (rule, "Europe/Berlin")


def test_maintenance_of_hosts() -> None:
    found = rsub("-R", "1400", "-D", "60", "--hosts", "n1", "n2").spec
    assert (found.nodes, found.is_maintenance, found.attributes["ncpus"]) == (("n1", "n2"), True, "16")
    assert Flag.IGNORE_JOBS in found.flags


@pytest.mark.parametrize(
    ("code", "message", "text", "number"),
    [
        (Denial.BAD_TIME, "", "Bad time specification(s)", 238),
        (Denial.BAD_RULE, "Undefined iCalendar syntax", "Undefined iCalendar syntax", 29),
        (Denial.BAD_RULE, "DAILY recurrence duration cannot exceed 24 hours", "DAILY recurrence", 25),
        (Denial.BAD_ZONE, "Unrecognized PBS_TZID environment variable", "Unrecognized PBS_TZID", 31),
        (Denial.NOT_ALLOWED, "why", "Unauthorized Request", 159),
    ],
)
def test_what_is_refused_at_once(code: Denial, message: str, text: str, number: int) -> None:
    found = refused_at_once(code, message, "pbs_rsub")
    assert found is not None
    assert found.text.startswith(text)
    assert found.code == number


def test_what_the_scheduler_denies() -> None:
    assert refused_at_once(Denial.NODES_BUSY, "", "pbs_rsub") is None


SPEC = ReservationSpec(dialect="pbs", name="mine", start=START, end=START + HOUR, users=("ann",), chunks=(Chunk(),))
RECORD = ReservationRecord(
    "ann",
    "pbs-x",
    1,
    "2026-11-25T09:00:00Z",
    SPEC,
    ReservationStatus(
        phase=Phase.CONFIRMED,
        id="R12",
        owner="ann",
        generation=1,
        granted=SPEC,
        nodes=(KeptNode(name="n1", amounts={"cpu": 4000}),),
        start=START,
        end=START + HOUR,
    ),
)


@pytest.mark.parametrize(
    ("now", "state", "start"),
    [
        (NOW, "CO", "Today 14:00"),
        (NOW - timedelta(days=1), "CO", "Wed 14:00"),
        (NOW - timedelta(days=10), "CO", "Wed Nov 25 14:00"),
        (NOW - timedelta(days=400), "CO", "Wed Nov 25 2026 14:"),
        (START, "RN", "Today 14:00"),
    ],
)
def test_the_short_form(now: datetime, state: str, start: str) -> None:
    shown = format_list([RECORD], "S", Shown("pbs", now, UTC))
    head, dashes, row = shown.splitlines()
    assert head == "Resv ID    Queue    User     State             Start / Duration / End              "
    assert len(dashes) == 69
    assert row.startswith(f"R12.pbs    R12      ann@loca {state}    {start[:17]:>17} / 3600 / ")


def test_a_lost_node_degrades() -> None:
    assert " DG " in format_list([RECORD], "S", Shown("pbs", NOW, UTC, frozenset({"n1"})))


def test_the_long_form() -> None:
    lines = format_list([RECORD], "F", Shown("pbs", NOW, UTC)).splitlines()
    assert lines[:4] == [
        "Resv ID: R12.pbs",
        "Reserve_Name = mine",
        "Reserve_Owner = ann@localhost",
        "reserve_state = RESV_CONFIRMED",
    ]
    assert "reserve_start = Wed Nov 25 14:00:00 2026" in lines
    assert "resv_nodes = (n1:ncpus=4)" in lines
    assert lines[-1] == ""
    assert format_list([RECORD], "B", Shown("pbs", NOW, UTC)) == "Resv ID: R12.pbs\n"


@pytest.mark.parametrize(
    ("chunks", "nodes", "text"),
    [
        (((2, 2),), {"n1": 4000}, "(n1:ncpus=2)+(n1:ncpus=2)"),
        (((1, 2), (2, 1)), {"n1": 3000, "n2": 1000}, "(n1:ncpus=2)+(n1:ncpus=1)+(n2:ncpus=1)"),
        (((1, 1), (1, 3)), {"n1": 3000, "n2": 1000}, "(n1:ncpus=3)+(n2:ncpus=1)"),  # the first might be on either
        (((2, 1),), {"n1": None}, "(n1:ncpus=8)"),
    ],
)
def test_the_nodes_of_the_chunks(chunks: tuple[tuple[int, int], ...], nodes: dict[str, int | None], text: str) -> None:
    spec = replace(SPEC, chunks=tuple(Chunk(count=count, cpus=cpus) for count, cpus in chunks))
    kept = tuple(KeptNode(name=name, amounts=None if cpu is None else {"cpu": cpu}) for name, cpu in nodes.items())
    record = RECORD._replace(spec=spec, status=replace(RECORD.status, granted=spec, nodes=kept))
    shown = format_list([record], "F", Shown("pbs", NOW, UTC, cpus={"n1": 8}))
    assert f"resv_nodes = {text}\n" in shown


@pytest.mark.parametrize(
    ("argv", "start", "end", "users"),
    [
        (("-D", "7200", "R12"), START, START + 2 * HOUR, ("ann",)),
        (("-R", "1500", "R12"), START + HOUR, START + HOUR, ("ann",)),
        (("-E", "1600", "R12"), START, START + 2 * HOUR, ("ann",)),
        (("-E", "1700", "-D", "1:00:00", "R12"), START + 2 * HOUR, START + 3 * HOUR, ("ann",)),
        (("-U", "+bob", "R12"), START, START + HOUR, ("ann", "bob")),
        (("-U", "bob,-eve", "R12"), START, START + HOUR, ("ann", "bob", "-eve")),
        (("-U", "bob", "R12"), START, START + HOUR, ("bob",)),
    ],
)
def test_ralter(argv: tuple[str, ...], start: datetime, end: datetime, users: tuple[str, ...]) -> None:
    asked = read_ralter(argv, NOW)
    if argv[0] == "-R":
        with pytest.raises(PbsError, match="Bad time"):
            asked.applied(SPEC, NOW, read_job, is_on=False, has_jobs=False)
        return
    found = asked.applied(SPEC, NOW, read_job, is_on=False, has_jobs=False)
    assert (found.start, found.end, found.users) == (start, end, users)


def test_mail() -> None:
    found = rsub("-R", "1400", "-D", "60", "-l", "select=1", "-m", "be", "-M", "ann,bob@host").spec
    assert (found.mail_points, found.mail_users) == ("be", ("ann", "bob@host"))
    granted = replace(RECORD.status, granted=found)
    lines = format_list([RECORD._replace(status=granted)], "F", Shown("pbs", NOW, UTC)).splitlines()
    assert lines[lines.index("Mail_Points = be") + 1] == "Mail_Users = ann,bob@host"
    changed = read_ralter(("-m", "n", "R12"), NOW).applied(found, NOW, read_job, is_on=False, has_jobs=False)
    assert (changed.mail_points, changed.mail_users) == ("n", ("ann", "bob@host"))
    with pytest.raises(PbsUsageError, match="illegal -M value"):
        read_ralter(("-M", "", "R12"), NOW)


def test_the_start_of_one_with_jobs_stays() -> None:
    with pytest.raises(PbsError, match="Reservation not empty"):
        read_ralter(("-R", "1500", "R12"), NOW).applied(SPEC, START, read_job, is_on=True, has_jobs=True)


@pytest.mark.parametrize("argv", [(), ("R1", "R2"), ("-l", "ncpus=1", "R1"), ("-W", "x", "R1"), ("-I", "0", "R1")])
def test_wrong_ralter(argv: tuple[str, ...]) -> None:
    with pytest.raises(PbsUsageError) as caught:
        read_ralter(argv, NOW)
    assert caught.value.code == 2


def test_nothing_is_forced() -> None:
    with pytest.raises(PbsError) as caught:
        read_ralter(["-W", "force", "-D", "60", "R1"], NOW)
    assert (caught.value.text.split("\n")[0], caught.value.code) == ("No support for requested service", 181)


def test_rdel() -> None:
    assert read_rdel(["R1", "S2.x"]) == ("R1", "S2.x")
    with pytest.raises(PbsUsageError):
        read_rdel([])
