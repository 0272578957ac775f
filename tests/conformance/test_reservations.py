"""Reservations of both dialects: who gets the nodes, what keeps off them, and what becomes of the jobs in one."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterator

import pytest

from tests.conformance.operator import as_operator
from tests.conformance.site import Site
from tests.waiting import wait_for

pytestmark = pytest.mark.alone

QUIET = ("-o", "/dev/null")


@pytest.fixture
def name(site: Site) -> Iterator[str]:
    """Of a reservation that is gone in the end, with its jobs."""
    name = f"r{secrets.token_hex(3)}"
    yield name
    site.run("scancel", "--reservation", name, check=False)
    deleted = ("scontrol", "delete", f"ReservationName={name}")

    def is_gone() -> bool:
        return "is in use" not in as_operator(site, *deleted, check=False).stderr

    wait_for("it is deleted", is_gone)


@pytest.fixture
def node(site: Site) -> str:
    return site.run("sinfo", "-h", "-N", "-o", "%n").stdout.split()[-1]


def at(seconds: float) -> str:
    """As Slurm takes it; `seconds` from now."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + seconds))


def create(site: Site, name: str, *words: str) -> None:
    done = as_operator(site, "scontrol", "create", "reservation", f"ReservationName={name}", *words)
    assert done.stdout == f"Reservation created: {name}\n"


def refused(site: Site, *words: str) -> str:
    done = as_operator(site, "scontrol", *words, check=False)
    assert done.returncode == 1
    return done.stderr


def pending(site: Site, job: str) -> str:
    return site.run("squeue", "-h", "-j", job, "-o", "%t %r").stdout.strip()


def state(site: Site, job: str) -> str:
    return site.run("sacct", "-X", "-n", "-P", "-j", job, "-o", "State").stdout.strip()


def shown(site: Site, name: str) -> str:
    return site.run("scontrol", "-o", "show", "reservation", name).stdout


def me(site: Site) -> str:
    return site.run("id", "-un").stdout.strip()


@pytest.mark.slow
def test_a_maintenance_reservation_is_empty_when_it_begins(site: Site, name: str) -> None:
    begins = time.time() + 60
    create(site, name, f"StartTime={at(60)}", "Duration=1", "Nodes=ALL", "Users=root", "Flags=MAINT")
    before = site.qsub("-l", "select=1:ncpus=1,walltime=10", "-j", "oe", *QUIET, stdin="sleep 3\n")
    long = site.sbatch("-t", "10", *QUIET, "--wrap", "true")
    wait_for("why it waits", lambda: pending(site, long) == "PD ReqNodeNotAvail, Reserved for maintenance")
    assert "Reason=ReqNodeNotAvail,_Reserved_for_maintenance " in site.run("scontrol", "show", "job", long).stdout
    of_pbs = site.qsub("-l", "select=1:ncpus=1,walltime=10:00", "-j", "oe", *QUIET, stdin="true\n")
    assert site.wait_end(before)["Exit_status"] == 0
    assert time.time() < begins, "it fits before the maintenance"
    assert site.attributes(of_pbs)["comment"] == "Not Running: Job would conflict with reservation or top job"
    site.run("qdel", of_pbs)
    wait_for("it begins", lambda: " State=ACTIVE " in shown(site, name), limit_s=120)
    running = site.run("squeue", "-h", "-t", "R,CG", "-o", "%i").stdout
    assert running == "", "nothing runs on its nodes"
    assert set(site.run("sinfo", "-h", "-N", "-o", "%T").stdout.split()) == {"maint"}
    wait_for("it is over", lambda: "not found" in site.run("scontrol", "show", "res", name, check=False).stdout, 120)
    wait_for("the long one runs then", lambda: state(site, long) == "COMPLETED")


def test_who_may_run_in_it_does_and_others_do_not(site: Site, name: str, node: str) -> None:
    create(site, name, f"StartTime={at(0)}", "Duration=30", f"Nodes={node}", f"Users={me(site)}")
    assert f" Nodes={node} NodeCnt=1 CoreCnt=2 Features=(null) PartitionName=(null) Flags=SPEC_NODES " in shown(
        site, name
    )
    assert f" Users={me(site)} Groups=(null) Accounts=(null) Licenses=(null) State=ACTIVE " in shown(site, name)
    table = site.run("sinfo", "-T").stdout.splitlines()
    assert re.split(r"  +", table[0]) == ["RESV_NAME", "STATE", "START_TIME", "END_TIME", "DURATION", "NODELIST"]
    row = next(line.split() for line in table if line.startswith(f"{name} "))
    assert (row[1], row[4:]) == ("ACTIVE", ["00:30:00", node])
    assert "resv" in site.run("sinfo", "-h", "-N", "-n", node, "-o", "%t").stdout
    assert "+RESERVED " in site.run("scontrol", "-o", "show", "node", node).stdout

    job = site.sbatch("--reservation", name, "-t", "5", "-o", f"{site.work}/out", "--wrap", "env; sleep 300")
    site.wait_state(job, "R")
    assert site.run("squeue", "-h", "-R", name, "-o", "%i %v %N").stdout == f"{job} {name} {node}\n"
    wait_for("its environment", lambda: "SLURM_JOB_RESERVATION" in site.written("out"))
    assert f"SLURM_JOB_RESERVATION={name}\n" in site.read("out")
    assert f"   Reservation={name}\n" in site.run("scontrol", "show", "job", job).stdout
    assert site.run("sacct", "-X", "-n", "-P", "-j", job, "-o", "Reservation").stdout == f"{name}\n"
    assert refused(site, "delete", f"ReservationName={name}") == (
        f"delete_reservation ReservationName={name}: Requested reservation is in use\n"
    )
    outside = site.sbatch("-w", node, "-t", "1", *QUIET, "--wrap", "true")
    wait_for("why", lambda: pending(site, outside) == "PD ReqNodeNotAvail, May be reserved for other job")
    site.run("scancel", outside)

    as_operator(site, "scontrol", "update", f"ReservationName={name}", "Users=nobody")
    done = site.run("sbatch", "--reservation", name, "--wrap", "true", check=False)
    wrong = "sbatch: error: Batch job submission failed: "
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, f"{wrong}Access denied to requested reservation")
    done = site.run("sbatch", "--reservation", "nosuch", "--wrap", "true", check=False)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, f"{wrong}Requested reservation is invalid")
    site.run("scancel", job)


def test_a_job_of_several_reservations_runs_in_the_first_that_has_room(site: Site, name: str, node: str) -> None:
    """All are shown to its end, but for accounting: the first, then the one in which it runs."""
    other, mine = f"{name}o", ("Duration=30", f"Users={me(site)}")
    create(site, name, f"StartTime={at(3600)}", f"Nodes={node}", *mine)
    create(site, other, f"StartTime={at(0)}", f"Nodes={node}", *mine)
    try:
        both = f"{name},{other}"
        job = site.sbatch("--reservation", both, "-t", "5", *QUIET, "--wrap", "sleep 300")
        site.wait_state(job, "R")
        for one in (name, other, both):
            assert site.run("squeue", "-h", "-R", one, "-o", "%i %v %N").stdout == f"{job} {both} {node}\n"
        assert site.run("sacct", "-X", "-n", "-P", "-j", job, "-o", "Reservation").stdout == f"{other}\n"
        assert "Requested reservation is in use" in refused(site, "delete", f"ReservationName={other}")
        wrong = "sbatch: error: Batch job submission failed: "
        done = site.run("sbatch", "--reservation", f"{name},nosuch", "--wrap", "true", check=False)
        assert (done.returncode, done.stderr.splitlines()[-1]) == (1, f"{wrong}Requested reservation is invalid")
        as_operator(site, "scontrol", "update", f"ReservationName={name}", "Users=nobody")
        done = site.run("sbatch", "--reservation", both, "--wrap", "true", check=False)
        assert (done.returncode, done.stderr.splitlines()[-1]) == (1, f"{wrong}Access denied to requested reservation")
        site.run("scancel", job)
    finally:
        deleted = ("scontrol", "delete", f"ReservationName={other}")
        site.run("scancel", "--reservation", other, check=False)
        wait_for("it is deleted", lambda: "is in use" not in as_operator(site, *deleted, check=False).stderr)


@pytest.mark.slow
def test_a_job_waits_for_its_reservation_and_is_ended_with_it(site: Site, name: str, node: str) -> None:
    create(site, name, f"StartTime={at(12)}", "Duration=30", f"Nodes={node}", f"Users={me(site)}")
    job = site.sbatch("--reservation", name, "-t", "20", *QUIET, "--wrap", "sleep 600")
    wait_for("why it waits", lambda: pending(site, job) == "PD Reservation")
    site.wait_state(job, "R", limit_s=60)
    as_operator(site, "scontrol", "update", f"ReservationName={name}", f"EndTime={at(6)}")
    wait_for("its end", lambda: state(site, job) == "TIMEOUT", limit_s=60)
    wait_for("it is gone", lambda: "not found" in site.run("scontrol", "show", "res", name, check=False).stdout)


@pytest.mark.slow
def test_a_daily_one_comes_again(site: Site, name: str, node: str) -> None:
    create(site, name, f"StartTime={at(-50)}", f"EndTime={at(10)}", f"Nodes={node}", "Users=root", "Flags=DAILY")
    first = re.search(r"StartTime=(\S+) ", shown(site, name))
    assert first is not None

    def next_start() -> str:
        found = re.search(r"StartTime=(\S+) .* Flags=DAILY,SPEC_NODES .* State=INACTIVE ", shown(site, name))
        return found[1] if found else ""

    second = wait_for("its next time", next_start, limit_s=60)
    days = (time.mktime(time.strptime(one, "%Y-%m-%dT%H:%M:%S")) for one in (second, first[1]))
    assert 82_000 < next(days) - next(days) < 91_000, "a day later by the clock"


def test_what_is_refused(site: Site, name: str, node: str) -> None:
    start = f"StartTime={at(3600)}"
    create(site, name, start, "Duration=60", f"Nodes={node}", "Users=root")
    wrong = "Error creating the reservation: "
    create_ = ("create", "reservation", "Users=root")
    for words, says in (
        ((*create_, f"ReservationName={name}", start, "Duration=1", "NodeCnt=1"), f"{wrong}Duplicate reservation name"),
        (
            (*create_, start, "Duration=10", f"Nodes={node}"),
            f"{wrong}Requested reservation overlaps with another reservation",
        ),
        ((*create_, start, "Duration=10", "NodeCnt=99"), f"{wrong}Requested nodes are busy"),
        ((*create_, start, "Duration=10", "Nodes=nosuch"), f"{wrong}Invalid node name specified"),
        (
            (*create_, start, "Duration=10", "NodeCnt=1", "Partition=nosuch"),
            f"{wrong}Invalid partition name specified",
        ),
        ((*create_, f"StartTime={at(-7200)}", "Duration=10", "NodeCnt=1"), f"{wrong}Invalid time specified"),
        (
            (*create_, "Duration=10", "NodeCnt=1"),
            "scontrol: error: A start time must be given.  No reservation created.",
        ),
        (
            ("create", "res", start, "Duration=10", "NodeCnt=1"),
            "scontrol: error: Either Users/Groups and/or Accounts must be specified.  No reservation created.",
        ),
        (
            ("update", "ReservationName=nosuch", "Duration=1"),
            "Error updating the reservation: Requested reservation is invalid",
        ),
        (
            ("delete", "ReservationName=nosuch"),
            "delete_reservation ReservationName=nosuch: Requested reservation is invalid",
        ),
    ):
        assert refused(site, *words).splitlines()[0] == says
    create(site, f"{name}x", start, "Duration=10", f"Nodes={node}", "Users=root", "Flags=OVERLAP")
    as_operator(site, "scontrol", "delete", f"ReservationName={name}x")


def test_running_jobs_are_in_the_way_unless_they_are_ignored(site: Site, name: str, node: str) -> None:
    job = site.sbatch("-w", node, "-t", "30", *QUIET, "--wrap", "sleep 600")
    site.wait_state(job, "R")
    words = (f"StartTime={at(60)}", "Duration=10", f"Nodes={node}", "Users=root")
    assert "Requested nodes are busy" in refused(site, "create", "reservation", f"ReservationName={name}", *words)
    create(site, name, *words, "Flags=IGNORE_JOBS")
    assert " Flags=IGNORE_JOBS,SPEC_NODES " in shown(site, name)
    assert state(site, job) == "RUNNING"
    site.run("scancel", job)


def rsub(site: Site, *words: str) -> str:
    """The id, without the server."""
    done = site.run("pbs_rsub", *words)
    found = re.fullmatch(rf"([RS][0-9]+)\.{re.escape(site.server)} (UN)?CONFIRMED\n", done.stdout)
    assert found is not None, done.stdout
    return found[1]


def pbs_time(seconds: float) -> str:
    return time.strftime("%Y%m%d%H%M.%S", time.localtime(time.time() + seconds))


@pytest.fixture
def reserved(site: Site) -> Iterator[list[str]]:
    """Reservations of PBS that are gone in the end."""
    found: list[str] = []
    yield found
    for one in found:
        site.run("pbs_rdel", one, check=False)


@pytest.mark.slow
def test_a_user_reserves_and_runs_by_its_queue(site: Site, reserved: list[str]) -> None:
    one = rsub(site, "-R", pbs_time(8), "-D", "0:30:00", "-l", "select=1:ncpus=2", "-N", "mine", "-I", "10")
    reserved.append(one)
    full = site.run("pbs_rstat", "-f", one).stdout
    assert full.startswith(f"Resv ID: {one}.{site.server}\nReserve_Name = mine\nReserve_Owner = {me(site)}@")
    for line in ("reserve_duration = 1800", f"queue = {one}", "Resource_List.select = 1:ncpus=2"):
        assert f"\n{line}\n" in full
    head, dashes, row = site.run("pbs_rstat", one).stdout.splitlines()
    assert head == "Resv ID    Queue    User     State             Start / Duration / End              "
    assert dashes == "-" * 69
    assert row.split()[1] == one
    assert " / 1800 / " in row
    job = site.qsub("-q", one, "-l", "select=1:ncpus=1,walltime=20:00", "-j", "oe", *QUIET, stdin="sleep 600\n")
    long = site.qsub("-q", one, "-l", "select=1:ncpus=1,walltime=9:00:00", "-j", "oe", *QUIET, stdin="true\n")
    node = re.search(r"resv_nodes = \((\S+):ncpus=2\)", full)
    assert node is not None
    site.wait_state(job, "R", limit_s=60)
    assert site.attributes(job)["queue"] == one
    assert site.attributes(job)["exec_host"].startswith(f"{node[1]}/")
    assert "RESV_RUNNING" in site.run("pbs_rstat", "-F", one).stdout
    queue = next(line.split() for line in site.run("qstat", "-Q").stdout.splitlines() if line.startswith(f"{one} "))
    assert queue[3:5] == ["yes", "yes"]
    assert site.run("squeue", "-h", "-R", one, "-t", "R", "-o", "%i").stdout == f"{job}\n"
    assert site.attributes(long)["job_state"] == "Q", "it does not fit"

    altered = site.run("pbs_ralter", "-D", "0:40:00", "-N", "other", "-I", "5", one).stdout
    assert altered == f"pbs_ralter: {one}.{site.server} CONFIRMED\n"
    altered = site.run("pbs_ralter", "-D", "0:40:00", one).stdout
    assert altered == f"pbs_ralter: {one}.{site.server} ALTER REQUESTED\n"
    full = site.run("pbs_rstat", "-f", one).stdout
    assert "reserve_duration = 2400\n" in full
    assert "Reserve_Name = other\n" in full
    site.run("pbs_rdel", f"{one}.{site.server}")
    ended = site.wait_end(job)
    assert ended["job_state"] == "F"
    assert site.wait_end(long)["job_state"] == "F", "its jobs go with it"
    done = site.run("pbs_rdel", one, check=False)
    assert (done.returncode, done.stderr) == (236, f"pbs_rdel: Unknown Reservation Id {one}.{site.server}\n")
    done = site.run("qsub", "-q", one, "-", stdin="true\n", check=False)
    assert (done.returncode, done.stderr.splitlines()[0]) == (170, "qsub: Unknown queue")


def test_what_pbs_denies_and_refuses(site: Site, reserved: list[str]) -> None:
    start = pbs_time(7200)
    denied = site.run("pbs_rsub", "-R", start, "-D", "1:00:00", "-l", "select=99:ncpus=2", "-I", "5").stdout
    assert re.fullmatch(rf"R[0-9]+\.{re.escape(site.server)} DENIED\n", denied)
    for words, code, says in (
        (("-R", "202001010000", "-D", "60", "-l", "select=1"), 238, "pbs_rsub: Bad time specification(s)"),
        (("-R", start, "-l", "select=1"), 238, "pbs_rsub: Bad time specification(s)"),
        (("-R", "what", "-D", "60", "-l", "select=1"), 2, "pbs_rsub: illegal -R time value"),
        (("-R", start, "-D", "60", "-l", "select=1", "-I", "x"), 2, "pbs_rsub: illegal -I time value"),
        (("-R", start, "-D", "60", "--hosts", "nosuch"), 2, "pbs_rsub: Host with resources not found: nosuch"),
        (
            ("-R", start, "-D", "60", "-l", "select=1", "-r", "FREQ=DAILY;COUNT=2"),
            2,
            "pbs_rsub error: a valid PBS_TZID timezone environment variable is required.",
        ),
    ):
        done = site.run("pbs_rsub", *words, check=False)
        assert (done.returncode, done.stderr.splitlines()[0]) == (code, says)
    everything = ("-R", start, "-D", "1:00:00", "-l", "select=3:ncpus=2", "-l", "place=scatter", "-I", "5")
    reserved.append(rsub(site, *everything))
    again = site.run("pbs_rsub", *everything).stdout
    assert again.endswith(" DENIED\n"), "nobody gets what is reserved"


def test_a_standing_reservation_by_rrule(site: Site, reserved: list[str]) -> None:
    rule = "FREQ=WEEKLY;BYDAY=MO,WE,FR;COUNT=6"
    zone = ("env", "PBS_TZID=Europe/Berlin")
    words = ("-R", pbs_time(7200), "-D", "0:30:00", "-l", "select=1:ncpus=1", "-r")
    done = site.run(*zone, "pbs_rsub", *words, rule, "-I", "5")
    one = done.stdout.partition(".")[0]
    reserved.append(one)
    assert re.fullmatch(rf"S[0-9]+\.{re.escape(site.server)} CONFIRMED\n", done.stdout)
    full = site.run("pbs_rstat", "-f", one).stdout
    assert f"\nreserve_rrule = {rule}\nreserve_index = 1\nreserve_count = 6\n" in full
    for bad, code, says in (
        ("FREQ=DAILY", 30, "Undefined iCalendar syntax. A valid COUNT or UNTIL is required"),
        ("FREQ=SOMETIMES;COUNT=2", 29, "Undefined iCalendar syntax"),
        ("FREQ=HOURLY;COUNT=2;BYMONTHDAY=3", 29, "Undefined iCalendar syntax"),
    ):
        done = site.run(*zone, "pbs_rsub", *words, bad, check=False)
        assert (done.returncode, done.stderr.splitlines()[0]) == (code, f"pbs_rsub: {says}")
    done = site.run("env", "PBS_TZID=No/Where", "pbs_rsub", *words, rule, check=False)
    assert done.stderr == "pbs_rsub: Unrecognized PBS_TZID environment variable\n"


def test_users_make_none_with_scontrol(site: Site) -> None:
    if not site.admin_env:
        pytest.skip("the engine's one user may do everything")
    done = site.run(
        "scontrol", "create", "reservation", "StartTime=now", "Duration=1", "NodeCnt=1", "Users=x", check=False
    )
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, "Error creating the reservation: Invalid user id")


def test_a_reservation_that_loses_its_node_gets_another(site: Site, reserved: list[str]) -> None:
    def node_of(one: str) -> str:
        found = re.search(r"resv_nodes = \((\S+):ncpus=2\)", site.run("pbs_rstat", "-f", one).stdout)
        assert found is not None
        return found[1]

    one = rsub(site, "-R", pbs_time(3600), "-D", "0:30:00", "-l", "select=1:ncpus=2", "-I", "10")
    reserved.append(one)
    first = node_of(one)
    as_operator(site, "pbsnodes", "-o", first)
    try:
        wait_for("another node", lambda: node_of(one) != first)
        assert "RESV_CONFIRMED" in site.run("pbs_rstat", "-F", one).stdout
    finally:
        as_operator(site, "pbsnodes", "-r", first)


def test_one_that_is_on_gets_another_node(site: Site, name: str) -> None:
    def node_of(one: str) -> str:
        found = re.search(r" Nodes=(\S+) ", shown(site, one))
        assert found is not None
        return found[1]

    wanted = (f"StartTime={at(0)}", "Duration=30", "NodeCnt=1", "Users=root")
    create(site, name, *wanted, "Flags=REPLACE_DOWN")
    assert " Flags=REPLACE_DOWN " in shown(site, name)
    first = node_of(name)
    as_operator(site, "scontrol", "update", f"NodeName={first}", "State=DRAIN", "Reason=test")
    try:
        wait_for("another node", lambda: node_of(name) != first)
        assert " State=ACTIVE " in shown(site, name)
    finally:
        as_operator(site, "scontrol", "update", f"NodeName={first}", "State=RESUME")
    wrong = "Error creating the reservation: Invalid node name specified\n"
    named = ("create", "reservation", f"StartTime={at(0)}", "Duration=30", f"Nodes={first}", "Users=root")
    assert refused(site, *named, "Flags=REPLACE_DOWN").startswith(wrong)


@pytest.mark.alone
def test_a_waiting_job_moves_into_a_reservation_of_its_own(site: Site, reserved: list[str]) -> None:
    quiet = ("-o", "/dev/null", "-j", "oe")
    job = site.qsub("-h", "-l", "select=1:ncpus=1,walltime=10:00", *quiet, stdin="sleep 600\n")
    one = rsub(site, "-W", f"qmove={job}")
    reserved.append(one)
    assert site.attributes(job)["queue"] == one
    assert "\nResource_List.select = 1:ncpus=1\n" in site.run("pbs_rstat", "-f", one).stdout
    site.run("qrls", job)
    site.wait_state(job, "R")
    for refused, says in ((job, "Job not in qmove state"), ("999999", "Job 999999 does not exist")):
        done = site.run("pbs_rsub", "-W", f"qmove={refused}", check=False)
        assert (done.returncode, done.stderr) == (2, f"pbs_rsub: {says}\n")
    site.run("pbs_rdel", one)
    site.wait_end(job)


@pytest.mark.alone
@pytest.mark.slow
def test_a_running_job_becomes_a_reservation(site: Site, reserved: list[str]) -> None:
    quiet = ("-o", "/dev/null", "-j", "oe")
    job = site.qsub("-l", "select=1:ncpus=1,walltime=10:00", *quiet, stdin="sleep 600\n")
    site.wait_state(job, "R")
    one = rsub(site, "--job", f"{job}.{site.server}", "-N", "mine")
    reserved.append(one)
    full = site.run("pbs_rstat", "-f", one).stdout
    for line in (
        "Reserve_Name = mine",
        "reserve_state = RESV_RUNNING",
        "reserve_duration = 600",
        "Resource_List.select = 1:ncpus=1",
        f"reserve_job = {job}.{site.server}",
    ):
        assert f"\n{line}\n" in full
    wait_for("the job is in its queue", lambda: site.attributes(job)["queue"] == one)
    host = site.attributes(job)["exec_host"].partition("/")[0]
    assert f"\nresv_nodes = ({host}:ncpus=1)\n" in full
    next_one = site.qsub("-q", one, "-l", "select=1:ncpus=1,walltime=5:00", *quiet, stdin="sleep 600\n")
    array = site.run("qsub", "-h", "-J", "1-2", *quiet, stdin="true\n").stdout.partition(".")[0]
    held = site.qsub("-h", *quiet, stdin="true\n")
    for refused, code, says in (
        (job, 77, "Reservation may not be created from a job already within a reservation"),
        (array, 78, "Reservation may not be created from an array job"),
        (held, 168, "Request invalid for state of job"),
        ("999999", 153, "Unknown Job Id"),
    ):
        done = site.run("pbs_rsub", "--job", refused, check=False)
        assert (done.returncode, done.stderr) == (code, f"pbs_rsub: {says}\n")
    done = site.run("pbs_rsub", "--job", job, "-R", pbs_time(60), check=False)
    assert done.stderr.startswith("pbs_rsub: Start/End time cannot be used with --job option\nusage: ")
    assert site.attributes(next_one)["job_state"] == "Q", "the first job has all of it"
    site.run("qdel", job, array, held)
    site.wait_state(next_one, "R")
    assert site.attributes(next_one)["exec_host"].startswith(f"{host}/"), "where the first one was"
    site.run("pbs_rdel", one)
    assert site.wait_end(next_one)["job_state"] == "F", "its jobs go with it"
