"""Changes to jobs: qalter, qmove, qrerun, scontrol update, requeue and holds, in the real systems' words and codes."""

from __future__ import annotations

import re
import subprocess
from functools import partial

import pytest

from tests.conformance.site import Site
from tests.waiting import wait_for

LONG = "sleep 600\n"


def as_admin(site: Site, *argv: str) -> subprocess.CompletedProcess[str]:
    """As one who may change all jobs; on the engine that is its only user."""
    env = {**(site.admin_env or site.env)}
    return subprocess.run(argv, cwd="/", env=env, capture_output=True, text=True, timeout=60, check=False)


def says(site: Site, *argv: str) -> tuple[int, str]:
    done = site.run(*argv, check=False)
    return done.returncode, done.stdout + done.stderr


def squeue(site: Site, job: str, form: str) -> str:
    return site.run("squeue", "-h", "-t", "all", "-j", job, "-o", form).stdout.rstrip("\n")


def test_qalter_of_a_waiting_job(site: Site) -> None:
    job = site.qsub("-h", "-N", "sleeper", "-l", "select=1:ncpus=1,walltime=00:10:00", stdin=LONG)
    full = f"{job}.{site.server}"
    assert says(site, "qalter", "-l", "walltime=00:20:00", "-N", "renamed", full) == (0, "")
    found = site.attributes(job)
    assert (found["Job_Name"], found["Resource_List"]["walltime"]) == ("renamed", "00:20:00")
    more = (
        "-A",
        "acc",
        "-p",
        "7",
        "-r",
        "n",
        "-m",
        "be",
        "-M",
        "a@b,c@d",
        "-j",
        "oe",
        "-o",
        "there.txt",
        "-S",
        "/bin/sh",
    )
    assert says(site, "qalter", *more, "-l", "select=2:ncpus=1:mem=100mb", "-a", "2359", job) == (0, "")
    found = site.attributes(job)
    names = ("Account_Name", "Priority", "Rerunable", "Mail_Points", "Mail_Users", "Join_Path")
    assert [found[name] for name in names] == ["acc", 7, "False", "be", "a@b,c@d", "oe"]
    assert found["Output_Path"].endswith(":" + str(site.work / "there.txt"))
    assert found["Shell_Path_List"] == "/bin/sh"
    assert "23:59:00" in found["Execution_Time"]
    asked = found["Resource_List"]
    assert (asked["select"], asked["ncpus"], asked["mem"], asked["walltime"]) == (
        "2:ncpus=1:mem=100mb",
        2,
        "200mb",
        "00:20:00",
    )
    assert says(site, "qalter", "-A", "", "-l", "walltime=", "-h", "n", job) == (0, "")
    found = site.attributes(job)
    assert "Account_Name" not in found
    assert (found["job_state"], found["Hold_Types"]) == ("W", "n")
    site.run("qdel", job)


def test_qalter_is_refused_in_the_real_words(site: Site) -> None:
    job = site.qsub("-h", "-l", "select=1:ncpus=1", stdin=LONG)
    full = f"{job}.{site.server}"
    for words, code, text in (
        (("-l", "walltime=00:20:00", "999999"), 153, f"qalter: Unknown Job Id 999999.{site.server}\n"),
        (("-l", "foo=2", full), 187, f"qalter: Unknown resource Resource_List.foo {full}\n"),
        (("-N", "x", "abc"), 1, "qalter: illegally formed job identifier: abc\n"),
        (
            ("-l", "ncpus=2", full),
            5,
            f'qalter: "-lresource=" cannot be used with "select" or "place", resource is: ncpus {full}\n',
        ),
    ):
        assert says(site, "qalter", *words) == (code, text)
    code, text = says(site, "qalter", "-r", "x", full)
    assert (code, text.splitlines()[0]) == (2, "qalter: illegal -r value")
    assert "usage: qalter [-a date_time]" in text
    assert says(site, "qalter", "-p", "9999", full)[0] == 2
    assert says(site, "qalter")[0] == 2
    # one bad id does not stop the others, and of one command either all is done or nothing
    assert says(site, "qalter", "-N", "good", "999999", job)[0] == 153
    assert says(site, "qalter", "-N", "bad", "-l", "select=1:foo=1", job)[0] == 187
    assert site.attributes(job)["Job_Name"] == "good"
    site.run("qdel", job)
    assert says(site, "qalter", "-N", "x", full) == (35, f"qalter: Job has finished {full}\n")


def test_a_running_job_takes_little(site: Site) -> None:
    job = site.qsub("-l", "select=1:ncpus=1,walltime=00:10:00", stdin=LONG)
    full = f"{job}.{site.server}"
    site.wait_state(job, "R")
    late = (167, f"qalter: Cannot modify attribute while job running  Resource_List.select {full}\n")
    assert says(site, "qalter", "-l", "select=2", full) == late
    assert says(site, "qmove", "default", full) == (168, f"qmove: Request invalid for state of job {full}\n")
    pending = (1, f"Job is no longer pending execution for job {job}\n")
    assert says(site, "scontrol", "update", f"JobId={job}", "NumNodes=2") == pending
    assert says(site, "scontrol", "update", f"JobId={job}", "StartTime=now+1hour") == pending
    assert says(site, "qalter", "-N", "other", "-l", "walltime=00:05:00", full) == (0, "")
    found = site.attributes(job)
    assert (found["Job_Name"], found["Resource_List"]["walltime"]) == ("other", "00:05:00")
    more = ("-l", "walltime=00:30:00", full)
    if site.admin_env:  # who owns the job may only take time away
        assert says(site, "qalter", *more) == (159, f"qalter: Unauthorized Request  {full}\n")
        denied = (1, f"Access/permission denied for job {job}\n")
        assert says(site, "scontrol", "update", f"JobId={job}", "TimeLimit=30") == denied
    assert as_admin(site, "qalter", *more).returncode == 0
    assert site.attributes(job)["Resource_List"]["walltime"] == "00:30:00"
    assert says(site, "qalter", "-l", "walltime=00:00:05", full) == (0, "")
    assert site.wait_end(job, 60)["Exit_status"] == -29


def test_qmove(site: Site) -> None:
    job = site.qsub("-h", stdin=LONG)
    full = f"{job}.{site.server}"
    code, text = says(site, "qmove", "nosuchq", full)
    assert (code, text.splitlines()[0]) == (170, f"qmove: Unknown queue {full}")
    assert re.match(r"qmove: no queue nosuchq; there are: ([\w-]+, )*default", text.splitlines()[1])
    assert says(site, "qmove", "default", full) == (0, "")
    code, text = says(site, "qmove", full)
    assert (code, text) == (2, "usage: qmove destination job_identifier...\n       qmove --version\n")
    assert says(site, "qmove", "a b", full) == (2, "qmove: illegally formed destination: a b\n")
    site.run("qdel", job)


def test_qrerun(site: Site) -> None:
    job = site.qsub("-N", "again", "-j", "oe", stdin="echo run $PBS_JOBID\n" + LONG)
    once = site.qsub("-r", "n", stdin=LONG)
    held = site.qsub("-h", stdin=LONG)
    site.wait_state(job, "R")
    site.wait_state(once, "R")
    if site.admin_env:
        refused = (159, f"qrerun: Unauthorized Request  {job}.{site.server}\n")
        assert says(site, "qrerun", job) == refused
    for operand, code, text in (
        (once, 190, f"qrerun: job is not rerunnable {once}.{site.server}\n"),
        (held, 168, f"qrerun: Request invalid for state of job {held}.{site.server}\n"),
        ("999999", 153, f"qrerun: Unknown Job Id 999999.{site.server}\n"),
    ):
        done = as_admin(site, "qrerun", f"{operand}.{site.server}")
        assert (done.returncode, done.stderr) == (code, text)
    assert as_admin(site, "qrerun", f"{job}.{site.server}").returncode == 0
    site.run("qdel", held, once)
    wait_for("its second run", lambda: site.attributes(job)["run_count"] == 2)
    site.wait_state(job, "R")
    site.run("qdel", job)
    assert site.wait_end(job)["run_count"] == 2
    assert as_admin(site, "qrerun", f"{job}.{site.server}").returncode == 35


def test_holds_of_operators(site: Site) -> None:
    job = site.qsub("-h", stdin="true\n")
    full = f"{job}.{site.server}"
    if site.admin_env:
        for command in ("qhold", "qrls"):
            assert says(site, command, "-h", "os", full) == (159, f"{command}: Unauthorized Request  {full}\n")
    assert as_admin(site, "qhold", "-h", "os", full).returncode == 0
    assert site.attributes(job)["Hold_Types"] == "sou"
    assert squeue(site, job, "%t %r %Q") == "PD JobHeldAdmin 0"
    assert says(site, "qrls", full) == (0, "")
    assert site.attributes(job)["Hold_Types"] == "so"
    assert site.state(job) == "H"
    if site.admin_env:
        denied = "Access/permission denied"
        assert says(site, "scontrol", "release", job) == (1, f"{denied} for job {job}\nslurm_suspend error: {denied}\n")
    assert as_admin(site, "qrls", "-h", "so", full).returncode == 0
    assert site.wait_end(job)["Exit_status"] == 0


def test_scontrol_update(site: Site) -> None:
    job = site.sbatch("-H", "-n", "2", "-t", "10", "-o", "/dev/null", "--wrap", LONG)
    this = f"JobId={job}"
    assert says(site, "scontrol", "update", this, "TimeLimit=00:20:00", "JobName=renamed") == (0, "")
    assert squeue(site, job, "%j %l") == "renamed 20:00"
    assert says(site, "scontrol", "update", this, "TimeLimit+=5") == (0, "")
    assert says(site, "scontrol", "update", this, "TimeLimit=-10") == (0, "")
    assert squeue(site, job, "%l") == "15:00"
    # who may not raise a priority is told that first
    held = "Job is in held state, pending scheduler release"
    priority = "Changes to job priority are not persistent, change nice instead" if site.enter else held
    for words, text in (
        (("JobId=999999", "TimeLimit=1"), "Invalid job id specified for job 999999\n"),
        ((this, "Foo=1"), "Update of this parameter is not supported: Foo=1\nRequest aborted\n"),
        ((this,), "No changes specified\n"),
        ((this, "TimeLimit=x"), "scontrol: error: Invalid TimeLimit value\n"),
        ((this, "Partition=nosuch"), f"Invalid partition name specified for job {job}\n"),
        ((this, "Priority=7"), f"{priority} for job {job}\n"),
    ):
        assert says(site, "scontrol", "update", *words) == (1, text)
    more = (
        "NumNodes=2",
        "NumTasks=4",
        "MinMemoryNode=100",
        "Account=acc",
        "Comment=hi",
        "Nice=50",
        "StartTime=now+1hour",
    )
    assert says(site, "scontrol", "update", this, *more, "Requeue=0", "StdOut=%x.txt") == (0, "")
    shown = site.run("scontrol", "show", "job", job).stdout
    for part in (
        "Nice=50 Account=acc",
        "Requeue=0",
        "NumNodes=2-2 NumCPUs=4 NumTasks=4",
        "MinMemoryNode=100M",
        "Comment=hi",
        f"StdOut={site.work}/renamed.txt",
    ):
        assert part in shown
    assert says(site, "scontrol", "release", job) == (0, "")
    assert squeue(site, job, "%t %r") == "PD BeginTime"
    assert says(site, "scontrol", "update", this, "Priority=0") == (0, "")
    assert squeue(site, job, "%t %r %Q") == "PD JobHeldUser 0"
    site.run("scancel", job)
    assert says(site, "scontrol", "update", this, "TimeLimit=1") == (1, f"Job has already finished for job {job}\n")


def test_nice_and_priority_of_users(site: Site) -> None:
    """What a user may not do by sbatch and scontrol, kubectl does not do for him either."""
    job = site.sbatch("-H", "--nice=-5", "-o", "/dev/null", "--wrap", "true")
    assert squeue(site, job, "%y") == ("0" if site.enter else "-5")
    if site.enter:
        denied = (1, f"Access/permission denied for job {job}\n")
        assert says(site, "scontrol", "update", f"JobId={job}", "Nice=-5") == denied
        table = "custom-columns=A:.metadata.name,B:.status.jobId"
        rows = site.kubectl("get", "batchjobs", "--no-headers", "-o", table).stdout.splitlines()
        name = next(row.split()[0] for row in rows if row.split()[1] == job)
        for fields in ('{"nice": -5}', '{"priority": 4000}'):
            patch = f'{{"spec": {{"alteration": {{"id": "one", "fields": {fields}}}}}}}'
            code, text = says(site, "kubectl", "patch", "batchjob", name, "--type=merge", "-p", patch)
            assert code == 1
            assert "only who may change all jobs brings one forward" in text
        assert says(site, "scontrol", "update", f"JobId={job}", "Nice=5") == (0, "")
    site.run("scancel", job)


def test_requeue(site: Site) -> None:
    script = "echo $SLURM_RESTART_COUNT >>restarts\n" + LONG
    job = site.sbatch("-o", "again.out", "--open-mode=append", "--wrap", script)
    once = site.sbatch("--no-requeue", "-o", "/dev/null", "--wrap", LONG)
    site.wait_state(job, "R")
    site.wait_state(once, "R")
    for verb in ("requeue", "requeuehold"):
        assert says(site, "scontrol", verb, "999999") == (1, "Invalid job id specified for job 999999\n")
        disabled = (1, f"Requested operation is presently disabled for job {once}\n")
        assert says(site, "scontrol", verb, once) == disabled
    assert squeue(site, once, "%t") == "R"
    site.run("scancel", once)
    assert says(site, "scontrol", "requeuehold", job) == (0, "")
    wait_for("the job to be held", lambda: squeue(site, job, "%t %r") == "PD JobHeldUser")
    assert "Restarts=1" in site.run("scontrol", "show", "job", job).stdout
    assert says(site, "scontrol", "requeue", job) == (1, f"Job is pending execution for job {job}\n")
    assert says(site, "scontrol", "release", job) == (0, "")
    site.start_again_now(job)
    site.wait_state(job, "R")
    assert says(site, "scontrol", "requeue", job) == (0, "")
    site.start_again_now(job)
    wait_for("its third run", lambda: site.attributes(job).get("run_count") == 3)
    when = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
    line = rf"slurmstepd: error: \*\*\* JOB {job} ON \S+ CANCELLED AT {when} DUE TO JOB REQUEUE \*\*\*"
    assert re.search(line, site.read("again.out"))
    wait_for("what it wrote", lambda: site.written("restarts").split() == ["1", "2"])
    site.run("scancel", job)
    site.wait_end(job)


def test_a_run_that_volcano_restarts(site: Site) -> None:
    """PBS's output goes on in the same file, Slurm's begins anew; Slurm's script learns how often it was restarted."""
    text = "echo run ${SLURM_RESTART_COUNT:-none}\n" + LONG
    pbs = site.qsub("-N", "again", "-j", "oe", stdin=text)
    slurm = site.sbatch("-o", "slurm.out", stdin="#!/bin/sh\n" + text)
    running = site.running_output(pbs)

    def has_begun(output: str) -> bool:
        return says(site, "cat", output)[1] == "run none\n"

    for job, name in ((pbs, running), (slurm, "slurm.out")):
        wait_for(f"the first run of {job}", partial(has_begun, name))
        site.kubectl("delete", "pod", f"job-{job}-mpimaster-0", "--wait=false")
    wait_for("both runs in one file", lambda: says(site, "cat", running)[1].count("run none") == 2, 120)
    wait_for("the second run alone", lambda: site.written("slurm.out") == "run 1\n", 120)
    site.run("scancel", pbs, slurm)


@pytest.mark.parametrize("command", ["hold", "release", "suspend", "resume", "top"])
def test_scontrol_says_no_to_unknown_jobs(site: Site, command: str) -> None:
    for job in ("999999", "abc"):
        text = f"Invalid job id specified for job {job}\n"
        more = "slurm_suspend error: Invalid job id specified\n" if command in {"hold", "release"} else ""
        assert says(site, "scontrol", command, job) == (1, text + more)


def test_the_first_of_a_list_goes_to_the_top(site: Site) -> None:
    jobs = [site.sbatch("--begin=now+1hour", "--wrap", "true") for _ in range(4)]
    code, text = says(site, "scontrol", "top", f"{jobs[3]},{jobs[1]},{jobs[2]}")
    order = site.run("squeue", "-h", "-j", ",".join(jobs), "-S", "-p", "-o", "%i").stdout.split()
    site.run("scancel", *jobs)
    if code and "permission denied" in text.lower():
        pytest.skip("only who may change all jobs puts one before others")
    assert (code, text) == (0, "")
    assert order == [jobs[3], jobs[1], jobs[2], jobs[0]]


@pytest.mark.alone
def test_what_was_altered_is_what_runs(site: Site) -> None:
    """Of a job that waits for its pods, too: its Volcano Job is made anew or its runner told otherwise."""
    size = ("-l", "select=3:ncpus=2", "-l", "place=scatter")
    blocker = site.qsub(*size, stdin=LONG)
    site.wait_state(blocker, "R")
    text = "echo $PBS_JOBNAME; wc -l <$PBS_NODEFILE\n"
    job = site.qsub("-N", "before", *size, stdin=text)
    wait_for("it to wait", lambda: "comment" in site.attributes(job))
    site.run("qalter", "-N", "after", "-j", "oe", "-o", "altered.txt", job)
    site.run("qalter", "-l", "select=2:ncpus=1:mpiprocs=1", job)
    site.run("qdel", blocker)
    assert site.wait_end(job)["Exit_status"] == 0
    assert site.read("altered.txt").split() == ["after", "2"]


@pytest.mark.alone
def test_the_order_of_waiting_jobs(site: Site) -> None:
    """-p and --nice, and what qalter and scontrol update make of them: who has more starts first."""
    blocker = site.sbatch("-N", "3", "--ntasks-per-node=2", "-o", "/dev/null", "--wrap", LONG)
    site.wait_state(blocker, "R")

    def submit(name: str, *options: str) -> str:
        text = f"echo {name} >>{site.work}/order\n"
        return site.qsub(*options, "-l", "select=3:ncpus=2", "-N", name, "-j", "oe", stdin=text)

    text = f"echo nice >>{site.work}/order"
    nice = site.sbatch("-N", "3", "--ntasks-per-node=2", "--nice=100", "-o", "/dev/null", "--wrap", text)
    lowered, plain, raised = submit("lowered", "-p", "500"), submit("plain"), submit("raised", "-p", "-500")
    nicer = submit("nicer")
    site.run("qalter", "-p", "-900", lowered)
    site.run("qalter", "-p", "900", raised)
    site.run("scontrol", "update", f"JobId={nicer}", "Nice=50")
    assert squeue(site, nicer, "%y") == "50"
    site.run("scancel", blocker)
    for job in (raised, plain, nicer, nice, lowered):
        site.wait_end(job)
    assert site.read("order").split() == ["raised", "plain", "nicer", "nice", "lowered"]
