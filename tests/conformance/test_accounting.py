"""What became of jobs: sacct, tracejob, `hpcbatch report` and `hpcbatch accounting`, as a user asks them."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import secrets
import subprocess
from datetime import datetime, timedelta

import pytest

from tests.conformance.site import Site
from tests.waiting import wait_for


def sacct(site: Site, *argv: str) -> list[list[str]]:
    return [line.split("|") for line in site.run("sacct", "-n", "-P", *argv).stdout.splitlines()]


def test_a_job_is_known_from_its_id_on(site: Site) -> None:
    job = site.sbatch("-H", "-o", "/dev/null", "-J", "held", "--wrap", "true")
    assert sacct(site, "-X", "-j", job, "-o", "JobIdRaw,JobName,State,Start,NodeList") == [
        [job, "held", "PENDING", "Unknown", "None assigned"]
    ]
    assert [job] not in sacct(site, "-X", "-s", "PD", "-o", "jobid"), "what was never eligible is shown by its id only"
    site.run("scancel", job)
    ((state, start, end, elapsed),) = sacct(site, "-X", "-j", job, "-o", "state,start,end,elapsed")
    assert re.fullmatch(r"CANCELLED by \d+", state)
    assert (start, elapsed) == (end, "00:00:00")


@pytest.mark.parametrize(
    ("end", "job", "batch"), [("exit 3", "FAILED|3:0", "FAILED|3:0"), ("kill -9 $$", "FAILED|0:9", "CANCELLED|0:9")]
)
def test_exit_codes(site: Site, end: str, job: str, batch: str) -> None:
    number = site.sbatch("-o", "/dev/null", "--wrap", end)
    site.wait_end(number)
    assert sacct(site, "-j", number, "-o", "jobid,state,exitcode") == [
        [number, *job.split("|")],
        [f"{number}.batch", *batch.split("|")],
    ]


def test_every_host_of_a_job_is_accounted_for(site: Site) -> None:
    spin = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
    script = f"{spin}; ssh ${{SLURM_JOB_NODELIST#*,}} '{spin}'"
    job = site.sbatch("-N", "2", "-t", "5", "-o", "/dev/null", "--wrap", script)
    record = site.wait_end(job)
    assert record["Exit_status"] == 0
    whole, batch, extern = sacct(site, "-j", job, "-o", "jobid,allocnodes,ncpus,ntasks,elapsedraw,timelimit,nodelist")
    assert (whole[0], whole[1], whole[3], whole[5]) == (job, "2", "", "00:05:00")
    assert (batch[0], batch[3]) == (f"{job}.batch", "1")
    assert (extern[0], extern[3], extern[6]) == (f"{job}.extern", "2", whole[6])
    rss = {row[0]: row[1] for row in sacct(site, "-j", job, "-o", "jobid,maxrss")}
    assert rss[job] == ""
    assert re.fullmatch(r"[0-9.]+[KMG]?", rss[f"{job}.batch"])


def test_running_jobs_and_time_windows(site: Site) -> None:
    job = site.sbatch("-o", "/dev/null", "--wrap", "sleep 60")
    site.wait_state(job, "R")
    assert [job] in sacct(site, "-X", "-s", "R", "-o", "jobid")
    assert sacct(site, "-j", job, "-o", "jobid,state,end") == [
        [job, "RUNNING", "Unknown"],
        [f"{job}.batch", "RUNNING", "Unknown"],
    ]
    site.run("scancel", job)
    site.wait_end(job)
    assert [job] not in sacct(site, "-X", "-s", "R", "-o", "jobid")
    assert [job] in sacct(site, "-X", "-S", "now-1hour", "-E", "now", "-s", "CA", "-o", "jobid")
    assert [job] in sacct(site, "-X", "-o", "jobid")
    assert sacct(site, "-X", "-S", "now-2hours", "-E", "now-1hour", "-s", "CA", "-o", "jobid", "-j", job) == []


def test_json(site: Site) -> None:
    job = site.sbatch("-o", "/dev/null", "--wrap", "exit 4")
    site.wait_end(job)
    (found,) = json.loads(site.run("sacct", "--json", "-j", job).stdout)["jobs"]
    assert (found["job_id"], found["exit_code"]["return_code"]) == (int(job), 4)
    assert found["state"]["current"] == "FAILED"
    assert [step["step"]["id"] for step in found["steps"]] == ["batch"]


def test_unknown_jobs_and_bad_options(site: Site) -> None:
    assert site.run("sacct", "-j", "999999", "-n").stdout == ""
    bad = site.run("sacct", "-o", "nosuch", check=False)
    assert (bad.returncode, bad.stderr) == (1, 'sacct: error: Invalid field requested: "nosuch"\n')
    bad = site.run("sacct", "-u", "nosuchuser", check=False)
    assert (bad.returncode, bad.stderr) == (1, "sacct: error: Invalid user id: nosuchuser\n")


def test_tracejob(site: Site) -> None:
    job = site.qsub("-N", "traced", "-j", "oe", stdin="exit 5\n")
    site.wait_end(job)
    text = site.run("tracejob", job).stdout
    assert text.startswith(f"\nJob: {job}.{site.server}\n\n")
    user = site.env["USER"]
    order = [
        rf"A    user={user} ",
        rf"S    Job Queued at request of {user}@\S+, owner = {user}@\S+, job name = traced, queue = \S+\n",
        r"S    Job Run at request of Scheduler@\S+ on exec_vnode \(\S+:ncpus=1\)\n",
        r"M    Terminated\n",
        r"S    Exit_status=5 resources_used\.cpupercent=",
    ]
    places = [re.search(pattern, text) for pattern in order]
    assert all(places), text
    starts = [place.start() for place in places if place]
    assert starts == sorted(starts)
    assert " A    " not in site.run("tracejob", "-a", job).stdout
    unknown = site.run("tracejob", "999999", check=False)
    assert unknown.returncode == 1
    assert f"Couldn't find Job Id 999999.{site.server} in logs of past 1 day" in unknown.stderr
    assert site.run("tracejob", check=False).returncode == 1


def test_report(site: Site) -> None:
    account = f"proj{secrets.token_hex(3)}"
    good, bad = (site.qsub("-N", "counted", "-j", "oe", "-A", account, stdin=f"exit {n}\n") for n in (0, 1))
    site.wait_end(good)
    site.wait_end(bad)
    rows = list(csv.DictReader(io.StringIO(site.run("hpcbatch", "report", "--csv", "--by", "account,user").stdout)))
    (row,) = [row for row in rows if row["account"] == account]
    assert row["user"] == site.env["USER"]
    assert (row["jobs"], row["failed"]) == ("2", "1")
    told = json.loads(site.run("hpcbatch", "report", "--json", "--by", "account").stdout)
    assert sum(group["jobs"] for group in told["groups"]) == told["total"]["jobs"]
    table = site.run("hpcbatch", "report", "--since", "1h", "--by", "user,queue").stdout.splitlines()
    assert table[0].split()[:4] == ["User", "Queue", "Jobs", "Running"]
    assert table[-1].startswith("Total")
    wrong = site.run("hpcbatch", "report", "--by", "colour", check=False)
    assert wrong.returncode == 2


@pytest.mark.alone  # the log tells of all users' jobs
def test_the_accounting_log_tells_each_thing_once(site: Site) -> None:
    job = site.qsub("-N", "logged", "-j", "oe", stdin="exit 6\n")
    site.wait_end(job)
    directory = site.work / "acct"
    directory.mkdir()
    os.chown(directory, site.work.stat().st_uid, site.work.stat().st_gid)
    site.run("hpcbatch", "accounting", "--write", str(directory))

    def of_job() -> list[str]:
        text = "".join(path.read_text() for path in sorted(directory.glob("2*")))
        return [line for line in text.splitlines() if line.split(";")[2] == f"{job}.{site.server}"]

    assert [line.split(";")[1] for line in of_job()] == ["Q", "S", "E"]
    assert " Exit_status=6 " in of_job()[-1]
    assert site.run("hpcbatch", "accounting", "--write", str(directory)).stdout.startswith("0 new entries")
    assert len(of_job()) == 3
    deleted = site.qsub("-h", "-N", "gone", stdin="true\n")
    site.run("qdel", deleted)
    printed = wait_for(
        "the deletion in the log",
        lambda: re.search(rf";D;{deleted}\.{site.server};(.*)", site.run("hpcbatch", "accounting").stdout),
        20,
    )
    assert printed[1].startswith(f"requestor={site.env['USER']}@")


def test_a_run_that_was_given_up_is_told(site: Site) -> None:
    job = site.sbatch("--requeue", "-o", "/dev/null", "--wrap", "sleep 100")
    site.wait_state(job, "R")
    site.run("scontrol", "requeue", job)

    def past() -> list[list[str]]:
        rows = sacct(site, "-X", "-D", "-j", job, "-o", "jobid,state,nodelist")
        return rows if rows[0][1] == "REQUEUED" else []

    runs = wait_for("the first run among the past", past, 60)
    assert [row[0] for row in runs] == [job, job]
    assert runs[0][2] != "None assigned"
    assert len(sacct(site, "-X", "-j", job)) == 1
    assert "S    Job Rerun\n" in site.run("tracejob", job).stdout
    site.run("scancel", job)
    site.wait_end(job)
    log = site.run("hpcbatch", "accounting").stdout.splitlines()
    letters = [line.split(";")[1] for line in log if line.split(";")[2] == f"{job}.{site.server}"]
    assert letters[:3] == ["Q", "S", "R"]
    assert letters.count("R") == 1


def test_what_was_never_eligible_is_listed_by_its_number(site: Site) -> None:
    """As slurmdbd has it: a held job has no time of eligibility."""
    job = site.sbatch("--hold", "-o", "/dev/null", "--wrap", "true")
    assert sacct(site, "-X", "-j", job, "-o", "jobid,eligible") == [[job, "Unknown"]]
    for more in ([], ["-s", "PD"]):
        assert [job] not in sacct(site, "-X", "-o", "jobid", *more)
    assert sacct(site, "-X", "-s", "PD", "-j", job) == []
    site.run("scontrol", "release", job)
    site.wait_end(job)
    assert [job] in sacct(site, "-X", "-o", "jobid")


def test_members_of_an_array(site: Site) -> None:
    job = site.sbatch("--array=1-3", "-o", "/dev/null", "--wrap", "[ $SLURM_ARRAY_TASK_ID != 2 ]")

    def ended() -> list[list[str]]:
        rows = sacct(site, "-X", "-j", job, "-o", "jobid,state,exitcode")
        return rows if len(rows) == 3 and not {"PENDING", "RUNNING"} & {row[1] for row in rows} else []

    assert wait_for("the end of all members", ended, 60) == [
        [f"{job}_1", "COMPLETED", "0:0"],
        [f"{job}_2", "FAILED", "1:0"],
        [f"{job}_3", "COMPLETED", "0:0"],
    ]
    assert sacct(site, "-j", f"{job}_2.batch", "-o", "jobid,exitcode") == [[f"{job}_2.batch", "1:0"]]
    held = site.sbatch("-H", "--array=1-100000", "-o", "/dev/null", "--wrap", "true")
    assert sacct(site, "-j", f"{held}_77", "-o", "jobid,state") == [[f"{held}_[1-100000]", "PENDING"]]
    site.run("scancel", held)
    wait_for("the array's end", lambda: "CANCELLED" in sacct(site, "-j", held, "-o", "jobid,state")[0][1], 60)
    assert sacct(site, "-j", held, "-o", "jobid") == [[f"{held}_[1-100000]"]]


def as_admin(site: Site, signal: str, job: str) -> None:
    """qsig of one who may change everybody's jobs; on the engine that is its only user."""
    subprocess.run(["qsig", "-s", signal, job], cwd="/", env={**(site.admin_env or site.env)}, timeout=60, check=True)


def test_alterations_and_suspensions_are_told(site: Site) -> None:
    job = site.qsub("-h", "-N", "before", "-l", "walltime=10:00", "-j", "oe", stdin="sleep 100\n")
    site.run("qalter", "-N", "after", "-l", "walltime=20:00", job)
    site.run("qrls", job)
    site.wait_state(job, "R")
    as_admin(site, "suspend", job)
    wait_for("a second of it", lambda: sacct(site, "-X", "-j", job, "-o", "suspended") > [["00:00:01"]])
    as_admin(site, "resume", job)
    site.wait_state(job, "R")
    site.run("qdel", job)
    site.wait_end(job)
    log = (line.split(";", 3) for line in site.run("hpcbatch", "accounting").stdout.splitlines())
    told = [(letter, text) for _, letter, of, text in log if of == f"{job}.{site.server}"]
    assert [letter for letter, _ in told] in (["Q", "a", "S", "z", "r", "D", "E"], ["Q", "S", "a", "z", "r", "D", "E"])
    (altered,) = (text for letter, text in told if letter == "a")
    assert {"Job_Name=after", "Resource_List.walltime=00:20:00"} <= set(altered.split())
    ((elapsed, suspended, start, end),) = sacct(site, "-X", "-j", job, "-o", "elapsedraw,suspended,start,end")
    assert suspended != "00:00:00"
    whole = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    assert timedelta(seconds=int(elapsed)) < whole
