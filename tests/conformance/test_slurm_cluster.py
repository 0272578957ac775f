"""What Slurm's commands say of the cluster and of its parts that are neither jobs nor nodes."""

from __future__ import annotations

import re
import secrets

import pytest

from tests.conformance.operator import as_operator
from tests.conformance.site import Site


def test_config(site: Site) -> None:
    text = site.run("scontrol", "show", "config").stdout
    values = dict(re.findall(r"^(\S+) += ?(.*)$", text, re.MULTILINE))
    assert text.startswith("Configuration data as of 2")
    assert values["ClusterName"] == site.server
    assert f"slurm {values['SLURM_VERSION']}\n" == site.run("sbatch", "--version").stdout
    assert re.fullmatch(r"\d+ sec", values["KillWait"])
    assert values["MaxNodeCount"] == str(len(site.run("sinfo", "-h", "-N", "-o", "%n").stdout.split()))
    assert text.endswith(f"\n\nSlurmctld(primary) at {site.server} is UP\n")


def test_steps(site: Site) -> None:
    job = site.sbatch("-N", "2", "-o", "/dev/null", "--wrap", "sleep 100")
    site.wait_state(job, "R")
    shown = site.run("scontrol", "-o", "show", "step", job).stdout.splitlines()
    assert [line.split()[0] for line in shown] == [f"StepId={job}.batch", f"StepId={job}.extern"]
    assert " Nodes=2 CPUs=0 Tasks=2 Name=extern " in shown[1]
    assert shown[:1] == site.run("scontrol", "-o", "show", "step", f"{job}.batch").stdout.splitlines()
    held = site.sbatch("-H", "-o", "/dev/null", "--wrap", "true")
    for name, stdout, stderr in (
        (held, f"Job step {held}. not found\n", ""),
        (f"{job}.7", f"Job step {job}.7 not found\n", ""),
        ("999999", "", "slurm_get_job_steps error: Invalid job id specified\n"),
    ):
        done = site.run("scontrol", "show", "step", name, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (1, stdout, stderr)


NOTHING = [
    ("reservation", 0, "No reservations in the system\n", ""),
    ("reservation=x", 1, "Reservation x not found\n", ""),
    ("topology", 0, "", "scontrol: error: No topology information available\n"),
    ("federation", 0, "", ""),
    ("burstbuffer", 0, "", ""),
    ("frontend", 0, "No nodes in the system\n", ""),
    ("licenses=nosuch", 0, "", ""),
    ("foo", 1, "", "invalid entity:foo for keyword:show \n"),
]


def test_daemons_are_those_of_this_host(site: Site) -> None:
    controller = re.search(r"^SlurmctldHost\S*\s+= (\S+)", site.run("scontrol", "show", "config").stdout, re.M)
    assert controller
    is_here = controller[1] in {site.run("hostname", "-s").stdout.strip(), "127.0.0.1"}
    assert site.run("scontrol", "show", "daemons").stdout == ("slurmctld\n" if is_here else "\n")


@pytest.mark.parametrize(("entity", "code", "stdout", "stderr"), NOTHING, ids=[row[0] for row in NOTHING])
def test_what_there_is_not(site: Site, entity: str, code: int, stdout: str, stderr: str) -> None:
    done = site.run("scontrol", "show", entity, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, stdout, stderr)


def test_the_script_of_a_job(site: Site) -> None:
    text = '#!/bin/sh\n#SBATCH -J scripted\necho "$1"  # \u00fc\n'
    job = site.sbatch("-H", site.script("a script.sh", text), "x")
    assert site.run("scontrol", "write", "batch_script", job, "-").stdout == text
    done = site.run("scontrol", "write", "batch_script", job)
    assert done.stdout == f"batch script for job {job} written to slurm-{job}.sh\n"
    assert site.read(f"slurm-{job}.sh") == text
    site.run("scontrol", "-Q", "write", "batch_script", job, "other")
    assert site.read("other") == text
    done = site.run("scontrol", "write", "batch_script", job, "nosuch/x")
    assert (done.stdout, done.stderr) == ("", "failed to open file `nosuch/x': No such file or directory\n")
    done = site.run("scontrol", "write", "batch_script", "999999")
    assert (done.stdout, done.stderr) == ("", "job script retrieval failed: Invalid job id specified\n")


def test_whether_the_nodes_of_a_job_are_ready(site: Site) -> None:
    held = site.sbatch("-H", "-o", "/dev/null", "--wrap", "true")
    job = site.sbatch("-o", "/dev/null", "--wrap", "sleep 100")
    site.wait_state(job, "R")
    for words, code, stderr in (
        ((job,), 0, f"scontrol: Nodes are ready for job {job}\n"),
        ((held,), 1, f"scontrol: Job {held} no longer running\n"),
        (("999999",), 1, "scontrol: Problem running job 999999\n"),
        (("abc",), 1, "Invalid job_id abc\n"),
        ((), 1, "too few arguments for keyword:wait_job\n"),
    ):
        done = site.run("scontrol", "wait_job", *words, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (code, "", stderr)


def test_requests_for_administrators_are_refused(site: Site) -> None:
    done = site.run("scontrol", "setdebug", "3", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Permission denied" in done.stderr.splitlines()[0]
    assert "site.yaml" in done.stderr.splitlines()[1]


def test_reconfigure_tells_whether_the_file_is_in_force(site: Site) -> None:
    done = as_operator(site, "scontrol", "reconfigure")
    assert (done.stdout, done.stderr) == ("", "")
    if site.admin_env:  # the engine's one user may do everything
        done = site.run("scontrol", "reconfigure", check=False)
        assert (done.returncode, done.stderr.splitlines()[0]) == (1, "slurm_reconfigure error: Invalid user id")


def test_write_config(site: Site) -> None:
    done = site.run("scontrol", "write", "config", "written.conf")
    assert done.stdout == f"Slurm config saved to {site.work}/written.conf\n"
    lines = site.read("written.conf").splitlines()
    assert f"ClusterName={site.server}" in lines
    assert "MinJobAge=300" in lines
    assert "#Prolog=(null)" in lines
    done = site.run("scontrol", "write", "config", "/nosuch/conf", check=False)
    assert (done.returncode, done.stderr) == (1, "Could not create file /nosuch/conf: No such file or directory\n")


def test_accounts_are_those_that_jobs_name(site: Site) -> None:
    account, user = f"acct{secrets.token_hex(3)}", site.env["USER"]
    site.sbatch("-H", "-A", account, "-o", "/dev/null", "--wrap", "true")
    fields = "format=account,user,cluster"
    listed = site.run("sacctmgr", "-nP", "show", "assoc", f"account={account}", fields).stdout
    assert listed == f"{account}||{site.server}\n{account}|{user}|{site.server}\n"
    of_user = site.run("sacctmgr", "-nP", "show", "user", user, "withassoc", "format=account").stdout
    assert account in of_user.split()
    assert site.run("sacctmgr", "-nP", "show", "cluster", "format=cluster").stdout == f"{site.server}\n"
    assert site.run("sacctmgr", "-nP", "show", "qos", "normal", "format=name").stdout == "normal\n"


def test_shares_priorities_and_triggers(site: Site) -> None:
    account, user = f"acct{secrets.token_hex(3)}", site.env["USER"]
    site.sbatch("-H", "-A", account, "-o", "/dev/null", "--wrap", "true")
    shown = site.run("sshare", "-nP", "-A", account, "-o", "account,user,rawshares").stdout
    assert shown == f"{account}||1\n {account}|{user}|1\n"
    assert site.run("sshare", "-M", site.server).stdout.startswith(f"CLUSTER: {site.server}\nAccount  ")
    done = site.run("sprio", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("You are not running a supported priority plugin\n(priority/basic).\n")
    assert site.run("strigger", "--get").stdout == ""
    done = site.run("strigger", "--set", "--node", "--down", "--program=/bin/true", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[0] == "slurm_set_trigger: Access/permission denied"


def test_usage_of_a_running_job_and_of_an_ended_one(site: Site) -> None:
    job = site.sbatch("-N", "2", "--mem=200", "-o", "/dev/null", "--wrap", "sleep 100")
    site.wait_state(job, "R")
    fields = ("-n", "-P", "-o", "jobid,ntasks")
    assert site.run("sstat", "-j", f"{job}.batch", *fields).stdout == f"{job}.batch|1\n"
    assert site.run("sstat", "-a", "-j", job, *fields).stdout == f"{job}.batch|1\n{job}.extern|2\n"
    site.run("scancel", job)
    site.wait_end(job)
    done = site.run("sstat", "-j", job, *fields)
    assert (done.stdout, done.stderr) == ("", f"sstat: error: No steps running for job {job}\n")
    shown = site.run("seff", job).stdout.splitlines()
    assert shown[0] == f"Job ID: {job}"
    assert re.fullmatch(r"State: CANCELLED \(exit code 0\)", shown[3])
    assert shown[4:6] == ["Nodes: 2", "Cores per node: 1"]
    assert re.fullmatch(r"Memory Efficiency: \d+\.\d\d% of 400\.00 MB.*", shown[-1])
    done = site.run("seff", "999999", check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "Job not found.\n")


@pytest.mark.parametrize("command", ["scrontab", "sgather", "sview"])
def test_a_command_that_is_not_here_says_so(site: Site, command: str) -> None:
    done = site.run(command, "12.0", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"\n{command}: hpcbatch has no {command}: " in done.stderr


def test_accounts_as_the_controller_would_keep_them(site: Site) -> None:
    account, user = f"acct{secrets.token_hex(3)}", site.env["USER"]
    site.sbatch("-H", "-A", account, "-o", "/dev/null", "--wrap", "true")
    text = site.run("scontrol", "-o", "show", "assoc_mgr", f"accounts={account}", "flags=assoc").stdout
    found = [" ".join(line.split()[:3]) for line in text.splitlines() if line.startswith("ClusterName=")]
    head = f"ClusterName={site.server} Account={account} UserName="
    assert found[0] == head
    assert any(line.startswith(f"{head}{user}(") for line in found)


def test_what_was_done_today(site: Site) -> None:
    def numbers() -> dict[str, int]:
        text = site.run("sdiag").stdout
        return {name: int(number) for name, number in re.findall(r"^Jobs (\w+): +(\d+)$", text, re.MULTILINE)}

    before = numbers()
    job = site.sbatch("-H", "-o", "/dev/null", "--wrap", "true")
    after = numbers()
    assert before.keys() == {"submitted", "started", "completed", "canceled", "failed", "pending", "running"}
    assert after["submitted"] > before["submitted"]
    site.run("scancel", job)
    site.wait_end(job)
    assert numbers()["canceled"] > before["canceled"]


def test_report_of_cpu_time(site: Site) -> None:
    account, user = f"acct{secrets.token_hex(3)}", site.env["USER"]
    job = site.sbatch("-A", account, "-o", "/dev/null", "--wrap", "sleep 2")
    site.wait_end(job)
    window = ("start=now-2hours", "end=now+2hours", f"accounts={account}")
    line = site.run(
        "sreport", "-nP", "-t", "Seconds", "user", "top", *window, "format=cluster,login,account,used"
    ).stdout
    cluster, login, of, used = line.strip().split("|")
    assert (cluster, login, of) == (site.server, user, account)
    assert int(used) >= 1
    shown = site.run("sreport", "cluster", "utilization").stdout.splitlines()
    assert shown[1].startswith("Cluster Utilization ")
    assert shown[4] == "  Cluster Allocate     Down PLND Dow     Idle  Planned Reported "


def test_requests_from_standard_input(site: Site) -> None:
    """The exit code is that of the last one that failed."""
    done = site.run("sacctmgr", "-n", stdin="show tres format=type%4\nnonsense\nparsable2\nquit\n", check=False)
    assert done.stdout.splitlines()[0].startswith("sacctmgr:  cpu"), done.stdout
    assert (done.stderr, done.returncode) == ("invalid keyword: nonsense\ninvalid keyword: parsable2\n", 1)
    text = site.run("sreport", stdin="parsable2\ntime hours\ncluster utilization\nexit\n").stdout
    assert "Usage reported in CPU Hours\n" in text
    assert "\nCluster|Allocated|Down|PLND Down|Idle|Planned|Reported\n" in text


def test_all_columns(site: Site) -> None:
    job = site.sbatch("--hold", stdin="#!/bin/sh\ntrue\n")
    heading, line = site.run("squeue", "-j", job, "-o", "%all").stdout.splitlines()
    assert heading.startswith("ACCOUNT|TRES_PER_NODE|MIN_CPUS|")
    assert heading.count("|") == line.count("|")
    assert site.run("sinfo", "-o", "%all").stdout.startswith("AVAIL|ACTIVE_FEATURES|CPUS|")
    site.run("scancel", job)
