"""More programs that submit jobs, and those that only look."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pexpect
import pytest

from tests.clients.install import python_of
from tests.clients.test_more_libraries import state
from tests.clients.test_workflow_engines import PROGRAMS, command, run
from tests.conformance.site import Site
from tests.waiting import wait_for

USER = pwd.getpwuid(os.getuid()).pw_name


def ended(site: Site, name: str) -> str:
    """The state of the newest job of that name, when it has ended."""

    def found() -> str:
        rows = site.run("sacct", "-XnP", "-o", "State", f"--name={name}").stdout.splitlines()
        return rows[-1].split()[0] if rows and rows[-1] not in {"PENDING", "RUNNING"} else ""

    return wait_for(f"the end of {name}", found, 120)


def running(site: Site, name: str) -> str:
    form = ("squeue", "-h", "-t", "R", "-o", "%i", "-n", name)

    def found() -> str:
        return site.run(*form).stdout.strip()

    return wait_for(f"{name} running", found, 120)


def good(site: Site, client: str, name: str, *arguments: str) -> str:
    done = run(site, client, name, *arguments)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


def test_gwf(site: Site) -> None:
    shutil.copy(PROGRAMS / "gwf_workflow.py", site.work / "workflow.py")
    good(site, "small", "gwf", "config", "set", "backend", "slurm")
    good(site, "small", "gwf", "run")
    assert [ended(site, name) for name in ("first", "second", "bad")] == ["COMPLETED", "COMPLETED", "FAILED"]
    running(site, "long")
    shown = dict(line.split()[:2] for line in good(site, "small", "gwf", "status").splitlines())
    assert shown == {"first": "completed", "second": "completed", "bad": "shouldrun", "long": "running"}
    good(site, "small", "gwf", "cancel", "-f", "long")
    assert ended(site, "long") == "CANCELLED"
    assert site.read("second.txt") == "hello\n"


def test_myqueue(site: Site) -> None:
    good(site, "small", "mq", "init")
    assert "('default', {'cores': 2, 'memory': '4096M'})" in good(site, "small", "mq", "config", "slurm")
    config = "config = {'scheduler': 'slurm', 'nodes': [('default', {'cores': 2, 'memory': '4G'})]}\n"
    (site.work / ".myqueue/config.py").write_text(config)
    # for some seconds: what a job says that ends before `mq submit` has, MyQueue throws away
    site.script("good", "sleep 2\n")
    site.script("bad", "sleep 2\nexit 1\n")
    for line in ("sh+good", "sh+bad", "sleep+300"):
        good(site, "small", "mq", "submit", f"shell:{line}", "-R", "1:5m")

    def states() -> bool:
        lines = good(site, "small", "mq", "ls").splitlines()
        return [word in line for line, word in zip(lines[2:], ("done", "FAILED", "running"), strict=False)] == [
            True
        ] * 3

    try:
        wait_for("its states", states, 120)
    except AssertionError as error:
        raise AssertionError(good(site, "small", "mq", "ls")) from error
    good(site, "small", "mq", "rm", "-s", "r", ".")
    assert ended(site, "shell:sleep") == "CANCELLED"


def test_torchx(site: Site) -> None:
    (site.work / ".torchxconfig").write_text("[slurm]\npartition=default\ntime=5\n")
    submit = ("run", "-s", "slurm", "--workspace", "")
    short, bad, long = (
        good(site, "torchx", "torchx", *submit, *words).splitlines()[-1]
        for words in (("utils.echo", "--msg", "hello"), ("utils.sh", "false"), ("utils.sh", "sleep", "300"))
    )
    numbers = [address.rpartition("/")[2] for address in (short, bad, long)]
    for number in numbers[:2]:
        site.wait_end(number)
    site.wait_state(numbers[2], "R")
    assert site.read(f"slurm-{numbers[0]}-echo-0.out") == "hello\n"
    listed = good(site, "torchx", "torchx", "list", "-s", "slurm")
    shown = dict(line.split() for line in listed.splitlines() if line.startswith("slurm://"))
    assert [shown[address] for address in (short, bad, long)] == ["SUCCEEDED", "FAILED", "RUNNING"]
    good(site, "torchx", "torchx", "cancel", long)
    site.wait_end(numbers[2])
    assert state(site, numbers[2]) == "CANCELLED"


def test_maestro(site: Site) -> None:
    shutil.copy(PROGRAMS / "maestro.yaml", site.work)
    done = run(site, "maestrowf", "maestro", "run", "-y", "-fg", "-s", "2", "maestro.yaml")
    assert done.returncode == 2, "complete with failures"
    assert [ended(site, name) for name in ("first", "second", "bad")] == ["COMPLETED", "COMPLETED", "FAILED"]
    (copied,) = site.work.glob("studies/*/second/first.txt")
    assert copied.read_text() == "hello\n"
    (table,) = site.work.glob("studies/*/status.csv")
    states = {row[0]: row[3] for row in (line.split(",") for line in table.read_text().splitlines()[1:])}
    assert states == {"first": "FINISHED", "second": "FINISHED", "bad": "FAILED"}


def test_signac_flow(site: Site) -> None:
    shutil.copy(PROGRAMS / "signac_project.py", site.work / "project.py")
    init = "import signac; signac.init_project().open_job({'number': 7}).init()"
    good(site, "signac-flow", "python", "-c", init)
    good(site, "signac-flow", "python", "project.py", "submit")
    (out,) = (Path(path) for path in site.work.glob("workspace/*"))
    wait_for("its output", (out / "out.txt").exists, 120)
    long = site.run("squeue", "-h", "-o", "%i %100j").stdout
    job = next(line.split()[0] for line in long.splitlines() if f"{out.name}/long/" in line)
    site.wait_state(job, "R")
    assert "long [A]" in good(site, "signac-flow", "python", "project.py", "status", "-d")
    site.run("scancel", job)


def test_hydra_with_submitit(site: Site) -> None:
    shutil.copy(PROGRAMS / "hydra_app.py", site.work)
    options = ("launcher.partition=default", "launcher.timeout_min=5", "launcher.mem_gb=1", "job.chdir=False")
    argv = ("-m", "hydra/launcher=submitit_slurm", "+number=1,2", *(f"hydra.{option}" for option in options))
    good(site, "hydra-submitit-launcher", "python", "hydra_app.py", *argv)
    assert [site.read(f"hydra_app-{number}.txt") for number in (1, 2)] == ["0 2", "1 4"]


def test_toil(site: Site) -> None:
    shutil.copy(PROGRAMS / "toil_workflow.py", site.work)
    common = ("--batchSystem", "slurm", "--slurmPartition", "default", "--statusWait", "2", "--retryCount", "0")
    options = (*common, "--disableCaching", "--workDir", str(site.work))
    out = good(site, "toil", "python", "toil_workflow.py", f"{site.work}/store", *options)
    assert json.loads(out.splitlines()[-1]) == {"sum": 14}
    done = run(site, "toil", "python", "toil_workflow.py", f"{site.work}/other", "--fail", *options)
    assert done.returncode != 0
    assert "on purpose" in done.stderr
    assert ended(site, "toil_job_1_root") == "FAILED"


TROIKA = "sites:\n  slurm: {type: slurm, connection: local}\n  pbs: {type: pbs, connection: local}\n"
SCRIPT = """\
#!/bin/sh
# troika job_name=tr-{name}
# troika queue=default
# troika walltime=00:05:00
# troika output_file={out}
{command}
"""


@pytest.mark.parametrize("system", ["slurm", "pbs"])
def test_troika(site: Site, system: str) -> None:
    """By which ecFlow submits, watches and kills at ECMWF."""
    site.script("troika.yml", TROIKA)

    def troika(verb: str, name: str) -> None:
        script, out = site.work / f"{name}.sh", str(site.work / f"{name}.out")
        good(site, "small", "troika", "-c", "troika.yml", verb, "-u", USER, "-o", out, system, str(script))

    def number(name: str) -> str:
        return site.read(f"{name}.sh.jid").strip().partition(".")[0]

    for name, line in (("good", "echo hello"), ("bad", "exit 3"), ("long", "sleep 300")):
        site.script(f"{name}.sh", SCRIPT.format(name=name, command=line, out=site.work / f"{name}.out"))
        troika("submit", name)
    assert [site.wait_end(number(name))["Exit_status"] for name in ("good", "bad")] == [0, 3]
    assert site.read("good.out") == "hello\n"
    site.wait_state(number("long"), "R")
    troika("monitor", "long")
    wait_for("what it asks for and does not wait for", lambda: number("long") in site.read("long.sh.stat"))
    troika("kill", "long")
    site.wait_end(number("long"))
    assert state(site, number("long")) == "CANCELLED"


def test_clustershell(site: Site) -> None:
    """The groups of nodes of the configuration that it brings: partitions, states, jobs, users, accounts, QOS,
    reservations.
    """
    groups = python_of("small").parents[1] / "etc/clustershell/groups.conf.d/slurm.conf.example"
    shutil.copy(groups, site.work / "slurm.conf")
    site.script("groups.conf", f"[Main]\ndefault: slurmpart\nconfdir: {site.work}\n")
    own = replace(site, env={**site.env, "CLUSTERSHELL_CFGDIR": str(site.work)})
    job = site.sbatch("-A", "proj", "--wrap", "sleep 300")
    site.wait_state(job, "R")
    (node,) = site.run("squeue", "-h", "-j", job, "-o", "%N").stdout.split()
    for group in (f"@sj:{job}", f"@su:{USER}", "@sa:proj", "@sq:normal", "@st:mixed"):
        assert good(own, "small", "nodeset", "-e", group).split() == [node], group
    assert good(own, "small", "nodeset", "-c", "@default").strip() == "3"
    wanted = ("ReservationName=own", "StartTime=now+1hour", "Duration=60", f"Users={USER}", "Nodes=node-2")
    site.run("scontrol", "create", "reservation", *wanted)
    assert good(own, "small", "nodeset", "-e", "@sr:own").split() == ["node-2"]
    site.run("scontrol", "delete", "ReservationName=own")
    assert f"@sj:{job}" in good(own, "small", "nodeset", "-s", "sj", "-l", node).split()
    site.run("scancel", job)


def test_efficiency_and_accounting(site: Site) -> None:
    """reportseff, and slurm2sql, which asks sacct for every field that it knows."""
    array = site.sbatch("-a", "1-2", "-t", "5", "--mem=100M", "--wrap", "true")
    bad = site.sbatch("-t", "5", "--wrap", "exit 3")
    for job in (f"{array}[]", bad):
        site.wait_end(job)
    shown = [line.split()[:2] for line in good(site, "small", "reportseff", "--no-color", array, bad).splitlines()]
    assert shown[1:] == [[f"{array}_1", "COMPLETED"], [f"{array}_2", "COMPLETED"], [bad, "FAILED"]]
    good(site, "small", "python", "-m", "slurm2sql", "--history-days=1", "jobs.db", "--", "-u", USER)
    query = (
        "select JobID, State, ExitCodeRaw, ReqCPUS from slurm where JobIDonly in (?, ?) and ifnull(JobStep, '') = ''"
    )
    with closing(sqlite3.connect(site.work / "jobs.db")) as database:
        rows = sorted(database.execute(query, (array, bad)))
    members = [(f"{array}_{index}", "COMPLETED", "0:0", 1) for index in (1, 2)]
    assert rows == [*members, (bad, "FAILED", "3:0", 1)]


@pytest.mark.parametrize("backend", ["slurm", "pbs"])
def test_nodetop(site: Site, backend: str) -> None:
    def nodetop(*words: str) -> list[dict[str, object]]:
        found = json.loads(good(site, "small", "nodetop", "--json", "--backend", backend, *words))
        assert isinstance(found, list)
        return found

    assert [node["name"] for node in nodetop("nodes") if node["schedulable"]] == ["node-0", "node-1", "node-2"]
    (queue,) = nodetop("queues")
    assert (queue["name"], queue["usable"], queue["nodes"], queue["cpus_total"]) == ("default", True, 3, 6)
    (place,) = nodetop("where", "-c", "2")
    assert (place["queue"], place["nodes_capable"]) == ("default", 3)
    assert place["confirmed"] == (backend == "slurm"), "by sbatch --test-only, which PBS does not have"


@pytest.mark.parametrize("monitor", ["turm", "stui"])
def test_monitors(site: Site, monitor: str) -> None:
    """On a terminal they show the queue again and again; turm shows the output too, which it finds by -O stdout."""
    job = site.sbatch("-J", "watched", "--wrap", "echo what-it-said; sleep 300")
    site.wait_state(job, "R")
    argv, env = command(site, "small", monitor)
    screen = pexpect.spawn(argv[0], argv[1:], env={**env, "TERM": "xterm"}, cwd=site.work, dimensions=(40, 160))
    try:
        screen.expect("watched", timeout=120)
        if monitor == "turm":
            screen.expect(f"{site.work}/slurm-{job}.out", timeout=120)
            screen.expect("what-it-said", timeout=120)
    finally:
        screen.close(force=True)
    site.run("scancel", job)
