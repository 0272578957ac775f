"""LSF's commands that change jobs and show the cluster."""

from __future__ import annotations

import json

from tests.conformance.site import Site
from tests.conformance.test_lsf import bsub
from tests.waiting import wait_for


def stat(site: Site, job: str) -> str:
    return site.run("bjobs", "-noheader", "-o", "stat:", job).stdout.strip()


def test_stop_resume_and_modify_a_waiting_job(site: Site) -> None:
    job = bsub(site, "-H", "-J", "before", "-n", "2", "-o", "/dev/null", "sleep 300")
    assert stat(site, job) == "PSUSP"
    changed = site.run("bmod", "-J", "after", "-W", "0:10", "-R", "span[ptile=1]", "-q", "default", "-Jd", "text", job)
    assert changed.stdout == f"Parameters of job <{job}> are being changed\n"
    fields = "job_name runtimelimit slots combined_resreq job_description delimiter=,"
    assert site.run("bjobs", "-noheader", "-o", fields, job).stdout == "after,10.0,2,span[ptile=1],text\n"
    site.run("bmod", "-Wn", "-n", "1", job)
    assert site.run("bjobs", "-noheader", "-o", fields, job).stdout == "after,-,1,span[ptile=1],text\n"
    wrong = site.run("bmod", "-W", "x", job, check=False)
    assert (wrong.returncode, wrong.stdout) == (255, "")
    assert wrong.stderr == f"Job <{job}>: -W x: Bad RUNLIMIT specification: expected [hours:]minutes\n"
    fixed = site.run("bmod", "-oo", "x", "-K", job, check=False)
    assert (fixed.returncode, fixed.stderr) == (255, "bmod: -K cannot be changed here: submit the job anew\n")
    assert site.run("bswitch", "default", job).stdout == f"Job <{job}> is switched to queue <default>\n"
    nowhere = site.run("bswitch", "nowhere", job, check=False)
    assert (nowhere.returncode, nowhere.stderr) == (255, "nowhere: No such queue\n")
    assert site.run("bresume", job).stdout == f"Job <{job}> is being resumed\n"
    site.wait_state(job, "R")
    late = site.run("bmod", "-n", "2", job, check=False)
    assert (late.returncode, late.stderr) == (255, f"Job <{job}>: Job has already started\n")
    site.run("bkill", job)


def test_only_what_the_options_choose_is_ended(site: Site) -> None:
    one = bsub(site, "-H", "-app", "fluent", "-g", "/risk", "-o", "/dev/null", "true")
    other = bsub(site, "-H", "-app", "abaqus", "-o", "/dev/null", "true")
    nothing = site.run("bkill", "-app", "fluent", "-g", "/none", "0", check=False)
    assert (nothing.returncode, nothing.stderr) == (255, "No matching job found\n")
    assert site.run("bkill", "-app", "fluent", "-g", "/risk", "0").stdout == f"Job <{one}> is being terminated\n"
    assert stat(site, other) == "PSUSP"
    site.run("bkill", other)


def test_modify_an_array(site: Site) -> None:
    job = bsub(site, "-H", "-J", "many[1-3]", "-o", "/dev/null", "true")
    site.run("bmod", "-J", "%1", job)
    assert "many[1-3]" in site.run("bjobs", "-A", job).stdout
    site.run("bmod", "-Jd", "one", f"{job}[2]")
    shown = site.run("bjobs", "-noheader", "-o", "jobindex job_description delimiter=:", job).stdout.split()
    assert shown == ["1:-", "2:one", "3:-"]
    site.run("bkill", job)


def test_peek_and_requeue(site: Site) -> None:
    job = bsub(site, "-oo", "o", 'echo "run $LSB_RESTART"; sleep 300')
    early = site.run("bpeek", "999999", check=False)
    assert (early.returncode, early.stderr) == (255, "Job <999999> is not found\n")
    site.wait_state(job, "R")

    def peeked() -> str:
        return site.run("bpeek", job, check=False).stdout

    wait_for("the job's first output", lambda: peeked() == "<< output from stdout >>\nrun N\n")
    assert site.run("brequeue", job).stdout == f"Job <{job}> is being requeued\n"
    wait_for("its second run", lambda: peeked().endswith("run Y\n"))
    history = site.run("bhist", "-l", job).stdout
    assert "Job has been requeued" in history
    site.run("bkill", job)


def test_order_of_waiting_jobs(site: Site) -> None:
    jobs = [bsub(site, "-H", "-J", name, "-o", "/dev/null", "true") for name in ("a", "b", "c")]
    top = site.run("btop", jobs[2])
    assert top.stdout == f"Job <{jobs[2]}> has been moved to position 1 from top.\n"
    bottom = site.run("bbot", jobs[0])
    assert bottom.stdout == f"Job <{jobs[0]}> has been moved to position 1 from bottom.\n"
    site.run("bkill", *jobs)
    done = site.run("btop", jobs[0], check=False)
    assert done.returncode == 255
    assert done.stderr.startswith(f"Job <{jobs[0]}>: Job has already finished")


def test_history_and_accounting(site: Site) -> None:
    job = bsub(site, "-J", "ended", "-o", "/dev/null", "exit 2")
    site.wait_end(job)
    line = site.run("bhist", "-n", "0", job).stdout.splitlines()[2].split()
    assert (line[0], line[2], len(line)) == (job, "ended", 10)
    account = site.run("bacct", job).stdout
    assert " Total number of done jobs:        0      Total number of exited jobs:       1\n" in account
    assert f"Job <{job}>, Job Name <ended>" in site.run("bacct", "-l", job).stdout
    none = site.run("bacct", "999999", check=False)
    assert (none.returncode, none.stderr) == (255, "Job <999999> is not found\n")


def test_the_cluster(site: Site) -> None:
    job = bsub(site, "-n", "2", "-R", "span[hosts=1]", "-o", "/dev/null", "sleep 300")
    site.wait_state(job, "R")
    queues = site.run("bqueues", "default").stdout.splitlines()
    assert queues[0] == "QUEUE_NAME      PRIO STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN  SUSP"
    assert queues[1].split()[2] == "Open:Active"
    assert "QUEUE: default\n" in site.run("bqueues", "-l", "default").stdout
    unknown = site.run("bqueues", "nowhere", check=False)
    assert (unknown.returncode, unknown.stderr) == (255, "nowhere: No such queue\n")
    node = site.run("bjobs", "-noheader", "-o", "first_host:", job).stdout.strip()
    found = json.loads(site.run("bhosts", "-json", "-o", "host_name run max", node).stdout)
    assert found["RECORDS"][0]["HOST_NAME"] == node
    assert int(found["RECORDS"][0]["RUN"]) >= 2
    assert site.run("bhosts", node).stdout.splitlines()[1].split()[:2][0] == node
    assert site.run("lshosts", node).stdout.splitlines()[1].split()[0] == node
    assert site.run("lsload", node).stdout.splitlines()[1].split()[:2] == [node, "ok"]
    assert f"My cluster name is {site.server}\n" in site.run("lsid").stdout
    assert site.run("bparams").stdout.startswith("Default Queues:  default\n")
    owner = str(site.attributes(job)["Job_Owner"]).partition("@")[0]
    assert site.run("busers").stdout.splitlines()[1].split()[0] == owner
    site.run("bkill", job)
