"""A site with two queues on the embedded engine: limits, defaults, refusals, changes while it runs, a bad file."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.site import BIN, Site, login_environment
from tests.waiting import wait_for

HEAD = "apiVersion: hpcbatch.io/v1alpha1\nkind: SiteConfiguration\n"
LIMITS = f"""{HEAD}serverName: sitetest
allowedImages: ["registry.site/*"]
nodeProperties:
  second: {{kubernetes.io/hostname: node-1}}
queues:
- {{name: workq, volcanoQueue: default, default: true, maxWalltime: 01:00:00, defaultWalltime: 10m, maxNodes: 2,
   maxCPUs: 3, maxMemoryPerNode: 1Gi, defaultMemoryPerNode: 256Mi}}
- {{name: long, volcanoQueue: default, maxWalltime: 7-00:00:00, nodeSelector: {{kubernetes.io/hostname: node-0}}}}
"""
OVER = "qsub: Job violates queue and/or server resource limits\n"
FAILED = "sbatch: error: Batch job submission failed:"
NS = ("-n", "hpcbatch-system")


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    directory = tmp_path_factory.mktemp("site")
    env = login_environment(directory)
    (directory / "site.yaml").write_text(LIMITS)
    up = [
        str(BIN / "hpcbatch"),
        "up",
        "--nodes",
        "3",
        "--cpus",
        "2",
        "--mem",
        "4G",
        "--site",
        str(directory / "site.yaml"),
    ]
    subprocess.run(up, env=env, check=True, timeout=60)
    yield env
    subprocess.run([str(BIN / "hpcbatch"), "down"], env=env, check=True, timeout=60)


@pytest.fixture
def site(env: dict[str, str], tmp_path: Path) -> Iterator[Site]:
    site = Site(env, tmp_path)
    (tmp_path / "site.yaml").write_text(LIMITS)
    if in_force(site) != LIMITS or fault(site):
        put(site, LIMITS)
    yield site
    if left := site.run("squeue", "-h", "-o", "%i").stdout.split():
        site.run("scancel", *left)


def put(site: Site, text: str) -> None:
    """As the admin does, and wait until it is in force or refused."""
    (site.work / "site.yaml").write_text(text)
    made = site.run(
        "kubectl",
        *NS,
        "create",
        "configmap",
        "hpcbatch-site",
        f"--from-file={site.work}/site.yaml",
        "--dry-run=client",
        "-o",
        "json",
    ).stdout
    site.run("kubectl", "replace", "-f", "-", stdin=made)
    wait_for("an answer to the site file", lambda: in_force(site) == text or fault(site))


def in_force(site: Site) -> str:
    return str(configmap(site, "hpcbatch-site-in-force")["data"]["site.yaml"])


def fault(site: Site) -> str:
    return str(configmap(site, "hpcbatch-site")["metadata"].get("annotations", {}).get("hpcbatch.io/error", ""))


def configmap(site: Site, name: str) -> dict[str, dict[str, dict[str, str]]]:
    return dict(json.loads(site.run("kubectl", *NS, "get", "configmap", name, "-o", "json").stdout))


@pytest.mark.parametrize(
    ("arguments", "error", "code"),
    [
        ("-l walltime=02:00:00", OVER + "qsub: walltime: 02:00:00 asked, at most 01:00:00 in workq\n", 188),
        ("-l select=3:ncpus=1 -l place=scatter", OVER + "qsub: nodes: 3 asked, at most 2 in workq\n", 188),
        ("-l select=2:ncpus=2", OVER + "qsub: CPUs: 4 asked, at most 3 in workq\n", 188),
        ("-l select=1:ncpus=1:mem=2gb", OVER + "qsub: memory of a node: 2Gi asked, at most 1Gi in workq\n", 188),
        ("-q nosuch", "qsub: Unknown queue\nqsub: no queue nosuch; there are: long, workq\n", 170),
        ("-q default", "qsub: Unknown queue\nqsub: no queue default; there are: long, workq\n", 170),
        ("-l ngpus=1,foo=2", "qsub: Unknown resource Resource_List.foo\n", 187),
        ("-l nodes=1:haswell", "qsub: Unknown resource select.haswell\n", 187),
        (
            "-q long -l nodes=1:second",
            "qsub: no node can have both: queue long needs kubernetes.io/hostname=node-0, "
            "property second kubernetes.io/hostname=node-1\n",
            166,
        ),
        (
            "-v CONTAINER_IMAGE=evil/image:1",
            "qsub: Unauthorized Request\nqsub: image evil/image:1 is not allowed in workq\n",
            159,
        ),
    ],
)
def test_pbs_refusals(site: Site, arguments: str, error: str, code: int) -> None:
    done = site.run("qsub", *arguments.split(), stdin="true\n", check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("", error, code)


@pytest.mark.parametrize(
    ("arguments", "detail", "text"),
    [
        (
            "-t 2:00:00",
            "walltime: 02:00:00 asked, at most 01:00:00 in workq",
            "Requested time limit is invalid (missing or exceeds some limit)",
        ),
        ("-N 3", "nodes: 3 asked, at most 2 in workq", "Node count specification invalid"),
        ("-N 2 -n 4", "CPUs: 4 asked, at most 3 in workq", "More processors requested than permitted"),
        ("--mem 2G", "memory of a node: 2Gi asked, at most 1Gi in workq", "Memory required by task is not available"),
        ("-p nosuch", "invalid partition specified: nosuch", "Invalid partition name specified"),
        ("-C haswell", "no node has the feature haswell", "Invalid feature specification"),
        (
            "-p long --mem=5G",
            "Memory specification can not be satisfied",
            "Requested node configuration is not available",
        ),
        ("--container-image=evil/image:1", "image evil/image:1 is not allowed in workq", "Access/permission denied"),
    ],
)
def test_slurm_refusals(site: Site, arguments: str, detail: str, text: str) -> None:
    done = site.run("sbatch", *arguments.split(), "--wrap", "true", check=False)
    assert (done.stdout, done.returncode) == ("", 1)
    assert done.stderr == f"sbatch: error: {detail}\n{FAILED} {text}\n"


def test_the_engine_makes_the_volcano_queues(site: Site) -> None:
    put(site, f"{LIMITS}- {{name: later.on}}\n")
    job = site.qsub("-q", "later.on", "-N", "in", "-j", "oe", stdin="echo $PBS_QUEUE\n")
    assert site.wait_end(job)["Exit_status"] == 0
    assert site.read(f"in.o{job}") == "later.on\n"


def test_where_nodes_may_come_nothing_is_refused_for_want_of_them(site: Site) -> None:
    put(site, f"{LIMITS}autoscaling: true\n")
    job = site.sbatch("-p", "long", "-N2", "--gres=gpu:1", "--mem=5G", "-J", "gres", "--wrap=true")
    assert site.run("squeue", "-h", "-j", job, "-o", "%b").stdout == "gres:gpu:1\n"
    assert "TresPerNode=gres:gpu:1" in site.run("scontrol", "show", "job", job).stdout
    wait_for("the reason", lambda: site.run("squeue", "-h", "-j", job, "-o", "%R").stdout == "(PartitionConfig)\n")


def test_defaults_show_and_rule(site: Site) -> None:
    job = site.qsub("-o", str(site.work / "out"), "-j", "oe", stdin="echo $PBS_WALLTIME\nsleep 60\n")
    asked = site.attributes(job)["Resource_List"]
    assert (asked["walltime"], asked["mem"]) == ("00:10:00", "256mb")
    assert site.run("squeue", "-h", "-j", job, "-o", "%P %l %m").stdout == "workq 10:00 256M\n"
    shown = site.run("scontrol", "show", "job", job).stdout
    assert "TimeLimit=00:10:00" in shown
    assert "MinMemoryNode=256M" in shown
    site.wait_state(job, "R")
    wait_for("the variable", lambda: [file.read_text() for file in site.work.glob("*.OU.running")] == ["600\n"])
    made = json.loads(site.run("kubectl", "get", "pods", "-l", f"hpcbatch.io/job-id={job}", "-o", "json").stdout)
    (pod,) = made["items"]
    assert pod["spec"]["containers"][0]["resources"]["limits"]["memory"] == str(256 << 20)


def test_what_the_site_says_reaches_the_job(site: Site) -> None:
    out = site.work / "out"
    job = site.sbatch("-p", "long", "-o", str(out), "--wrap", "echo $SLURM_CLUSTER_NAME $SLURM_JOB_PARTITION")
    assert site.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%l").stdout == "7-00:00:00\n"
    site.wait_end(job)
    assert out.read_text() == "sitetest long\n"
    job = site.qsub("-l", "nodes=1:second", "-o", str(out), stdin="true\n")
    assert site.wait_end(job)["exec_host"] == "node-1/0"


def test_listings(site: Site) -> None:
    full = site.run("qstat", "-Qf").stdout
    workq, long = full.split("Queue: ")[1:]
    for line in (
        "resources_max.mem = 2097152kb",
        "resources_max.ncpus = 3",
        "resources_max.nodect = 2",
        "resources_max.walltime = 01:00:00",
        "resources_default.walltime = 00:10:00",
        "default_chunk.mem = 262144kb",
        "enabled = True",
    ):
        assert f"    {line}\n" in workq
    assert re.findall(r"resources_(?:max|default).*", long) == ["resources_max.walltime = 168:00:00"]
    limits = "workq               2gb    --    01:00:00    2     0     0   --   E R\n"
    assert [limits] == [line for line in site.run("qstat", "-q").stdout.splitlines(keepends=True) if "workq" in line]
    assert "default_queue = workq" in site.run("qstat", "-B", "-f").stdout
    assert site.run("sinfo", "-h", "-o", "%P %a %l %L %s %N").stdout == (
        "workq* up 1:00:00 10:00 1-2 node-[0-2]\nlong up 7-00:00:00 n/a 1-infinite node-0\n"
    )
    partition = site.run("scontrol", "-o", "show", "partition", "workq").stdout
    for word in (
        "Default=YES",
        "DefaultTime=00:10:00",
        "MaxTime=01:00:00",
        "MaxNodes=2",
        "DefMemPerNode=256",
        "MaxMemPerNode=1024",
    ):
        assert f" {word} " in partition
    assert "Nodes=node-0 " in site.run("scontrol", "-o", "show", "partition", "long").stdout
    assert "Partitions=workq " in site.run("scontrol", "-o", "show", "node", "node-1").stdout


def test_a_change_rules_from_then_on(site: Site) -> None:
    site.run("qsub", "-l", "walltime=02:00:00", "-h", stdin="true\n", check=False)
    put(site, LIMITS.replace("maxWalltime: 01:00:00", "maxWalltime: 03:00:00"))
    site.qsub("-l", "walltime=02:00:00", "-h", stdin="true\n")
    assert "03:00:00" in site.run("qstat", "-q").stdout


def test_a_bad_file_changes_nothing(site: Site) -> None:
    put(site, LIMITS.replace("maxWalltime: 01:00:00", "maxWaltime: 03:00:00"))
    assert fault(site) == "site.yaml:8:55: queues[0].maxWaltime: unknown key; did you mean maxWalltime?"
    assert in_force(site) == LIMITS
    assert site.run("qsub", "-l", "walltime=02:00:00", stdin="true\n", check=False).returncode == 188
    described = site.run("kubectl", *NS, "describe", "configmap", "hpcbatch-site").stdout
    assert "hpcbatch.io/error: site.yaml:8:" in described
    events = site.run("kubectl", *NS, "get", "events", "-o", "jsonpath={.items[*].reason}").stdout
    assert "BadSiteConfiguration" in events
    put(site, LIMITS)
    wait_for("no annotation", lambda: not fault(site))


def test_a_queue_that_vanished_keeps_its_jobs(site: Site) -> None:
    job = site.qsub("-h", "-q", "long", stdin="true\n")
    put(site, "".join(line for line in LIMITS.splitlines(keepends=True) if "name: long" not in line))
    site.run("qrls", job)
    wait_for("the reason", lambda: site.attributes(job).get("comment"))
    assert site.attributes(job)["comment"] == "Not Running: queue long is no longer in the site's configuration"
    assert site.run("squeue", "-h", "-j", job, "-o", "%T %r").stdout == "PENDING PartitionInactive\n"
    assert site.run("qsub", "-q", "long", stdin="true\n", check=False).returncode == 170
    put(site, LIMITS)
    site.wait_end(job)


def set_queue_state(site: Site, state: str) -> None:
    status = json.dumps({"status": {"state": state}})
    queue = ("queue.scheduling.volcano.sh", "default")
    site.run("kubectl", "patch", *queue, "--subresource=status", "--type=merge", "-p", status)


def test_a_closed_queue(site: Site) -> None:
    held = site.qsub("-h", stdin="true\n")
    set_queue_state(site, "Closed")
    try:
        wait_for("a closed queue", lambda: " D S" in site.run("qstat", "-q").stdout)
        refused = wait_for("a refusal", lambda: site.run("qsub", stdin="true\n", check=False).stderr)
        assert refused == "qsub: Queue is not enabled\n"
        site.run("qrls", held)
        comment = "Not Running: queue workq is closed"
        wait_for("the reason", lambda: site.attributes(held).get("comment") == comment)
    finally:
        set_queue_state(site, "Open")
    site.wait_end(held)


def test_a_bad_file_starts_no_engine(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text(HEAD + "images: x\n")
    other = {**env, **login_environment(tmp_path / "state")}
    for command in (["up", "--site"], ["site", "check", "--engine"]):
        done = subprocess.run(
            [str(BIN / "hpcbatch"), *command, str(tmp_path / "site.yaml")],
            env=other,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        fault = f"{tmp_path}/site.yaml:3:1: images: unknown key; did you mean image?\n"
        assert (done.stdout, done.stderr, done.returncode) == ("", fault, 1)
    assert not (tmp_path / "state" / "store.db").exists()


def test_a_file_that_cannot_be_read(site: Site) -> None:
    done = site.run("hpcbatch", "site", "check", "nosuch.yaml", check=False)
    assert (done.stderr, done.returncode) == ("hpcbatch: cannot read nosuch.yaml: No such file or directory\n", 1)


def test_a_file_in_order(site: Site) -> None:
    assert site.run("hpcbatch", "site", "check", "--engine", "site.yaml").stdout == "site.yaml: ok\n"
    wants_image = site.run("hpcbatch", "site", "check", "site.yaml", check=False)
    assert wants_image.returncode == 1
    assert "site.yaml:8:3: queues[0].image: missing: neither the queue nor the site" in wants_image.stderr


@pytest.mark.slow
def test_a_volume_that_cannot_be_mounted_is_told_of_while_the_job_waits_and_when_it_fails(site: Site) -> None:
    gone = site.work / "gone"
    volume = f"- {{name: gone, mountPath: /gone, hostPath: {{path: {gone}, type: Directory}}}}"
    put(site, f"{LIMITS}imagePullTimeout: 14\nvolumes:\n{volume}\n")
    pbs = site.qsub("-l", "select=2:ncpus=1", stdin="true\n")
    slurm = site.sbatch("--wrap", "true")
    why = 'FailedMount: MountVolume.SetUp failed for volume "site-gone" : hostPath type check failed: '

    def told() -> bool:
        waits = site.run("squeue", "-h", "-j", slurm, "-o", "%T %R").stdout == "PENDING (FailedMount)\n"
        return waits and site.attributes(pbs).get("comment", "").startswith(f"Not Running: {why}{gone}")

    wait_for("the reason", told, 60)
    shown = site.run("scontrol", "show", "job", slurm).stdout
    assert "Reason=FailedMount " in shown
    assert f"SystemComment={why}{gone}" in shown
    record = site.wait_end(pbs)
    assert record["Exit_status"] == -1
    assert re.match(rf"Job could not be started: pod job-{pbs}-\S+ on node \S+: {re.escape(why)}", record["comment"])
    site.wait_end(slurm)
    shown = site.run("scontrol", "show", "job", slurm).stdout
    assert "JobState=FAILED Reason=JobLaunchFailure" in shown
    assert re.search(rf"SystemComment=pod job-{slurm}-mpimaster-0 on node \S+: {re.escape(why)}", shown)
    assert why in site.run("sacct", "-X", "-n", "-P", "-j", slurm, "-o", "systemcomment").stdout
