"""Failures told truly, in both dialects: what happened, where, and whether the job runs again."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from tests.conformance.site import Site
from tests.waiting import wait_for

KILL_SSHD = """
for p in /proc/[0-9]*; do
  case $(tr '\\0' ' ' <$p/cmdline 2>/dev/null) in
    *sshd*-D*) kill ${p#/proc/} ;;
  esac
done
"""
"""In a pod: end the daemon that lets the others in."""


HOG = "(head -c 300000000 /dev/zero; for i in $(seq 30); do sleep 1; echo || exit; done) | tail"
"""A shell's words: tail keeps 300 MB until the other side ends, which it does within a second of tail's end."""


def slurm(site: Site, job: str, fields: str) -> str:
    """Some fields of `sacct` as `a|b`."""
    return site.run("sacct", "-X", "-n", "-P", "-j", job, "-o", fields).stdout.strip()


def shown(site: Site, job: str) -> dict[str, str]:
    """`scontrol show job`, as far as its words are NAME=VALUE."""
    text = site.run("scontrol", "show", "job", job).stdout
    return dict(word.partition("=")[::2] for word in text.split())


EXITS = [
    ("exit 3", 3, "and failed", "FAILED", "NonZeroExitCode", "3:0"),
    ("kill -9 $$", 265, "and failed", "FAILED", "JobLaunchFailure", "0:9"),
    ("kill -15 $$", 271, "and failed", "FAILED", "JobLaunchFailure", "0:15"),
    ("kill -11 $$", 267, "and failed", "FAILED", "JobLaunchFailure", "0:11"),
]


def test_exit_codes_and_signals_reach_every_listing(site: Site) -> None:
    jobs = [
        (site.qsub("-j", "oe", stdin=f"{script}\n"), site.sbatch("-o", "/dev/null", "--wrap", script))
        for script, *_ in EXITS
    ]
    for (script, status, comment, state, reason, code), (pbs, other) in zip(EXITS, jobs, strict=True):
        record = site.wait_end(pbs)
        assert (record["Exit_status"], record["substate"]) == (status, 93), script
        assert record["comment"].endswith(f") {comment}"), script
        site.wait_end(other)
        found = shown(site, other)
        assert (found["JobState"], found["Reason"], found["ExitCode"]) == (state, reason, code), script
        assert slurm(site, other, "state,exitcode") == f"{state}|{code}"


def test_more_memory_than_asked_for(site: Site) -> None:
    pbs = site.qsub("-l", "select=1:ncpus=1:mem=64mb", "-j", "oe", stdin=f"{HOG}\n")
    other = site.sbatch("--mem=64", "-o", "/dev/null", "--wrap", HOG)
    record = site.wait_end(pbs)
    assert record["Exit_status"] == -27
    assert record["comment"].endswith(") and exceeded resource mem")
    site.wait_end(other)
    found = shown(site, other)
    assert (found["JobState"], found["Reason"], found["ExitCode"]) == ("OUT_OF_MEMORY", "OutOfMemory", "0:125")
    assert slurm(site, other, "state,exitcode") == "OUT_OF_MEMORY|0:125"


def test_more_memory_than_asked_for_on_another_host(site: Site) -> None:
    hog = f"ssh {{}} '{HOG}'; exit {{}}"
    pbs = site.qsub(
        "-l", "select=2:ncpus=1:mem=64mb", "-j", "oe", stdin=hog.format("$(sort -u $PBS_NODEFILE | tail -n 1)", 3)
    )
    borne = hog.format("$(echo $SLURM_JOB_NODELIST | sed 's/.*,//')", 0)
    other = site.sbatch("--mem=64", "-N", "2", "-o", "/dev/null", "--wrap", borne)
    assert site.wait_end(pbs)["Exit_status"] == -27
    site.wait_end(other)
    assert slurm(site, other, "state,exitcode") == "OUT_OF_MEMORY|0:125"  # whatever the script makes of it
    for job in (pbs, other):
        text = site.run("scontrol", "show", "job", job).stdout
        assert re.search(rf"SystemComment=pod job-{job}-mpiworker-0 on node \S+ was out of memory", text)


def lose_pod(site: Site, job: str, index: int, *, evict: bool = False) -> str:
    """Take a running job's pod away from it; the node it was on."""
    site.wait_state(job, "R")
    name = f"job-{job}-mpimaster-0" if index == 0 else f"job-{job}-mpiworker-{index - 1}"
    node = site.kubectl("get", "pod", name, "-o", "jsonpath={.spec.nodeName}").stdout
    if evict:
        body = (
            '{"apiVersion": "policy/v1", "kind": "Eviction", '
            f'"metadata": {{"name": "{name}", "namespace": "{site.namespace}"}}}}'
        )
        (site.work / "eviction").write_text(body)
        path = f"/api/v1/namespaces/{site.namespace}/pods/{name}/eviction"
        site.kubectl("create", "--raw", path, "-f", str(site.work / "eviction"))
    else:
        site.kubectl("delete", "pod", name, "--wait=false")
    return f"pod {name} on node {node}"


def test_a_lost_pod_ends_a_job_that_may_not_run_again(site: Site) -> None:
    pbs = site.qsub("-r", "n", "-l", "select=2:ncpus=1", "-j", "oe", stdin="sleep 600\n")
    other = site.sbatch("--no-requeue", "-N", "2", "-o", "/dev/null", "--wrap", "sleep 600")
    lost = lose_pod(site, pbs, 1)
    taken = lose_pod(site, other, 1, evict=True)
    record = site.wait_end(pbs)
    # a kubelet may lose sight of a container that was deleted right after its start
    whys = [f"{lost} was {why}; not rerunnable" for why in ("deleted by somebody else", "lost")]
    assert any(why in record["comment"] for why in whys), record["comment"]
    assert record["Exit_status"] == -20
    assert record["run_count"] == 1
    site.wait_end(other)
    found = shown(site, other)
    assert (found["JobState"], found["Reason"], found["Restarts"]) == ("NODE_FAIL", "NodeDown", "0")
    assert f"{taken} was lost; not rerunnable" in site.attributes(other)["comment"]
    assert (
        f"\n   SystemComment={taken} was lost; not rerunnable \n" in site.run("scontrol", "show", "job", other).stdout
    )


def test_a_host_that_goes_under_an_mpirun_is_named(site: Site) -> None:
    """mpirun may see it first, and the script fails before anybody ends it."""
    site.script("kill_sshd", KILL_SSHD)
    ranks = "mpirun sh -c 'touch {0}.$(hostname); sleep 600'\n"
    killer = "(until [ -e go ]; do sleep 0.2; done; ssh $(sort -u $PBS_NODEFILE | tail -n 1) sh $PWD/kill_sshd) &\n"
    wants = ("-l", "select=2:ncpus=1:mpiprocs=1", "-j", "oe")
    cd = f"cd {site.work}\n"
    deleted = site.qsub("-r", "n", *wants, stdin=cd + ranks.format("deleted"))
    failed = site.qsub("-r", "n", *wants, stdin=cd + killer + ranks.format("failed"))
    wait_for("all ranks", lambda: len([*site.work.glob("deleted.*"), *site.work.glob("failed.*")]) == 4, 60)
    (site.work / "go").touch()
    lost = lose_pod(site, deleted, 1)
    record = site.wait_end(deleted)
    whys = [f"{lost} was {why}; not rerunnable" for why in ("deleted by somebody else", "lost")]
    assert any(why in record["comment"] for why in whys), record["comment"]
    assert record["Exit_status"] == -20
    record = site.wait_end(failed)
    host = f"job-{failed}-mpiworker-0"
    assert f"pod {host} failed: sshd on {host} has ended" in record["comment"]
    assert record["Exit_status"] == -1


def test_a_lost_pod_makes_a_job_run_again(site: Site) -> None:
    pbs = site.qsub("-r", "y", "-l", "select=2:ncpus=1", "-j", "oe", stdin="sleep 600\n")
    other = site.sbatch("--requeue", "-N", "2", "-o", "/dev/null", "--wrap", "sleep 600")
    lose_pod(site, pbs, 1)
    lose_pod(site, other, 0, evict=True)

    def runs(job: str) -> Any:
        record = site.attributes(job)
        return record["job_state"] == "R" and record.get("run_count") == 2

    for job in (pbs, other):
        wait_for(f"job {job} to run again", partial(runs, job), 90)
    assert shown(site, other)["Restarts"] == "1"
    assert site.run("squeue", "-h", "-j", other, "-O", "restartcnt:2,requeue:2").stdout == "1 1 \n"
    site.run("qdel", pbs)
    site.run("scancel", other)
    site.wait_end(pbs)
    site.wait_end(other)


def preempt(site: Site, job: str) -> str:
    """Take a running job's worker away from it as Volcano does for one of more weight: conditions, then a deletion."""
    site.wait_state(job, "R")
    name = f"job-{job}-mpiworker-0"
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "volcano"}
    patch = json.dumps({"status": {"conditions": [condition]}})
    site.kubectl("patch", "pod", name, "--subresource=status", "--type=strategic", "-p", patch)
    node = site.kubectl("get", "pod", name, "-o", "jsonpath={.spec.nodeName}").stdout
    site.kubectl("delete", "pod", name, "--wait=false")
    return f"pod {name} on node {node} was preempted for a job of more weight"


def test_preemption(site: Site) -> None:
    stays = site.sbatch("--no-requeue", "-N", "2", "-o", "/dev/null", "--wrap", "sleep 600")
    again = site.sbatch("--requeue", "-N", "2", "-o", "/dev/null", "--wrap", "sleep 600")
    why = preempt(site, stays)
    preempt(site, again)
    record = site.wait_end(stays)
    assert f"{why}; not rerunnable" in record["comment"]
    found = shown(site, stays)
    assert (found["JobState"], found["ExitCode"]) == ("PREEMPTED", "0:0")
    assert slurm(site, stays, "state,exitcode") == "PREEMPTED|0:0"
    wait_for("the second run", lambda: shown(site, again)["Restarts"] == "1" and site.state(again) == "R", 90)
    site.run("scancel", again)
    site.wait_end(again)


def test_a_gang_does_not_run_on_with_a_host_short(site: Site) -> None:
    """The ssh daemon of one host dies: no rank could be started there any more."""
    site.script("kill_sshd", KILL_SSHD)
    job = site.qsub(
        "-l",
        "select=2:ncpus=1",
        "-j",
        "oe",
        stdin=f"ssh $(sort -u $PBS_NODEFILE | tail -n 1) sh {site.work}/kill_sshd; sleep 600\n",
    )
    record = site.wait_end(job, 60)
    assert re.search(r"pod job-\d+-mpiworker-0 failed: sshd on job-\d+-mpiworker-0 has ended", record["comment"])
    assert record["Exit_status"] == -1


def test_what_keeps_a_script_from_starting(site: Site) -> None:
    site.script("strange", "#!/nosuch/interpreter\ntrue\n")
    other = site.sbatch("-o", "/dev/null", "strange")
    site.wait_end(other)
    found = shown(site, other)
    assert (found["JobState"], found["Reason"]) == ("FAILED", "JobLaunchFailure")
    assert "/nosuch/interpreter" in site.attributes(other)["comment"]
    assert "/nosuch/interpreter" in slurm(site, other, "systemcomment")
    done = site.run("sbatch", "--wait", "--parsable", "-o", "/dev/null", "strange", check=False)
    assert done.returncode != 0


def test_who_waits_for_a_job_that_lost_its_pod_does_not_get_0(site: Site) -> None:
    site.script("long", "#!/bin/sh\nsleep 600\n")
    command = "sbatch --wait --no-requeue --parsable -o /dev/null long >number & wait $!; echo $? >code"
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(site.run, "sh", "-c", command)
        job = wait_for("the number", lambda: (site.work / "number").exists() and site.read("number").strip())
        lose_pod(site, job, 0)
        ended.result(90)
    assert site.read("code") == "1\n"


FORGERY = """#!/bin/sh
printf 'exit_code=0\\nwalltime_s=0\\ncpu_s=99999999\\nmax_rss_bytes=99999999999999\\n' >forged
(setsid sh -c 'while :; do cat forged >/dev/termination-log; sleep 0.05; done' >/dev/null 2>&1 &)
sleep 0.5
for process in /proc/[0-9]*; do
  case $(tr '\\000' ' ' <$process/cmdline) in */runner/run.sh*) kill -9 ${process#/proc/} ;; esac
done
sleep 2
exit 7
"""


def test_a_script_that_forges_its_end(site: Site) -> None:
    """It kills the runner, which it can where that is not the first process of its pod, and writes its report."""
    site.script("forge.sh", FORGERY)
    job = site.qsub("-N", "forged", "forge.sh")
    ended = site.wait_end(job)
    assert ended["Exit_status"] in {7, 137, 265}, ended
    assert ended["resources_used"]["cput"] < "01:00:00" and ended["resources_used"]["mem"] < "9999999999kb"


def test_a_script_that_keeps_its_runner_from_reporting(site: Site) -> None:
    forgery = FORGERY.replace("cat forged >", ": >")
    job = site.qsub("-N", "untold", stdin=forgery)
    assert site.wait_end(job)["Exit_status"] in {7, 137, 265}


def test_output_of_a_job_whose_runner_was_killed(site: Site) -> None:
    """By its script where it can, else by the kernel with all of its container: it gets its own name all the same."""
    kill = FORGERY[FORGERY.index("for process") : FORGERY.index("sleep 2")]
    job = site.qsub("-l", "select=1:ncpus=1:mem=64mb", "-N", "killed", "-j", "oe", stdin=f"echo said\n{kill}{HOG}\n")
    assert site.wait_end(job)["Exit_status"] != 0
    wait_for("the output", (site.work / f"killed.o{job}").exists, 90)
    assert site.read(f"killed.o{job}").startswith("said\n")
    assert not (site.work / site.running_output(job)).exists()
