"""Further forms of squeue, sinfo and scancel: steps, clusters, again and again, JSON and YAML, questions."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time

import yaml

from tests.conformance.site import Site
from tests.waiting import wait_for


def test_steps(site: Site) -> None:
    job = site.sbatch("-N", "2", "-J", "stepped", "-o", "/dev/null", "--wrap", "sleep 100")
    held = site.sbatch("-H", "-o", "/dev/null", "--wrap", "true")
    site.wait_state(job, "R")
    head, *lines = site.run("squeue", "-s", "-j", f"{job},{held}").stdout.splitlines()
    assert head == "         STEPID     NAME PARTITION     USER      TIME NODELIST"
    assert [line.split()[:2] for line in lines] == [[f"{job}.batch", "batch"], [f"{job}.extern", "extern"]]
    assert site.run("squeue", "-h", f"-s{job}.batch", "-o", "%i %A").stdout == f"{job}.batch 1\n"
    done = site.run("squeue", "-s", job, check=False)
    assert (done.returncode, done.stderr) == (1, f"squeue: error: Invalid job_step id: {job}.??\n")


def test_json_and_yaml_of_jobs(site: Site) -> None:
    name = "a \"b\": 'c'"
    job = site.sbatch("-H", "-J", name, "-t", "10", "--mem=100", "-o", "out.%j", "--wrap", "true")
    body = json.loads(site.run("squeue", "--json").stdout)
    assert body["meta"]["plugin"]["type"] == "openapi/v0.0.38"
    (found,) = [each for each in body["jobs"] if each["job_id"] == int(job)]
    expected = {"name": name, "job_state": "PENDING", "state_reason": "JobHeldUser", "time_limit": 10}
    assert expected.items() <= found.items()
    assert (found["memory_per_node"], found["user_name"]) == (100, site.env["USER"])
    jobs = yaml.safe_load(site.run("squeue", "--yaml").stdout)["jobs"]
    (same,) = [each for each in jobs if each["job_id"] == int(job)]
    assert same == {name: None if value == "" else value for name, value in found.items()}


def test_of_this_cluster(site: Site) -> None:
    job = site.sbatch("-H", "-o", "/dev/null", "--wrap", "true")
    shown = site.run("squeue", "-M", site.server, "-j", job, "-o", "%i").stdout
    assert shown == f"CLUSTER: {site.server}\nJOBID\n{job}\n"
    assert site.run("squeue", "-h", "-M", "all", "-j", job, "-o", "%i").stdout == f"{job}\n"
    done = site.run("squeue", "-M", "nosuch", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(
        "squeue: error: No cluster 'nosuch' known by database.\nsqueue: error: 'nosuch' can't be"
    )


def test_again_and_again(site: Site) -> None:
    job = site.sbatch("-H", "-o", "/dev/null", "--wrap", "true")
    command = site.command("squeue", "-h", "-i", "1", "-j", job, "-o", "%i")
    with subprocess.Popen(command, cwd=site.work, env=dict(site.env), stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        begun = time.monotonic()
        lines = [watching.stdout.readline() for _ in range(4)]
        assert time.monotonic() - begun < 30
        watching.send_signal(signal.SIGINT)
        watching.wait(20)
    assert lines == [f"{job}\n", "\n", f"{job}\n", "\n"]
    done = site.run("squeue", "-i", "0", check=False)
    assert (done.returncode, done.stderr) == (1, "squeue: error: --iterate=0\n\n")


def test_nodes(site: Site) -> None:
    names = site.run("sinfo", "-h", "-N", "-o", "%n").stdout.split()
    nodes = json.loads(site.run("sinfo", "--json").stdout)["nodes"]
    assert [node["name"] for node in nodes] == names
    assert all(node["cpus"] == node["alloc_cpus"] + node["idle_cpus"] for node in nodes)
    assert yaml.safe_load(site.run("sinfo", "--yaml").stdout)["nodes"][0]["name"] == names[0]
    assert site.run("sinfo", "-h", "-N", "-o", "%n", "-S", "-N").stdout.split() == sorted(names, reverse=True)
    assert site.run("sinfo", "-T").stdout == "No reservations in the system\n"
    assert site.run("sinfo", "-M", site.server).stdout.startswith(f"CLUSTER: {site.server}\nPARTITION AVAIL")


def test_scancel_asks(site: Site) -> None:
    one, array = (
        site.sbatch("-H", *more, "-J", "asked", "-o", "/dev/null", "--wrap", "true") for more in ((), ("-a1-3",))
    )
    queue = site.run("squeue", "-h", "-j", one, "-o", "%P").stdout.strip()
    done = site.run("scancel", "-i", one, array, stdin="x\nn\ny\n")
    first = f"Cancel job_id={one} name=asked partition={queue} [y/n]? "
    assert done.stdout == f"{first}{first}Cancel job_id={array}_[1-3] name=asked partition={queue} [y/n]? "
    wait_for("the array's end", lambda: site.run("squeue", "-h", "-j", array).stdout == "")
    assert site.run("squeue", "-h", "-j", one, "-o", "%T").stdout == "PENDING\n"
    site.run("scancel", "-i", one)  # nobody answers
    assert site.run("squeue", "-h", "-j", one, "-o", "%T").stdout == "PENDING\n"
    done = site.run("scancel", "-M", "nosuch", one, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    site.run("scancel", "-M", site.server, "-q", "normal", "-n", "asked")
    site.wait_end(one)
    assert site.run("scontrol", "-M", site.server, "show", "topology").stderr.endswith(
        "No topology information available\n"
    )


def test_script_and_submit_line_of_a_job(site: Site) -> None:
    text = "#!/bin/sh\necho kept\n"
    job = site.sbatch("-H", "-t", "5", "--export=ALL,A=secret", site.script("kept.sh", text), "an argument")
    line = site.run("sacct", "-X", "-n", "-P", "-j", job, "-o", "submitline").stdout
    assert line == f"sbatch -H -t 5 --export=ALL,A=*** {site.work}/kept.sh an argument\n"
    shown = site.run("sacct", "-B", "-j", job).stdout
    assert shown == f"Batch Script for {job}\n{'-' * 80}\n{text}\n"
    assert site.run("sacct", "--env-vars", "-j", job).stdout.endswith("\nNONE\n\n")
    (found,) = yaml.safe_load(site.run("sacct", "--yaml", "-j", job).stdout)["jobs"]
    assert found["job_id"] == int(job)
    site.run("scancel", job)
    site.wait_end(job)


def test_a_node_that_there_is_not(site: Site) -> None:
    done = site.run("squeue", "-w", "nowhere", check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "squeue: error: Invalid node name nowhere\n")


def test_told_at_length(site: Site) -> None:
    assert site.run("scontrol", "-v", "show", "partition").stdout.startswith("last_update_time=")
    assert "verbose     = 1" in site.run("squeue", "-v").stdout
    done = site.run("sbatch", "-vv", "--hold", "--wrap=true")
    assert "sbatch: verbose             : 2" in done.stderr and "sbatch: debug:  cluster https://" in done.stderr


def test_requests_from_standard_input(site: Site) -> None:
    done = site.run("scontrol", stdin="ping\n!!\nshow job 999999\nquit\nversion\n", check=False)
    assert done.stdout.count(" is UP") == 2
    assert (done.returncode, done.stderr) == (1, "slurm_load_jobs error: Invalid job id specified\n")


def test_pidinfo_in_a_job(site: Site) -> None:
    done = site.run("scontrol", "pidinfo", "1", check=False)
    assert (done.returncode, done.stderr) == (1, "Failed to locate job for requested pid\n")


def test_details_of_a_job(site: Site) -> None:
    job = site.sbatch(
        "-N2", "--mem=100M", "-o", "/dev/null", "--wrap", "srun -n1 sh -c 'exit 3'; until [ -e go ]; do sleep 0.1; done"
    )
    site.wait_state(job, "R")
    assert "CPU_IDs" not in site.run("scontrol", "show", "job", job).stdout
    wait_for("the step", lambda: "DerivedExitCode=3:0" in site.run("scontrol", "-d", "show", "job", job).stdout)
    text = site.run("scontrol", "-d", "show", "job", job).stdout
    nodes = re.search(r"^   NodeList=(\S+)$", text, re.M)
    assert nodes is not None
    assert f"\n   JOB_GRES=(null)\n     Nodes={nodes[1]} CPU_IDs= Mem=100 GRES=\n" in text
    (site.work / "go").touch()


def test_a_heterogeneous_job(site: Site) -> None:
    """Each component is shown as a job."""
    script = (
        "#!/bin/sh\n#SBATCH -n1 -c2 --mem-per-cpu=100 -J het -o out\n#SBATCH hetjob\n#SBATCH -N2 -n2 --mem-per-cpu=60\n"
        "srun --het-group=1 true\nuntil [ -e go ]; do sleep 0.1; done\n"
    )
    job = site.sbatch(site.script("het.sh", script))
    site.wait_state(job, "R")
    form = ("squeue", "-h", "-j", job, "-o", "%i %C %D")
    assert site.run(*form).stdout == f"{job}+0 2 1\n{job}+1 2 2\n"
    assert site.run("squeue", "-h", "-o", "%i", "-n", "het").stdout.split() == [f"{job}+0", f"{job}+1"]
    fields = "hetjobid:8,hetjoboffset:4,numtasks:4"
    assert [line.split() for line in site.run("squeue", "-h", "-j", job, "-O", fields).stdout.splitlines()] == [
        [job, "0", "1"],
        [job, "1", "2"],
    ]
    shown = site.run("scontrol", "show", "job", job).stdout
    assert re.findall(r"^JobId=(\d+) HetJobId=(\d+) HetJobOffset=(\d) ", shown, re.M) == [
        (job, job, "0"),
        (job, job, "1"),
    ]
    assert re.findall(r"CPUs/Task=(\d) ", shown) == ["2", "1"]
    assert re.findall(r"MinMemoryCPU=(\S+)", shown) == ["100M", "60M"]
    one = site.run("scontrol", "show", "job", f"{job}+1").stdout
    assert "HetJobOffset=1 " in one and "HetJobOffset=0" not in one
    unknown = site.run("scontrol", "show", "job", f"{job}+2", check=False)
    assert (unknown.returncode, unknown.stderr) == (1, "slurm_load_jobs error: Invalid job id specified\n")
    refused = site.run("scancel", f"{job}+1", check=False)
    assert refused.returncode == 1
    assert f"the components of a heterogeneous job are one job here, {job}" in refused.stderr
    (site.work / "go").touch()
    site.wait_end(job)
    lines = site.run("sacct", "-n", "-P", "-j", job, "-o", "jobid,alloccpus,state").stdout.splitlines()
    assert lines == [
        f"{job}+0|2|COMPLETED",
        f"{job}+0.batch|2|COMPLETED",
        f"{job}+1|2|COMPLETED",
        f"{job}+1.extern|2|COMPLETED",
        f"{job}+1.0|2|COMPLETED",
    ]
