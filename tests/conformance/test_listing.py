"""What qstat, squeue, scontrol, pbsnodes and sinfo show of jobs and nodes, and which of them they choose."""

from __future__ import annotations

import json
import re

import pytest

from tests.conformance.site import Site
from tests.waiting import wait_for

pytestmark = pytest.mark.alone


@pytest.fixture
def held(site: Site) -> tuple[str, str]:
    """A PBS and a Slurm job of two nodes each that wait for their release."""
    pbs = site.qsub(
        "-h",
        "-N",
        "one",
        "-l",
        "select=2:ncpus=1:mem=100mb",
        "-l",
        "walltime=1:00:00",
        "-j",
        "oe",
        "-p",
        "5",
        "-v",
        "A=a,B='x,y'",
        "-A",
        "project7",
        stdin="true\n",
    )
    slurm = site.sbatch("-H", "-N", "2", "-J", "two", "-t", "10", "--mem=100", "--comment=c", "--wrap", "true")
    return pbs, slurm


def ids(text: str) -> list[str]:
    return re.findall(r"^(\d+)\b", text, re.MULTILINE)


def test_qstat_chooses(site: Site, held: tuple[str, str]) -> None:
    pbs, slurm = held
    user = site.env["USER"]
    full = f"{pbs}.{site.server}"
    for options in ("", "-a", f"-u {user}", "-i", "-s", "-n -1", "-w", "-x", "default", f"@{site.server}"):
        assert {pbs, slurm} <= set(ids(site.run("qstat", *options.split()).stdout)), options
    assert not {pbs, slurm} & set(ids(site.run("qstat", "-r").stdout))
    nobody = site.run("qstat", "-u", "nosuchuser")
    assert (nobody.stdout, nobody.stderr) == ("", "")
    assert ids(site.run("qstat", slurm, full).stdout) == [slurm, pbs]
    some = site.run("qstat", pbs, "999999", slurm, check=False)
    assert (ids(some.stdout), some.returncode) == ([pbs, slurm], 153)
    assert some.stderr == f"qstat: Unknown Job Id 999999.{site.server}\n"


def test_qstat_columns(site: Site, held: tuple[str, str]) -> None:
    pbs, _ = held
    user, full = site.env["USER"], f"{pbs}.{site.server}"
    heading, rule, line = site.run("qstat", pbs).stdout.splitlines()
    assert heading.split() == ["Job", "id", "Name", "User", "Time", "Use", "S", "Queue"]
    assert set(rule) == {"-", " "}
    assert line.split() == [full, "one", user, "0", "H", "default"]
    assert line.index("one") == heading.index("Name")
    *_, line = site.run("qstat", "-a", pbs).stdout.splitlines()
    assert line.split() == [full, user[:8], "default", "one", "--", "2", "2", "200mb", "01:00", "H", "--"]


def test_qstat_full(site: Site, held: tuple[str, str]) -> None:
    pbs, slurm = held
    text = site.run("qstat", "-f", pbs).stdout
    assert text.startswith(f"Job Id: {pbs}.{site.server}\n    Job_Name = one\n    Job_Owner = {site.env['USER']}@")
    for line in (
        "job_state = H",
        "queue = default",
        f"server = {site.server}",
        "Account_Name = project7",
        "Hold_Types = u",
        "Join_Path = oe",
        "Priority = 5",
        "Resource_List.select = 2:ncpus=1:mem=100mb",
        "Resource_List.nodect = 2",
        "Resource_List.walltime = 01:00:00",
        "Resource_List.mem = 200mb",
    ):
        assert f"\n    {line}\n" in text
    assert text.endswith("\n\n")
    found = json.loads(site.run("qstat", "-f", "-F", "json", pbs, slurm).stdout)
    assert found["pbs_server"] == site.server
    assert list(found["Jobs"]) == [f"{pbs}.{site.server}", f"{slurm}.{site.server}"]
    job = found["Jobs"][f"{pbs}.{site.server}"]
    assert job["Resource_List"]["ncpus"] == 2
    variables = job["Variable_List"]
    assert (variables["A"], variables["B"]) == ("a", "x,y")
    assert variables["PBS_O_WORKDIR"] == str(site.work)
    assert job["Output_Path"].endswith(f":{site.work}/one.o{pbs}")
    dsv = site.run("qstat", "-f", "-F", "dsv", pbs).stdout
    assert dsv.startswith(f"Job Id: {pbs}.{site.server}|Job_Name=one|")
    semi = site.run("qstat", "-f", "-F", "dsv", "-D", ";", pbs).stdout
    assert semi.startswith(f"Job Id: {pbs}.{site.server};Job_Name=one;")
    for about, heading in (
        ("-Q", "Queue: default|queue_type=Execution|"),
        ("-B", f"Server: {site.server}|server_state="),
    ):
        assert heading in site.run("qstat", about, "-f", "-F", "dsv").stdout
    for option, mem in (("-G", "1gb"), ("-M", "25mw")):
        assert f" {mem} " in site.run("qstat", option, pbs).stdout


def test_squeue(site: Site, held: tuple[str, str]) -> None:
    pbs, slurm = held
    user = site.env["USER"]
    line = site.run("squeue", "-h", "-j", slurm).stdout.split()
    assert line == [slurm, "default", "two", user[:8], "PD", "0:00", "2", "(JobHeldUser)"]
    shown = site.run("squeue", "-h", "-j", f"{slurm},{pbs}", "-o", "%i|%P|%j|%u|%t|%T|%M|%l|%D|%C|%m|%R").stdout
    assert sorted(shown.splitlines()) == sorted(
        (
            f"{pbs}|default|one|{user}|PD|PENDING|0:00|1:00:00|2|2|100M|(JobHeldUser)",
            f"{slurm}|default|two|{user}|PD|PENDING|0:00|10:00|2|2|100M|(JobHeldUser)",
        )
    )
    long = site.run("squeue", "-h", "-j", slurm, "-O", "JobID:10,Name:5,StateCompact:5").stdout
    assert long == f"{slurm:<10}{'two':<5}{'PD':<5}\n"
    for options in (["-u", user], ["-t", "PD"], ["-p", "default"], ["--me"], []):
        assert {pbs, slurm} <= set(site.run("squeue", "-h", "-o", "%i", *options).stdout.split()), options
    assert site.run("squeue", "-h", "-n", "two", "-u", user, "-o", "%i").stdout.split() == [slurm]
    assert slurm not in site.run("squeue", "-h", "-t", "R", "-o", "%i").stdout.split()


def test_squeue_shows_what_was_requested(site: Site, held: tuple[str, str]) -> None:
    """Rocoto finds its jobs by the comment; others ask for files and tasks."""
    _, slurm = held
    group = site.run("id", "-gn").stdout.strip()
    shown = site.run("squeue", "-h", "-j", slurm, "-o", "%k|%g|%h|%n").stdout
    assert shown == f"c|{group}|OK|\n"
    fields = "Comment:|,NumTasks:|,BatchFlag:|,StdOut:|,StdIn:"
    shown = site.run("squeue", "-h", "-t", "all", "-O", f"JobID:|,{fields}").stdout
    assert f"{slurm}|c|2|1|{site.work}/slurm-{slurm}.out|/dev/null" in shown.splitlines()


def test_unknown_columns(site: Site, held: tuple[str, str]) -> None:
    """Told and left out, as Open OnDemand, which requests one of a later Slurm, relies on."""
    _, slurm = held
    done = site.run("squeue", "-h", "-j", slurm, "-O", "JobID:10,ExcNodes:10,StateCompact:5")
    assert done.stdout == f"{slurm:10}PD   \n"
    assert done.stderr == "squeue: error: Invalid job format specification: ExcNodes\n"
    assert site.run("squeue", "-h", "-j", slurm, "-o", "%A %+").stdout == f"{slurm} %+\n"
    assert site.run("sinfo", "-h", "-o", "%+").stderr == "Invalid node format specification: +\n"
    done = site.run("sinfo", "-h", "-O", "Cluster:.5,NoSuch")
    assert done.stderr == "sinfo: error: Invalid job format specification: NoSuch\n"


def test_numeric_users(site: Site, held: tuple[str, str]) -> None:
    _, slurm = held
    uid = site.run("id", "-u").stdout.strip()
    for option in ((f"--user={uid}",), ("-u", f"nobody,{uid}"), ("--me",)):
        assert site.run("squeue", "-h", "-j", slurm, *option, "-o", "%i %U").stdout == f"{slurm} {uid}\n"
    assert site.run("squeue", "-h", "-j", slurm, "-O", "UserID:8").stdout == f"{uid:8}\n"
    assert site.run("squeue", "-h", "-j", slurm, "-u", "54321").stdout == ""
    done = site.run("squeue", "-h", "-j", slurm, "-o", "%i", "-u", f"nosuchuser,{uid}")
    assert (done.stdout, done.stderr) == (f"{slurm}\n", "squeue: error: Invalid user: nosuchuser\n")


def test_scontrol_show_job(site: Site, held: tuple[str, str]) -> None:
    _, slurm = held
    text = site.run("scontrol", "show", "job", slurm).stdout
    uid = site.work.stat().st_uid
    assert text.startswith(f"JobId={slurm} JobName=two\n   UserId={site.env['USER']}({uid}) GroupId=")
    for part in (
        "JobState=PENDING Reason=JobHeldUser",
        "TimeLimit=00:10:00",
        "Partition=default",
        "NumNodes=2-2 NumCPUs=2",
        "MinMemoryNode=100M",
        f"WorkDir={site.work}\n",
        f"StdOut={site.work}/slurm-{slurm}.out\n",
        "ExitCode=0:0",
    ):
        assert part in text
    one_line = site.run("scontrol", "-o", "show", "job", slurm).stdout
    assert one_line.startswith(f"JobId={slurm} JobName=two UserId=")
    assert len(one_line.splitlines()) == 1


def test_a_running_job(site: Site) -> None:
    job = site.sbatch("-N", "2", "-J", "runs", "-o", "/dev/null", "--wrap", "sleep 600")
    site.wait_state(job, "R")
    wait_for("its hosts", lambda: "exec_host" in site.attributes(job))
    shown = site.run("squeue", "-h", "-j", job, "-o", "%t|%D|%B|%N").stdout.strip().split("|")
    assert shown[:2] == ["R", "2"]
    nodes = site.run("scontrol", "show", "hostnames", shown[3]).stdout.split()
    assert (len(nodes), nodes[0]) == (2, shown[2])
    found = site.attributes(job)
    assert [host.partition("/")[0] for host in found["exec_host"].split("+")] == nodes
    assert found["exec_vnode"] == "+".join(f"({node}:ncpus=1)" for node in nodes)
    line = site.run("qstat", "-n", "-1", job).stdout.splitlines()[-1].split()
    assert line[-1] == found["exec_host"]
    assert line[-3] == "R"
    listed = json.loads(site.run("pbsnodes", "-a", "-F", "json").stdout)["nodes"]
    for node in nodes:
        assert [name.partition("/")[0] for name in listed[node]["jobs"]].count(f"{job}.{site.server}") == 1
    site.run("scancel", job)
    ended = site.wait_end(job)
    assert ended["exec_host"] == found["exec_host"]
    assert job not in ids(site.run("qstat").stdout)
    assert job in ids(site.run("qstat", "-x").stdout)


def test_nodes_are_the_same_everywhere(site: Site) -> None:
    listed = json.loads(site.run("pbsnodes", "-a", "-F", "json").stdout)["nodes"]
    sizes = {name: (node["pcpus"], node["resources_available"]["mem"]) for name, node in listed.items()}
    pbs = {name: (cpus, int(mem.removesuffix("kb")) >> 10) for name, (cpus, mem) in sizes.items()}
    lines = site.run("sinfo", "-h", "-N", "-p", "default", "-o", "%N %c %m").stdout.splitlines()
    slurm = {name: (int(cpus), int(mem)) for name, cpus, mem in map(str.split, lines)}
    assert pbs == slurm
    blocks = site.run("scontrol", "show", "nodes").stdout
    assert re.findall(r"^NodeName=(\S+) .*\n   CPUAlloc=\d+ CPUEfctv=(\d+)", blocks, re.MULTILINE) == [
        (name, str(cpus)) for name, (cpus, _) in slurm.items()
    ]
    assert re.findall(r"^(\S+)$", site.run("pbsnodes", "-a").stdout, re.MULTILINE) == list(pbs)
    lists = site.run("sinfo", "-h", "-p", "default", "-o", "%N").stdout.split()  # one for each state of a node
    names = [name for hosts in lists for name in site.run("scontrol", "show", "hostnames", hosts).stdout.split()]
    assert sorted(names) == list(pbs)
    done = site.run("pbsnodes", "nosuchnode", check=False)
    assert done.returncode != 0
    assert "nosuchnode" in done.stderr
