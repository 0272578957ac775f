"""LSF: bsub takes scripts and commands, jobs find LSF's surroundings, and their output ends with its report."""

from __future__ import annotations

import json
import re

import pytest

from tests.conformance.site import Site
from tests.waiting import wait_for

SHOW = """#!/bin/sh
#BSUB -J show -n 3 -R "span[ptile=2]" -W 5
#BSUB -o out.%J -e err.%J
env | grep -E '^(LSB|LS)_' | sort
echo to-err >&2
"""


def bsub(site: Site, *argv: str, stdin: str = "") -> str:
    """Submit; returns the number."""
    answer = site.run("bsub", *argv, stdin=stdin).stdout
    match = re.fullmatch(r"Job <(\d+)> is submitted to default queue <default>\.\n", answer)
    assert match, f"bsub printed {answer!r}"
    return match[1]


def variables(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if re.match(r"LSB?_\w+=", line))


def test_a_script_finds_its_surroundings(site: Site) -> None:
    job = bsub(site, stdin=SHOW)
    site.wait_end(job)
    text = site.read(f"out.{job}")
    env = variables(text)
    hosts = [f"job-{job}-mpimaster-0", f"job-{job}-mpiworker-0"]
    assert env["LSB_JOBID"] == env["LSB_BATCH_JID"] == job
    assert (env["LSB_JOBNAME"], env["LSB_JOBINDEX"], env["LSB_QUEUE"]) == ("show", "0", "default")
    assert env["LSB_HOSTS"].split() == [hosts[0], *hosts]
    assert env["LSB_MCPU_HOSTS"] == f"{hosts[0]} 2 {hosts[1]} 1"
    assert (env["LSB_DJOB_NUMPROC"], env["LS_SUBCWD"]) == ("3", str(site.work))
    report = text.partition("\nSender: LSF System")[2]
    assert f"Subject: Job {job}: <show> in cluster <{site.server}> Done\n" in report
    assert "\n# LSBATCH: User input\n#!/bin/sh\n#BSUB -J show" in report
    assert "\nSuccessfully completed.\n" in report
    assert f"\nRead file <{site.work}/err.{job}> for stderr output of this job.\n" in report
    assert site.read(f"err.{job}") == "to-err\n"


def test_parts_of_a_compound_requirement_have_what_each_asks_for(site: Site) -> None:
    parts = "1*{span[hosts=1] rusage[mem=200]} + 2*{span[hosts=1] rusage[mem=100]}"
    job = bsub(site, "-R", parts, "-N", "-o", "o", 'echo "$LSB_MCPU_HOSTS"; mpirun hostname')
    site.wait_end(job)
    first, second = f"job-{job}-mpimaster-0", f"job-{job}-mpiworker-0"
    counts, *ranks = site.read("o").splitlines()
    assert (counts, sorted(ranks)) == (f"{first} 1 {second} 2", sorted([first, second, second]))
    assert f"Requested Resources <{parts}>" in site.run("bjobs", "-l", "-UF", job).stdout


def test_of_alternatives_the_first_that_there_are_nodes_for_is_taken(site: Site) -> None:
    parts = "{rusage[mem=9000000]} || {select[no_such_feature]} || {span[ptile=1] rusage[mem=70]}"
    job = bsub(site, "-n", "2", "-R", parts, "-N", "-o", "o", 'echo "$LSB_MCPU_HOSTS"')
    held = bsub(site, "-H", "-o", "/dev/null", "true")
    site.run("bmod", "-n", "3", "-R", parts, held)
    site.wait_end(job)
    assert site.read("o") == f"job-{job}-mpimaster-0 1 job-{job}-mpiworker-0 1\n"
    assert " NumNodes=3 " in site.run("scontrol", "show", "job", held).stdout
    site.run("bkill", held)


def test_launchers(site: Site) -> None:
    script = 'blaunch hostname; cat "$LSB_DJOB_HOSTFILE"; mpirun hostname; jsrun -n 3 hostname; mpirun.lsf hostname\n'
    job = bsub(site, "-n", "3", "-R", "span[ptile=2]", "-N", "-o", "o", stdin=script)
    site.wait_end(job)
    first, second = f"job-{job}-mpimaster-0", f"job-{job}-mpiworker-0"
    assert sorted(site.read("o").split()) == sorted([first, first, second] * 5)  # and no report: -N mails it


def test_jsrun_on_whole_nodes(site: Site) -> None:
    job = bsub(site, "-nnodes", "2", "-N", "-o", "o", "jsrun -n 4 -c 1 hostname; jsrun -r 1 hostname")
    site.wait_end(job)
    first, second = f"job-{job}-mpimaster-0", f"job-{job}-mpiworker-0"
    assert sorted(site.read("o").split()) == sorted([first, second] * 3)


def test_a_script_may_be_an_argument_and_a_command_too(site: Site) -> None:
    site.script("job.lsf", '#!/bin/sh\n#BSUB -oo script.out -J s\necho "$#:$*"\n')
    site.script("plain.sh", 'echo "$LSB_JOBNAME"\n')
    jobs = [bsub(site, "job.lsf", "a b", "c"), bsub(site, "-oo", "command.out", "sh plain.sh; echo 'x  y'")]
    for job in jobs:
        site.wait_end(job)
    assert site.read("script.out").startswith("2:a b c\n\n---")
    assert site.read("command.out").startswith("sh plain.sh; echo 'x  y'\nx  y\n\n---")


def test_an_array(site: Site) -> None:
    script = 'echo "$LSB_JOBID $LSB_JOBINDEX $LSB_JOBINDEX_END $LSB_JOBINDEX_STEP $LSB_JOBNAME"\n'
    job = bsub(site, "-J", "many[1-3:2]%1", "-N", "-o", "o.%J.%I", stdin=script)
    for index in (1, 3):
        site.wait_end(f"{job}[{index}]")
        assert site.read(f"o.{job}.{index}") == f"{job} {index} 3 2 many[{index}]\n"


def test_waiting_ends_with_the_code_of_the_job(site: Site) -> None:
    done = site.run("bsub", "-K", "-o", "/dev/null", "exit 3", check=False)
    assert done.returncode == 3
    words = ["<<Waiting for dispatch ...>>", "<<Starting on ", "<<Job is finished>>"]
    assert [line for line in done.stderr.splitlines() if line.startswith(tuple(words))][::2] == words[::2]


def test_the_report_says_what_ended_the_job(site: Site) -> None:
    job = bsub(site, "-o", "o", "kill -9 $$")
    site.wait_end(job)
    assert "\nExited by signal 9.\n" in site.read("o")
    job = bsub(site, "-o", "over", "-n", "1", stdin="echo begun; sleep 300\n")
    wait_for("the script", lambda: site.written("over") == "begun\n")
    site.run("qdel", job)
    site.wait_end(job)
    assert "\nTERM_OWNER: job killed by owner.\nExited with exit code 130.\n" in site.read("over")


def test_dependencies(site: Site) -> None:
    first = bsub(site, "-J", "first", "-o", "/dev/null", "sleep 1; exit 1")
    never = bsub(site, "-J", "never", "-w", "done(first)", "-o", "/dev/null", "true")
    after = bsub(site, "-w", f'exit("first") && ended({first})', "-oo", "after", "-N", "echo after")
    site.wait_end(after)
    assert site.read("after") == "after\n"
    assert site.state(never) in "HQ"
    site.run("qdel", never)


def waits_for(site: Site, job: str) -> str:
    return site.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%E").stdout.strip()


@pytest.mark.slow
def test_a_dependency_may_be_any_expression(site: Site) -> None:
    ok = bsub(site, "-H", "-o", "/dev/null", "true")
    bad = bsub(site, "-H", "-o", "/dev/null", "exit 7")
    later = bsub(site, "-H", "-J", "later", "-o", "/dev/null", "true")
    text = f'done({ok}) && (ended({later}) || exit({bad},>5)) && !started("later")'
    runs = bsub(site, "-w", text, "-N", "-oo", "runs", "echo ran")
    never = bsub(site, "-w", f"done({ok}) && (exit({bad}, 3) || numdone({bad}, 1))", "-o", "/dev/null", "true")
    ends = bsub(site, "-ti", "-w", f"!exit({bad}) || ended({later}) && exit({bad},<7)", "-o", "/dev/null", "true")
    assert f"Dependency Condition <{text}>" in site.run("bjobs", "-l", "-UF", runs).stdout
    left = f"(afterany:{later}(unfulfilled)?aftercode:{bad}>5(unfulfilled))"
    assert waits_for(site, runs) == f"afterok:{ok}(unfulfilled),{left}"
    assert site.run("bjobs", "-noheader", "-o", "stat", runs).stdout.strip() == "PEND"
    site.run("bresume", ok)
    site.wait_end(ends)  # it held while the other had not failed yet
    wait_for("the first part", lambda: waits_for(site, runs) == left)
    server = f"{site.server}@{site.server}"
    shown = site.run("qstat", "-f", "-w", runs).stdout
    assert f"    depend = (afterany:{later}.{server}?aftercode:{bad}.{server}>5)\n" in shown
    site.run("bresume", bad)
    site.wait_end(runs)
    assert site.read("runs") == "ran\n"
    wait_for("never", lambda: "(failed)" in waits_for(site, never))
    assert "never satisfied" in site.run("bjobs", "-p", never).stdout
    too_late = bsub(site, "-ti", "-w", f"!ended({bad}) || exit({bad}, !=7)", "-o", "/dev/null", "true")
    site.wait_end(too_late)
    assert site.run("bjobs", "-noheader", "-o", "stat", ends, too_late).stdout.split() == ["DONE", "EXIT"]
    site.run("bkill", never, later)


def test_members_of_an_array_are_counted_by_their_states(site: Site) -> None:
    script = "while ! test -e go; do sleep 0.1; done; exit 5"
    array = bsub(site, "-H", "-J", "many[1-2]", "-o", "/dev/null", script)
    runs = bsub(site, "-w", f"numrun({array},>=1) && numhold({array},0)", "-o", "/dev/null", "true")
    held = bsub(site, "-w", f"numhold({array},*)", "-o", "/dev/null", "true")
    exits = bsub(site, "-w", f"numexit({array},*) && exit({array}[2],5)", "-o", "/dev/null", "true")
    assert site.wait_end(held)["Exit_status"] == 0
    site.run("bresume", array)
    assert site.wait_end(runs)["Exit_status"] == 0
    site.script("go", "")
    assert site.wait_end(exits)["Exit_status"] == 0


def test_errors(site: Site) -> None:
    site.script("bad.lsf", "#!/bin/sh\n#BSUB -W x\n#BSUB -q q -R 'select['\n")
    done = site.run("bsub", "bad.lsf", check=False)
    assert (done.returncode, done.stdout) == (255, "")
    assert sorted(done.stderr.splitlines()) == [
        "bad.lsf:2:7: -W x: Bad RUNLIMIT specification: expected [hours:]minutes. Job not submitted.",
        "bad.lsf:3:12: -R select[: Bad resource requirement syntax: select[ is not closed. Job not submitted.",
    ]
    none = site.run("bsub", "-q", "nowhere", "true", check=False)
    assert (none.returncode, none.stderr.splitlines()[-1:]) == (255, ["nowhere: No such queue. Job not submitted."])
    assert site.run("bsub", check=False, stdin="").stderr == "No command is specified. Job not submitted.\n"
    unknown = site.run("bsub", "-o", "o", "-w", "ended(1[2]) && !done(987654321)", "true", check=False)
    text = "Dependency condition invalid: no such job: 1[2], 987654321. Job not submitted."
    assert (unknown.returncode, unknown.stderr.splitlines()[-1:]) == (255, [text])


def test_bjobs_and_bkill(site: Site) -> None:
    assert site.run("bjobs", check=False).stderr == "No unfinished job found\n"
    job = bsub(site, "-J", "a-long-job-name", "-n", "2", "-R", "span[ptile=1]", "-oo", "o", "sleep 300")
    held = bsub(site, "-H", "-o", "/dev/null", "-J", "many[1-2]", "true")
    site.wait_state(job, "R")
    lines = site.run("bjobs").stdout.splitlines()
    assert lines[0] == "JOBID   USER    STAT  QUEUE      FROM_HOST   EXEC_HOST   JOB_NAME   SUBMIT_TIME"
    assert re.fullmatch(rf"{job:7} \S+ +RUN   default    \S+ +node\S+ +\*-job-name \w\w\w [ \d]\d \d\d:\d\d", lines[1])
    assert re.fullmatch(r" {45}node\S+", lines[2])
    assert [line.split()[:3:2] + line.split()[5:6] for line in lines[3:]] == [
        [held, "PSUSP", "many[1]"],
        [held, "PSUSP", "many[2]"],
    ]
    assert site.run("bjobs", "-noheader", "-r", "-o", "jobid stat:-5 delimiter='^'").stdout == f"{job}^RUN\n"
    found = json.loads(site.run("bjobs", "-json", "-o", "jobid stat slots", job).stdout)
    assert found == {"COMMAND": "bjobs", "JOBS": 1, "RECORDS": [{"JOBID": job, "STAT": "RUN", "SLOTS": "2"}]}
    assert f"{held:8} many[1-2]  " in site.run("bjobs", "-A").stdout
    assert f"Job <{job}>, Job Name <a-long-job-name>, " in site.run("bjobs", "-l", job).stdout
    unknown = site.run("bjobs", "999999", check=False)
    assert (unknown.returncode, unknown.stderr) == (255, "Job <999999> is not found\n")
    assert f"\n{'':13}{job:>5} " in site.run("squeue").stdout or job in site.run("squeue").stdout
    killed = site.run("bkill", job, "999999", check=False)
    assert (killed.returncode, killed.stdout) == (255, f"Job <{job}> is being terminated\n")
    assert killed.stderr == "Job <999999>: No matching job found\n"
    site.wait_end(job)
    assert site.run("bjobs", "-noheader", "-o", "stat exit_code exit_reason", job).stdout.split()[:3] == [
        "EXIT",
        "130",
        "TERM_OWNER:",
    ]
    again = site.run("bkill", job, check=False)
    assert (again.returncode, again.stderr) == (255, f"Job <{job}>: Job has already finished\n")
    assert site.run("bkill", f"{held}[2]").stdout == f"Job <{held}[2]> is being terminated\n"
    site.run("bkill", held)


def test_one_id_space(site: Site) -> None:
    of_slurm = site.sbatch("-H", "-J", "of-slurm", "-o", "/dev/null", "--wrap", "true")
    of_pbs = site.qsub("-h", "-N", "of-pbs", "-o", "/dev/null", "-j", "oe", stdin="true\n")
    shown = site.run("bjobs", "-noheader", "-o", "jobid stat job_name delimiter=,").stdout.splitlines()
    assert shown == [f"{of_slurm},PSUSP,of-slurm", f"{of_pbs},PSUSP,of-pbs"]
    site.run("bkill", "0")
    for job in (of_slurm, of_pbs):
        site.wait_end(job)
