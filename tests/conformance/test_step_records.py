"""The steps of srun as others see them: sacct, squeue -s, scontrol show step, sstat, scancel."""

from __future__ import annotations

import json
import re

import pytest

from tests.conformance.site import Site
from tests.waiting import wait_for

# uses the CPU for a second and a half, on a fast machine too
BURN = """
used() { read -r line </proc/$$/stat; set -- ${line##*) }; used=$((${12} + ${13})); }
used
until [ $used -ge 150 ]; do i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; used; done
"""


def table(site: Site, job: str, fields: str) -> list[list[str]]:
    text = site.run("sacct", "-n", "-P", "-j", job, "-o", fields).stdout
    return [line.split("|") for line in text.splitlines()]


def submit(site: Site, script: str, *options: str) -> str:
    return site.sbatch("-o", "out", *options, site.script("job.sh", f"#!/bin/sh\n{script}\n"))


def running(site: Site, job: str) -> list[str]:
    """The steps of srun that squeue lists."""
    shown = site.run("squeue", "-h", "-s", "-j", job, "-o", "%i").stdout.split()
    return [step for step in shown if step.rpartition(".")[2].isdigit()]


def test_steps_of_a_job_that_has_ended(site: Site) -> None:
    job = submit(
        site,
        "srun sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'\nsrun -n1 -J named sh -c 'exit 3'\n"
        "srun -n1 --mpi=none sh -c 'kill -9 $$'\nsrun -N1 -n1 nosuch\nsrun -n9 never\nexit 0",
        "-N2",
        "--ntasks-per-node=1",
    )
    site.wait_end(job)
    lines = table(site, job, "jobid,jobname,state,exitcode,ntasks,alloccpus,nnodes,layout")
    assert lines[0][:4] == [job, "job.sh", "COMPLETED", "0:0"], site.read("out")
    assert [line[0] for line in lines[1:3]] == [f"{job}.batch", f"{job}.extern"]
    assert lines[3:] == [
        [f"{job}.0", "sh", "COMPLETED", "0:0", "2", "2", "2", "Cyclic"],
        [f"{job}.1", "named", "FAILED", "3:0", "1", "1", "1", "Cyclic"],
        [f"{job}.2", "sh", "CANCELLED", "0:9", "1", "1", "1", "Cyclic"],
        [f"{job}.3", "nosuch", "FAILED", "2:0", "1", "1", "1", "Cyclic"],
    ]
    assert [line[0] for line in table(site, f"{job}.1,{job}.3", "jobid")] == [f"{job}.1", f"{job}.3"]
    assert table(site, f"{job}.1,{job}.3", "submitline") == [["srun -n1 -J named sh ***"], ["srun -N1 -n1 nosuch"]]
    steps = json.loads(site.run("sacct", "-j", job, "--json").stdout)["jobs"][0]["steps"]
    assert [(one["step"]["id"], one["state"]) for one in steps[2:]] == [
        (0, "COMPLETED"),
        (1, "FAILED"),
        (2, "CANCELLED"),
        (3, "FAILED"),
    ]
    assert running(site, job) == []
    assert site.run("squeue", "-h", "-s", "-j", job).stdout == ""


@pytest.mark.slow
def test_steps_of_a_job_that_runs(site: Site) -> None:
    job = submit(
        site,
        "srun -n1 true\nsrun -n1 --mpi=none sh -c 'until [ -e go ]; do sleep 0.1; done' &\n"
        "srun -n1 -J other --mpi=none sh -c 'until [ -e go ]; do sleep 0.1; done' &\nwait",
        "-n2",
    )
    wait_for("the steps", lambda: running(site, job) == [f"{job}.1", f"{job}.2"], 60)
    wait_for("what they use", lambda: table(site, f"{job}.1", "maxrss")[0] != [""], 60)
    names = site.run("squeue", "-h", "-s", "-j", job, "-o", "%j").stdout.split()
    assert sorted(names) == ["batch", "other", "sh"]
    text = site.run("scontrol", "show", "step", f"{job}.1").stdout
    assert re.match(rf"StepId={job}\.1 UserId=\d+ StartTime=\S+ TimeLimit=UNLIMITED\n   State=RUNNING ", text), text
    assert re.search(
        r"\n   Nodes=1 CPUs=1 Tasks=1 Name=(sh|other) Network=\(null\)\n   TRES=cpu=1,mem=0,node=1\n", text
    )
    assert site.run("scontrol", "show", "step", job).stdout.count("StepId=") == 3
    unknown = site.run("scontrol", "show", "step", f"{job}.99", check=False)
    assert (unknown.returncode, unknown.stdout) == (1, f"Job step {job}.99 not found\n")
    assert site.run("sstat", "-n", "-P", "-j", job, "-o", "jobid,ntasks").stdout == f"{job}.1|1\n"
    every = site.run("sstat", "-n", "-P", "-a", "-j", job, "-o", "jobid").stdout.split()
    assert every == [f"{job}.batch", f"{job}.1", f"{job}.2"]
    assert site.run("sstat", "-n", "-j", f"{job}.0").stderr == f"sstat: error: StepId={job}.0 not found running.\n"
    (site.work / "go").touch()
    site.wait_end(job)
    assert [line[1] for line in table(site, job, "jobid,state")] == ["COMPLETED"] * 5


@pytest.mark.slow
def test_what_the_steps_and_the_script_used(site: Site) -> None:
    """Together it is the job's."""
    site.script("burn.sh", BURN)
    job = submit(site, "srun -n1 --mpi=none sh burn.sh\nsh burn.sh", "-n1")
    site.wait_end(job)
    (whole, batch, step) = (line[1] for line in table(site, job, "jobid,totalcpu"))

    def seconds(text: str) -> int:
        hours, minutes, rest = text.split(":")
        return int(hours) * 3600 + int(minutes) * 60 + int(rest)

    assert seconds(step) >= 1 and seconds(batch) >= 1
    assert abs(seconds(whole) - seconds(batch) - seconds(step)) <= 1


@pytest.mark.slow
def test_many_short_steps(site: Site) -> None:
    """The record keeps the last ones."""
    job = submit(site, "i=0; while [ $i -lt 80 ]; do srun -n1 -Q --mpi=none true; i=$((i+1)); done", "-n1")
    site.wait_end(job, 120)
    lines = table(site, job, "jobid,state,exitcode")
    assert lines[2:] == [[f"{job}.{number}", "COMPLETED", "0:0"] for number in range(16, 80)]


@pytest.mark.slow
def test_a_step_is_cancelled_and_another_gets_a_signal(site: Site) -> None:
    task = "trap 'echo usr; exit 0' USR1; touch on.$SLURM_STEP_ID.$SLURM_PROCID; while :; do sleep 0.1; done"
    job = submit(
        site,
        f'srun -N2 -n2 --mpi=none sh -c "{task}" & a=$!\n'.replace("$SLURM", "\\$SLURM")
        + "until ls on.0.0 on.0.1; do sleep 0.1; done >/dev/null 2>&1\n"
        + f'srun -N2 -n2 --mpi=none sh -c "{task}" & b=$!\n'.replace("$SLURM", "\\$SLURM")
        + "wait $a; echo first $?; wait $b; echo second $?",
        "-N2",
        "--ntasks-per-node=2",
    )
    wait_for("the steps", lambda: len(list(site.work.glob("on.*"))) == 4, 60)
    wait_for("their report", lambda: running(site, job) == [f"{job}.0", f"{job}.1"], 60)
    site.run("scancel", "-n", "another", f"{job}.0", check=False)  # a filter keeps it, and names no other jobs
    queue = site.run("squeue", "-h", "-j", job, "-o", "%P").stdout.strip()
    asked = site.run("scancel", "-i", f"{job}.1", stdin="n\n").stdout
    assert re.fullmatch(rf"Cancel step_id={job}\.1 name=\S+ partition={queue} \[y/n\]\? ", asked)
    assert running(site, job) == [f"{job}.0", f"{job}.1"]
    assert site.run("scancel", f"{job}.0").stderr == ""
    wait_for("its end", lambda: table(site, f"{job}.0", "state") != [["RUNNING"]], 60)
    assert running(site, job) == [f"{job}.1"]
    gone = site.run("scancel", f"{job}.0", check=False)
    assert (gone.returncode, gone.stderr) == (
        225,
        f"scancel: error: Kill job error on job step id {job}: Invalid job id specified\n",
    )
    site.run("scancel", "-s", "USR1", f"{job}.1")
    site.wait_end(job)
    text = site.read("out")
    assert re.search(rf"slurmstepd-\S+: error: \*\*\* STEP {job}\.0 ON \S+ CANCELLED AT ", text), text
    assert text.count("usr\n") == 2 and "first 143\n" in text and text.endswith("second 0\n"), text
    (first, second) = table(site, f"{job}.0,{job}.1", "state,exitcode")
    assert re.fullmatch(r"CANCELLED by \d+", first[0]) and first[1] == "0:15" and second == ["COMPLETED", "0:0"]
    after = site.run("scancel", f"{job}.1", check=False)
    assert (after.returncode, after.stderr) == (
        1,
        f"scancel: error: Kill job error on job step id {job}.1: Invalid job id specified\n",
    )


def test_steps_of_an_allocation(site: Site) -> None:
    text = site.run(
        "salloc", "-n1", "sh", "-c", "srun hostname; srun -J other sh -c 'exit 2'; echo $SLURM_JOB_ID"
    ).stdout
    job = text.split()[-1]
    wait_for("its end", lambda: table(site, job, "state")[0] != ["RUNNING"], 60)
    lines = table(site, job, "jobid,jobname,state,exitcode")
    assert lines[-2:] == [[f"{job}.0", "hostname", "COMPLETED", "0:0"], [f"{job}.1", "other", "FAILED", "2:0"]]


@pytest.mark.slow
def test_a_time_limit_of_its_own(site: Site) -> None:
    """It counts from the step's start, in minutes, and ends nothing else; it may be changed while the step runs."""
    job = submit(site, "srun -t 5 --mpi=none sleep 100 & srun -t nonsense true; echo $?; wait; exit 0", "-n2")
    wait_for("the step", lambda: running(site, job) == [f"{job}.0"])
    shown = ("scontrol", "show", "step", f"{job}.0")
    wait_for("its limit", lambda: "TimeLimit=00:05:00\n" in site.run(*shown).stdout)
    assert site.run("squeue", "-h", "-s", "-j", job, "-o", "%i %l").stdout.splitlines()[0] == f"{job}.0 5:00"
    for words in (["StepId=999999.0", "TimeLimit=1"], [f"StepId={job}.7", "TimeLimit=1"]):
        done = site.run("scontrol", "update", *words, check=False)
        assert (done.returncode, done.stderr) == (1, "slurm_update error: Invalid job id specified\n")
    for limit, text in (("UNLIMITED", "UNLIMITED"), ("2", "00:02:00")):
        site.run("scontrol", "update", f"StepId={job}.0", f"TimeLimit={limit}")
        assert f"TimeLimit={text}\n" in site.run(*shown).stdout
    site.run("scancel", job)
    site.wait_end(job)
    assert "srun: error: Invalid --time specification\n255\n" in site.read("out")


def test_the_processes_of_a_job(site: Site) -> None:
    """`scontrol listpids` in the job: its script, the tasks of a step, and what these have started."""
    task = "sleep 100 & wait"
    script = (
        f"srun -n2 --mpi=none sh -c '{task}' &\n"
        "until [ $(scontrol listpids $SLURM_JOB_ID.0 | grep -c ' - ') -ge 2 ]; do sleep 0.5; done\n"
        "for what in .0 .7 '' .batch; do\necho \"of $what\"\n"
        "scontrol listpids $SLURM_JOB_ID$what $SLURMD_NODENAME\ndone\n"
        "echo $$ >pid; scontrol listpids 999999; kill %1; exit 0"
    )
    job = submit(site, script, "-N1", "-n2")
    site.wait_end(job)
    text = site.read("out")
    parts = {part.split()[0]: part.splitlines()[1:] for part in text.split("of ")[1:] if part[0] == "."}
    heading = ["PID", "JOBID", "STEPID", "LOCALID", "GLOBALID"]
    rows = [line.split() for line in parts[".0"]]
    assert rows[0] == heading, text
    assert [row[1:] for row in rows[1:3]] == [[job, "0", "0", "0"], [job, "0", "1", "1"]]
    assert [row[1:] for row in rows[3:]] == [[job, "0", "-", "-"]] * (len(rows) - 3) and len(rows) >= 5
    assert parts[".7"][1].startswith(f"StepId={job}.7 does not exist on node job-{job}-")
    batch = [line.split() for line in parts[".batch"] if line.split()[1:2] == [job]]
    assert batch[0] == [site.read("pid").strip(), job, "batch", "0", "0"]
    whole = text.split("of \n")[1]
    assert f" {job} " in whole and " batch " in whole
    assert "There are no steps for job 999999 on node " in text


@pytest.mark.slow
def test_a_step_whose_time_is_up(site: Site) -> None:
    job = submit(site, "srun -t 5 --mpi=none sleep 200; echo $?; exit 0")
    wait_for("the step", lambda: running(site, job) == [f"{job}.0"])
    site.run("scontrol", "update", f"StepId={job}", "TimeLimit=1")
    site.wait_end(job, 120)
    assert [line[:3] for line in table(site, job, "jobid,state,exitcode")][2:] == [[f"{job}.0", "TIMEOUT", "0:15"]]
    text = site.read("out")
    assert re.search(rf"error: \*\*\* STEP {job}\.0 ON \S+ CANCELLED AT \S+ DUE TO TIME LIMIT \*\*\*", text), text
    assert text.endswith("\n143\n")


@pytest.mark.slow
def test_what_each_task_of_a_step_uses(site: Site) -> None:
    """Of three hosts: one task reads, another one writes, all wait to be seen."""
    (site.work / "input").write_bytes((b"x" * 99 + b"\n") * 120_000)
    site.script(
        "task.sh",
        "#!/bin/sh\n[ $SLURM_PROCID != 1 ] || grep -c y input\n"
        "[ $SLURM_PROCID != 2 ] || awk 'BEGIN { for (i = 0; i < 8000; i++) printf \"%1000d\", 0 }' >written\n"
        "until [ -e go ]; do sleep 0.1; done\n",
    )
    job = submit(site, "srun -n3 --mpi=none sh task.sh", "-N3", "-n3")
    sstat = ("sstat", "-n", "-P", "-j", f"{job}.0", "-o", "maxdiskwritetask,maxdiskreadtask,averss,maxvmsizetask")
    wait_for("all tasks", lambda: site.run(*sstat, check=False).stdout.startswith("2|1|"), 60)
    assert re.search(r"SrunHost:Pid=\S+:[1-9]\d*\n", site.run("scontrol", "show", "step", f"{job}.0").stdout)
    (site.work / "go").touch()
    site.wait_end(job)
    fields = "maxdiskread,maxdiskwrite,avediskread,avediskwrite,averss,maxrss,mincpu,maxvmsize,tresusageouttot"
    read, written, mean_read, mean_written, mean_rss, rss, least, vm, out = table(site, f"{job}.0", fields)[0]
    assert 11.4 < megabytes(read) < 13 and 7.6 < megabytes(written) < 9
    assert 11.4 < 3 * megabytes(mean_read) < 16 and 7.6 < 3 * megabytes(mean_written) < 9
    assert least == "00:00:00"
    assert 0 < in_bytes(mean_rss) <= in_bytes(rss) < in_bytes(vm)
    assert re.fullmatch(r"fs/disk=\S+", out)


def in_bytes(text: str) -> float:
    """Without a unit where it is no whole number of KiB, as a mean mostly is."""
    found = re.fullmatch(r"(\d+(?:[.]\d\d)?)([KMG]?)", text)
    assert found, text
    return float(found[1]) * float(1024 ** " KMG".index(found[2] or " "))


def megabytes(text: str) -> float:
    assert re.fullmatch(r"\d+([.]\d\d)?M", text), text
    return float(text[:-1])
