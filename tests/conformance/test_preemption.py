"""Running jobs that end for waiting ones: by QOS, by partition tier, by a PBS queue's Priority. Each case runs alone,
on nodes that it fills, and takes away again what it sets up.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterator

import pytest

from tests.conformance.operator import as_operator
from tests.conformance.site import Site
from tests.conformance.site_file import SYSTEM, configure, configured, set_line
from tests.waiting import wait_for

pytestmark = pytest.mark.alone

ALL = ("-N", "3", "-c", "2")
"""All CPUs of the three nodes."""
COUNTS = "echo begun; while [ ! -e go ]; do sleep 0.2; done; echo done"
UNTIL_END = "while [ ! -e end ]; do sleep 0.2; done"
TELLS = 'trap "echo got TERM" TERM; echo begun; srun sleep 600 & wait; wait; sleep 600'


@pytest.fixture
def admin(site: Site) -> Iterator[Site]:
    before = configured(site)
    yield site
    site.close()
    configure(site, before)


@pytest.fixture
def low_and_high(admin: Site) -> Iterator[tuple[str, str]]:
    """Two qualities of service; the second preempts the first."""
    tag = secrets.token_hex(3)
    low, high = f"low{tag}", f"high{tag}"
    sacctmgr(admin, f"-i add qos {low} priority=1")
    sacctmgr(admin, f"-i add qos {high} priority=9 Preempt={low}")
    yield low, high
    admin.close()
    admin.kubectl(*SYSTEM, "delete", "configmap", "hpcbatch-accounts", "--ignore-not-found")


@pytest.fixture
def sched(admin: Site) -> Iterator[Callable[[str], str]]:
    """`set sched …`, by which what is in force afterwards is listed."""

    def change(words: str) -> str:
        as_operator(admin, "qmgr", "-c", f"set sched {words}")
        return as_operator(admin, "qmgr", "-c", "list sched").stdout

    yield change
    as_operator(admin, "qmgr", "-c", "unset sched preempt_order")


@pytest.fixture
def part(admin: Site) -> Iterator[str]:
    """A partition on all nodes."""
    name = f"p{secrets.token_hex(3)}"
    as_operator(admin, "scontrol", "create", f"PartitionName={name}", "Nodes=ALL")
    yield name
    admin.close()
    deleted = ("scontrol", "delete", f"PartitionName={name}")
    wait_for("it is empty", lambda: as_operator(admin, *deleted, check=False).stderr[-10:] != "is in use\n")


def sacctmgr(site: Site, words: str) -> str:
    return as_operator(site, "sacctmgr", *words.split()).stdout


def preempt_by(site: Site, words: str) -> None:
    """`qos, mode: requeue`, once it is in force."""
    set_line(site, f"preemption: {{type: {words}}}")
    line = f"PreemptType             = preempt/{words.partition(',')[0]}\n"
    wait_for("the site's file", lambda: line in site.run("scontrol", "show", "config").stdout)


def shown(site: Site, job: str) -> dict[str, str]:
    text = site.run("scontrol", "-o", "show", "job", job).stdout
    return dict(word.split("=", 1) for word in text.split() if "=" in word)


def squeue(site: Site, job: str) -> str:
    return site.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%t %r").stdout.strip()


def sacct(site: Site, job: str) -> list[str]:
    return site.run("sacct", "-D", "-X", "-n", "-P", "-j", job, "-o", "State,ExitCode").stdout.split()


def wait_to_start(site: Site, job: str) -> None:
    wait_for(f"job {job} starts", lambda: squeue(site, job).split()[0] in {"R", "CG", "CD"}, 90)


@pytest.mark.slow
def test_by_qos_a_job_is_queued_again(admin: Site, low_and_high: tuple[str, str]) -> None:
    low, high = low_and_high
    preempt_by(admin, "qos, mode: requeue")
    config = admin.run("scontrol", "show", "config").stdout
    assert "PreemptMode             = REQUEUE\n" in config
    assert "PreemptExemptTime       = 00:00:00\n" in config
    assert admin.run("sinfo", "-h", "-o", "%M").stdout.split()[0] == "REQUEUE"
    victim = admin.sbatch(*ALL, "-q", low, "-o", "victim.out", "--wrap", TELLS)
    admin.wait_state(victim, "R")
    wait_for("its script", lambda: "begun" in admin.written("victim.out"))
    assert re.match(r"\d{4}-", shown(admin, victim)["PreemptEligibleTime"])
    assert shown(admin, victim)["PreemptTime"] == "None"
    assert admin.run("squeue", "-h", "-j", victim, "-O", "PreemptTime").stdout.split() == ["N/A"]
    other = admin.sbatch("-N", "1", "-q", low, "-o", "/dev/null", "--wrap", "true")
    told = admin.run("sbatch", "--test-only", "-N", "1", "-q", high, "--wrap", "true").stderr
    start = time.mktime(time.strptime(told.split(" to start at ")[1].split()[0], "%Y-%m-%dT%H:%M:%S"))
    assert start < time.time() + 30
    assert told.splitlines()[1:] == [f"sbatch:   Preempts: {victim}"]
    taker = admin.sbatch("-N", "1", "-q", high, "-o", "/dev/null", "--wrap", "sleep 20")
    wait_to_start(admin, taker)
    assert wait_for("its state", lambda: "BeginTime" in (text := squeue(admin, victim)) and text) == "PD BeginTime"
    assert shown(admin, victim)["Restarts"] == "1"
    assert "PreemptTime" not in shown(admin, victim)
    assert sacct(admin, victim) == ["PREEMPTED|0:0", "PENDING|0:0"]
    assert f"*** JOB {victim} ON " in admin.read("victim.out")
    assert " DUE TO PREEMPTION ***" in admin.read("victim.out")
    assert f"For it were preempted: {victim}." in admin.run("hpcbatch", "why", taker).stdout
    assert f"it was preempted for job {taker}" in admin.run("hpcbatch", "why", victim).stdout
    assert f"preempted for job {taker}" in admin.run("tracejob", victim).stdout
    wait_for("the job that yields to nobody ends", lambda: squeue(admin, other).startswith("CD"), 90)
    admin.start_again_now(victim)
    wait_for("the victim runs again", lambda: squeue(admin, victim).startswith("R"), 90)


@pytest.mark.slow
def test_by_qos_a_job_is_cancelled_after_its_grace_time(admin: Site, low_and_high: tuple[str, str]) -> None:
    low, high = low_and_high
    preempt_by(admin, "qos, mode: requeue")
    sacctmgr(admin, f"-i modify qos {low} set PreemptMode=cancel GraceTime=8")
    assert sacctmgr(admin, f"-nP show qos {low} format=preemptmode,gracetime") == "cancel|00:00:08\n"
    steps = "srun sh -c 'trap \"echo step TERM\" TERM; while :; do sleep 1; done'"
    victim = admin.sbatch(*ALL, "-q", low, "-o", "victim.out", "--wrap", f"echo up; {steps}; sleep 600")
    admin.wait_state(victim, "R")
    wait_for("its step", lambda: "RUNNING" in admin.run("sacct", "-n", "-P", "-j", f"{victim}.0", "-o", "State").stdout)
    taker = admin.sbatch("-N", "1", "-q", high, "-o", "/dev/null", "--wrap", "true")
    wait_for("it was chosen", lambda: shown(admin, victim).get("PreemptTime", "None") != "None")
    found = shown(admin, victim)
    assert found["JobState"] == "RUNNING"
    times = [time.mktime(time.strptime(found[name], "%Y-%m-%dT%H:%M:%S")) for name in ("PreemptTime", "EndTime")]
    assert times[1] - times[0] == 8
    listed = admin.run("squeue", "-h", "-j", victim, "-O", "PreemptTime").stdout.split()
    assert listed == [found["PreemptTime"]]
    told = admin.run("hpcbatch", "why", victim).stdout
    assert f"It was chosen to make room for job {taker}, and is ended 20" in told
    wait_for("TERM in the step", lambda: "step TERM" in admin.written("victim.out"))
    assert squeue(admin, taker).startswith("PD ")
    admin.wait_end(victim)
    assert squeue(admin, victim) == "PR None"
    assert sacct(admin, victim) == ["PREEMPTED|0:0"]
    assert shown(admin, victim)["JobState"] == "PREEMPTED"
    wait_for("the other ends", lambda: squeue(admin, taker).startswith("CD"), 90)


@pytest.mark.slow
def test_by_qos_a_job_is_suspended(admin: Site, low_and_high: tuple[str, str]) -> None:
    """The other one runs on its CPUs meanwhile; then it goes on, and ends as if nothing had been."""
    low, high = low_and_high
    preempt_by(admin, "qos, mode: suspend")
    victim = admin.sbatch(*ALL, "-q", low, "-o", "victim.out", "--wrap", COUNTS)
    wait_for("its script", lambda: "begun" in admin.written("victim.out"), 90)
    script = f"echo here; srun sh -c '{UNTIL_END}'"
    taker = admin.sbatch("-N", "1", "-c", "2", "-q", high, "-o", "taker.out", "--wrap", script)
    wait_for("the other one's script", lambda: "here" in admin.written("taker.out"), 90)
    assert squeue(admin, victim).startswith("S ")
    assert shown(admin, victim)["JobState"] == "SUSPENDED"
    told = admin.run("hpcbatch", "why", victim).stdout
    assert f"It is suspended for job {taker}" in told
    (admin.work / "end").touch()
    admin.wait_end(taker)
    wait_for("the victim goes on", lambda: squeue(admin, victim).startswith("R "), 90)
    (admin.work / "go").touch()
    admin.wait_end(victim)
    assert admin.read("victim.out") == "begun\ndone\n"
    assert sacct(admin, victim) == ["COMPLETED|0:0"]
    assert "PreemptTime" not in shown(admin, victim) or shown(admin, victim)["Restarts"] == "0"


def test_a_job_that_could_not_start_ends_none(admin: Site, low_and_high: tuple[str, str]) -> None:
    low, high = low_and_high
    preempt_by(admin, "qos, mode: requeue, exemptTime: 1h")
    stays = admin.sbatch("-N", "1", "-c", "2", "-q", low, "-o", "/dev/null", "--wrap", "sleep 600")
    admin.wait_state(stays, "R")
    wide = admin.sbatch(*ALL, "-q", high, "-o", "/dev/null", "--wrap", "true")
    wait_for("its reason", lambda: squeue(admin, wide) == "PD Resources")
    assert squeue(admin, stays).startswith("R ")
    preempt_by(admin, "qos, mode: off")
    too_wide = admin.sbatch("-N", "3", "-c", "2", "-q", low, "-o", "/dev/null", "--wrap", "true")
    wait_for("its reason", lambda: squeue(admin, too_wide).startswith("PD "))
    assert squeue(admin, stays).startswith("R ")


@pytest.mark.slow
def test_by_partition(admin: Site, part: str) -> None:
    """A tier that is not higher preempts nobody; one that is does."""
    preempt_by(admin, "partition_prio, mode: suspend")
    assert "PreemptMode             = GANG,SUSPEND\n" in admin.run("scontrol", "show", "config").stdout
    preempt_by(admin, "partition_prio, mode: requeue")
    as_operator(admin, "scontrol", "update", f"PartitionName={part}", "GraceTime=3", "PreemptMode=requeue")
    text = admin.run("scontrol", "-o", "show", "partition", part).stdout
    assert " GraceTime=3 " in text
    assert " PreemptMode=REQUEUE " in text
    assert admin.run("sinfo", "-h", "-p", part, "-o", "%M").stdout == "REQUEUE\n"
    for words, said in (
        ("PreemptMode=bad", "scontrol: error: Invalid input: PreemptMode=bad\nslurm_update error: No error\n"),
        ("GraceTime=bad", "scontrol: error: Invalid GraceTime value: bad\nslurm_update error: No error\n"),
    ):
        done = as_operator(admin, "scontrol", "update", f"PartitionName={part}", words, check=False)
        assert (done.returncode, done.stderr) == (1, said)
    victim = admin.sbatch(*ALL, "-o", "/dev/null", "--wrap", "sleep 600")
    admin.wait_state(victim, "R")
    taker = admin.sbatch("-p", part, "-N", "1", "-o", "/dev/null", "--wrap", "sleep 5")
    wait_for("its reason", lambda: squeue(admin, taker).startswith("PD Resources"))
    as_operator(admin, "scontrol", "update", f"PartitionName={part}", "PriorityTier=10")
    wait_to_start(admin, taker)
    wait_for("the victim waits", lambda: squeue(admin, victim) == "PD BeginTime")
    assert sacct(admin, victim)[0] == "PREEMPTED|0:0"


@pytest.mark.slow
def test_by_a_queues_priority_a_job_is_suspended(admin: Site, part: str) -> None:
    """Nothing is set but the queue's Priority. Also what must not run twice makes room, and goes on afterwards."""
    listed = as_operator(admin, "qmgr", "-c", "list sched").stdout
    assert "    preempt_queue_prio = 150\n" in listed
    assert "    preempt_order = SCR\n" in listed
    as_operator(admin, "qmgr", "-c", f"set queue {part} Priority = 150")
    all_nodes, to = ("-l", "select=3:ncpus=2", "-r", "n"), ("-j", "oe", "-o", "victim.out")
    victim = admin.qsub(*all_nodes, *to, stdin=f"cd {admin.work}\n{COUNTS}\n")
    admin.wait_state(victim, "R")
    begun = wait_for("its nodes", lambda: admin.attributes(victim).get("exec_vnode"), 90)
    one = ("-l", "select=1:ncpus=2", "-j", "oe", "-o", "/dev/null")
    taker = admin.qsub("-q", part, *one, stdin=f"cd {admin.work}\n{UNTIL_END}\n")
    wait_for("the other runs", lambda: admin.state(taker) in "REF", 90)
    shown = admin.attributes(victim)
    assert (shown["job_state"], shown["substate"], shown["exec_vnode"]) == ("S", 45, begun)
    assert re.search(rf"^{victim}\.\S+ .* S ", admin.run("qstat", victim).stdout, re.MULTILINE)
    assert f"It is suspended for job {taker}" in admin.run("hpcbatch", "why", victim).stdout
    (admin.work / "end").touch()
    admin.wait_end(taker)
    admin.wait_state(victim, "R", 90)
    (admin.work / "go").touch()
    admin.wait_end(victim)
    assert admin.read("victim.out") == "begun\ndone\n"
    assert admin.attributes(victim)["run_count"] == 1
    told = admin.run("tracejob", victim).stdout
    for text in ("suspend job by Scheduler@", f"preempted by suspension, for job {taker}", "resume job by Scheduler@"):
        assert text in told


def test_by_a_queues_priority(admin: Site, part: str, sched: Callable[[str], str]) -> None:
    """The first of the site's methods that a job allows: what must not run twice goes on; the youngest of the others is
    queued again."""
    one = ("-l", "select=1:ncpus=2", "-o", "/dev/null", "-j", "oe")
    for words in ("preempt_order = XR", "preempt_order = 'SCR 80 RR'", "preempt_queue_prio = 0"):
        done = as_operator(admin, "qmgr", "-c", f"set sched {words}", check=False)
        assert f"Illegal attribute or resource value  {words.partition(' ')[0]}" in done.stderr
    listed = sched("preempt_order = 'CR 80 R'")
    assert "    preempt_order = CR 80 R\n" in listed
    assert 'set sched preempt_order = "CR 80 R"\n' in as_operator(admin, "qmgr", "-c", "print sched").stdout
    for value in ("1024", "x"):
        done = as_operator(admin, "qmgr", "-c", f"set queue {part} Priority = {value}", check=False)
        assert "Illegal attribute or resource value  Priority" in done.stderr
    as_operator(admin, "qmgr", "-c", f"set queue {part} Priority = 149")
    old, young = [started(admin, *one) for _ in range(2)]
    once = started(admin, *one, "-r", "n")
    taker = admin.qsub("-q", part, *one, stdin="sleep 5\n")
    wait_for("its reason", lambda: admin.attributes(taker)["comment"].startswith("Not Running: "))
    assert [admin.state(job) for job in (old, young, once)] == ["R", "R", "R"]
    as_operator(admin, "qmgr", "-c", f"set queue {part} Priority = 150")
    assert "    Priority = 150\n" in admin.run("qstat", "-Qf", part).stdout
    wait_for("it starts", lambda: admin.state(taker) in "REF", 90)
    assert [admin.state(job) for job in (old, once)] == ["R", "R"]
    admin.wait_end(taker)
    wait_for("the victim runs again", lambda: admin.attributes(young).get("run_count") == 2, 90)
    assert f"preempted for job {taker}" in admin.run("tracejob", young).stdout
    admin.run("qdel", old, young, once)


def started(site: Site, *options: str) -> str:
    job = site.qsub(*options, stdin="sleep 600\n")
    site.wait_state(job, "R")
    return job
