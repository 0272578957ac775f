"""The commands as users run them, against the engine's API server, with a few lines in the controller's place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from hpcbatch.api.resources import BATCHJOBS, NODES
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Store
from hpcbatch.engine.server.certificates import ensure_certificate
from hpcbatch.engine.server.kubeconfig import write_kubeconfig
from hpcbatch.engine.server.server import ApiServer
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import ExecHost
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from tests.component.batchjobs import NS, Answering, put_job, record_of
from tests.waiting import wait_for

HEADING = """\
Job id            Name             User              Time Use S Queue
----------------  ---------------- ----------------  -------- - -----
"""


@dataclass
class Cluster:
    registry: Registry
    directory: Path

    def run(self, command: str, *arguments: str, stdin: str = "", **environ: str) -> tuple[str, str, int]:
        """Standard output, standard error and exit code."""
        done = subprocess.run(
            self.arguments(command, *arguments),
            input=stdin,
            capture_output=True,
            check=False,
            text=True,
            cwd=self.directory,
            env=self.environ | environ,
            timeout=60,
        )
        return done.stdout, done.stderr, done.returncode

    @staticmethod
    def arguments(command: str, *arguments: str) -> list[str]:
        return [str(Path(sys.executable).with_name(command)), *arguments]

    @property
    def environ(self) -> dict[str, str]:
        inherited = {
            name: os.environ[name] for name in ("PATH", "HOME", "PYTHONDONTWRITEBYTECODE") if name in os.environ
        }
        return inherited | {"HPCBATCH_KUBECONFIG": str(self.directory / "kubeconfig"), "TZ": "UTC"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    directory = tmp_path_factory.mktemp("cluster")
    store = Store(":memory:")
    registry = Registry(store)
    registry.install_builtin()
    certificate = ensure_certificate(directory)
    api = ApiServer(registry, port=0, cert_file=certificate.cert_file, key_file=certificate.key_file, token="t")
    url = f"https://127.0.0.1:{api.start()}"
    write_kubeconfig(directory / "kubeconfig", server=url, cluster="pbs1", ca_file=certificate.cert_file, token="t")
    with Answering(registry):
        yield Cluster(registry, directory)
    api.stop()
    store.close()


@pytest.fixture
def cluster(server: Cluster) -> Iterator[Cluster]:
    """With a running job 2, a queued 3, a finished 4, and a held one of Slurm, 5."""
    registry, now = server.registry, datetime.now(UTC).replace(microsecond=0)
    started: dict[str, Any] = {
        "start_time": now - timedelta(minutes=2),
        "hosts": (ExecHost(node="node-0", pod="p", cpus=2),),
    }
    put_job(registry, 2, JobState.RUNNING, **started)
    put_job(registry, 3, JobState.QUEUED, reason=Reason.RESOURCES)
    put_job(registry, 4, JobState.FINISHED, end_time=now, exit_code=0, cpu_used_s=5, walltime_used_s=60, **started)
    spec = JobSpec(dialect=Dialect.SLURM, name="wrap", chunks=(Chunk(),), hold=True, server="pbs1", work_dir="/w")
    put_job(registry, 5, JobState.HELD, spec=spec, reason=Reason.HELD_BY_USER)
    yield server
    for job in registry.list(BATCHJOBS).items:
        registry.delete(BATCHJOBS, job["metadata"]["name"], NS)


def row(number: int, name: str, used: str, letter: str) -> str:
    return f"{f'{number}.pbs1':<17} {name:<16} {'alice':<16}  {used:>8} {letter} {'default':<16}\n"


RUNNING, QUEUED = row(2, "job2", "00:00:00", "R"), row(3, "job3", "0", "Q")
FINISHED, HELD = row(4, "job4", "00:00:05", "F"), row(5, "wrap", "0", "H")
UNKNOWN = "qstat: Unknown Job Id 999.pbs1\n"


@pytest.mark.parametrize(
    ("arguments", "out", "err", "code"),
    [
        ("", HEADING + RUNNING + QUEUED + HELD, "", 0),
        ("-x", HEADING + RUNNING + QUEUED + FINISHED + HELD, "", 0),
        ("2", HEADING + RUNNING, "", 0),
        ("3.pbs1 2", HEADING + QUEUED + RUNNING, "", 0),
        ("999", "", UNKNOWN, 153),
        ("999 2", RUNNING, UNKNOWN, 153),
        ("2 999 3", HEADING + RUNNING + QUEUED, UNKNOWN, 153),
        ("2 3 4 5 999 998", HEADING + RUNNING + QUEUED + HELD, "", 153),
        (
            "4",
            "",
            "qstat: 4.pbs1 Job has finished, use -x or -H to obtain historical job information\n",
            35,
        ),
        ("-x 4", HEADING + FINISHED, "", 0),
        ("default", HEADING + RUNNING + QUEUED + HELD, "", 0),
        ("@pbs1", HEADING + RUNNING + QUEUED + HELD, "", 0),
        ("nosuch", "", "qstat: Unknown queue destination nosuch\n", 170),
        ("nosuch@pbs1", "", "qstat: Unknown queue destination nosuch\n", 170),
        ("5@nosuch", "", "Unknown Host.\nqstat: cannot connect to server pbs1 (errno=15008)\n", 255),
        ("5@pbs1", HEADING + HELD, "", 0),
        ("-u nosuch", "", "", 0),
        ("-J", "", "", 0),
    ],
)
def test_qstat(cluster: Cluster, arguments: str, out: str, err: str, code: int) -> None:
    found = cluster.run("qstat", *arguments.split())
    assert (found[0], found[2]) == (out, code)
    assert found[1] == err or (not err and code)


@pytest.mark.parametrize(
    ("option", "numbers"),
    [("-a", [2, 3, 5]), ("-i", [3, 5]), ("-r", [2]), ("-H", [4]), ("-xu alice", [2, 3, 4, 5]), ("-ns", [2, 3, 5])],
)
def test_qstat_selects(cluster: Cluster, option: str, numbers: list[int]) -> None:
    out, err, code = cluster.run("qstat", *option.split())
    assert out.startswith("\npbs1: \n")
    assert [int(line.partition(".")[0]) for line in out.splitlines() if ".pbs1 " in line] == numbers
    assert (err, code) == ("", 0)


def test_qstat_shows_all_of_a_job(cluster: Cluster) -> None:
    out, _, code = cluster.run("qstat", "-f", "2")
    assert out.startswith("Job Id: 2.pbs1\n    Job_Name = job2\n")
    assert "    exec_host = node-0/0*2\n" in out
    assert code == 0
    documents = json.loads(cluster.run("qstat", "-x", "-f", "-F", "json")[0])
    assert list(documents["Jobs"]) == ["2.pbs1", "3.pbs1", "4.pbs1", "5.pbs1"]
    assert documents["Jobs"]["4.pbs1"]["Exit_status"] == 0
    out, err, code = cluster.run("qstat", "-f", "-F", "json", "999")
    assert "Jobs" not in json.loads(out)
    assert (err, code) == (UNKNOWN, 153)


def test_qstat_counts(cluster: Cluster) -> None:
    out, _, _ = cluster.run("qstat", "-Q")
    assert out.splitlines()[2].split() == "default 0 3 yes yes 1 1 1 0 0 0 Exe*".split()
    assert cluster.run("qstat", "-Q", "nosuch")[1:] == ("qstat: Unknown queue destination nosuch\n", 170)
    out, _, _ = cluster.run("qstat", "-B")
    assert out.splitlines()[2].split() == "pbs1 0 4 1 1 1 0 0 0 Active".split()
    assert "default_queue = default" in cluster.run("qstat", "-B", "-f")[0]
    assert "default" in cluster.run("qstat", "-q")[0]


@pytest.mark.parametrize(
    ("command", "arguments", "err", "code"),
    [
        ("qdel", "999", "qdel: Unknown Job Id 999.pbs1\n", 153),
        ("qdel", "4", "qdel: Job has finished 4.pbs1\n", 35),
        ("qdel", "abc", "qdel: illegally formed job identifier: abc\n", 1),
        ("qdel", "abc 999", "qdel: illegally formed job identifier: abc\nqdel: Unknown Job Id 999.pbs1\n", 153),
        ("qhold", "999", "qhold: Unknown Job Id 999.pbs1\n", 153),
        ("qhold", "-h p 3", "qhold: Unauthorized Request  3.pbs1\n", 159),
        ("qhold", "-h n 3", "", 0),
        ("qrls", "999", "qrls: Unknown Job Id 999.pbs1\n", 153),
        ("scancel", "999", "", 0),
        ("scancel", "4", "", 0),
        ("scancel", "abc", "scancel: error: Invalid job id abc\n", 1),
        ("scancel", "", "scancel: error: No job identification provided\n", 1),
        (
            "scancel",
            "-v 4",
            "scancel: Terminating job 4\n"
            "scancel: error: Kill job error on job id 4: Job/step already completing or completed\n",
            0,
        ),
        (
            "scancel",
            "-t PENDING 2",
            "scancel: error: Kill job error on job id 2: Invalid job id specified\n",
            1,
        ),
        ("scancel", "-n nosuch", "", 0),
        (
            "scontrol",
            "hold 999",
            "Invalid job id specified for job 999\nslurm_suspend error: Invalid job id specified\n",
            1,
        ),
        ("scontrol", "show job 999", "slurm_load_jobs error: Invalid job id specified\n", 1),
        ("squeue", "-j 999", "slurm_load_jobs error: Invalid job id specified\n", 1),
        ("squeue", "-j abc", "squeue: error: Invalid job id: abc\n", 1),
        ("pbsnodes", "nosuch", "Node: nosuch,  Error: Unknown node \n", 1),
        ("qsub", "none.pbs", "qsub: script file:: No such file or directory\n", 1),
        ("qsub", ".", "qsub: script not a file\n", 1),
        ("sbatch", "none.sh", "sbatch: error: Unable to open file none.sh\n", 1),
    ],
)
def test_errors_as_recorded(cluster: Cluster, command: str, arguments: str, err: str, code: int) -> None:
    assert cluster.run(command, *arguments.split()) == ("", err, code)


@pytest.mark.parametrize(
    ("command", "arguments", "states"),
    [
        ("qdel", "3 2", {2: JobState.DELETED, 3: JobState.DELETED}),
        ("qdel", "999 3", {3: JobState.DELETED}),
        ("qdel", "-W force 5", {5: JobState.DELETED}),
        ("qhold", "3", {3: JobState.HELD}),
        ("qrls", "5", {5: JobState.QUEUED}),
        ("scancel", "3", {3: JobState.DELETED}),
        ("scancel", "-u alice", dict.fromkeys((2, 3, 5), JobState.DELETED)),
        ("scancel", "-t PENDING", dict.fromkeys((3, 5), JobState.DELETED)),
        ("scontrol", "hold 3", {3: JobState.HELD}),
        ("scontrol", "release 5", {5: JobState.QUEUED}),
    ],
)
def test_requests_show_at_once(cluster: Cluster, command: str, arguments: str, states: dict[int, JobState]) -> None:
    cluster.run(command, *arguments.split())
    before = {2: JobState.RUNNING, 3: JobState.QUEUED, 4: JobState.FINISHED, 5: JobState.HELD}
    after = {number: record_of(cluster.registry, f"pbs-{number}").status.state for number in before}
    assert after == before | states


def test_qdel_x_removes_the_history(cluster: Cluster) -> None:
    assert cluster.run("qdel", "-x", "4") == ("", "", 0)
    assert cluster.run("qstat", "-x", "4") == ("", "qstat: Unknown Job Id 4.pbs1\n", 153)


def test_squeue(cluster: Cluster) -> None:
    assert cluster.run("squeue", "-h", "-o", "%i %t %r") == ("3 PD Resources\n5 PD JobHeldUser\n2 R None\n", "", 0)
    assert cluster.run("squeue", "-h", "-j", "4", "-o", "%i") == ("", "", 0)
    assert cluster.run("squeue", "-h", "-t", "all", "-j", "4", "-o", "%i %t") == ("4 CD\n", "", 0)
    assert cluster.run("squeue", "-h", "-j", "999,3", "-o", "%i") == ("3\n", "", 0)
    assert cluster.run("squeue", "-h", "-j", "5,2,3,4,999,998", "-o", "%i", "-S", "i") == ("2\n3\n5\n", "", 0)
    assert cluster.run("squeue", "--version") == ("slurm 22.05.8\n", "", 0)


def test_scontrol_shows_jobs(cluster: Cluster) -> None:
    out, _, code = cluster.run("scontrol", "show", "job", "2")
    assert out.startswith("JobId=2 JobName=job2\n   UserId=alice(0) GroupId=root(0)")
    assert out.endswith("\n\n")
    assert code == 0
    out, _, _ = cluster.run("scontrol", "-o", "show", "job")
    assert [line.partition(" ")[0] for line in out.splitlines()] == [f"JobId={number}" for number in (2, 3, 4, 5)]
    assert cluster.run("scontrol", "show", "hostnames", "n[1-2]") == ("n1\nn2\n", "", 0)
    assert cluster.run("scontrol", "ping") == ("Slurmctld(primary) at pbs1 is UP\n", "", 0)


def test_nodes_and_partitions(cluster: Cluster) -> None:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "node-0"},
        "status": {
            "allocatable": {"cpu": "2", "memory": "4Gi", "pods": "10"},
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-21T10:00:00Z"}],
        },
    }
    cluster.registry.create(NODES, node)
    try:
        out, _, code = cluster.run("pbsnodes", "-a")
        assert out.startswith("node-0\n     Mom = node-0\n     ntype = PBS\n     state = free\n     pcpus = 2\n")
        assert code == 0
        assert "node-0" in json.loads(cluster.run("pbsnodes", "-a", "-F", "json")[0])["nodes"]
        assert cluster.run("pbsnodes", "-l") == ("", "", 0)
        out, err, code = cluster.run("pbsnodes", "nosuch", "node-0")
        assert out.startswith("node-0\n")
        assert (err, code) == ("Node: nosuch,  Error: Unknown node \n", 1)
        assert cluster.run("sinfo", "-h") == (f"{'default*':<9}    up   infinite      1   idle node-0\n", "", 0)
        assert cluster.run("scontrol", "show", "node", "node-0")[0].startswith("NodeName=node-0 ")
        assert cluster.run("scontrol", "show", "partition")[0].startswith("PartitionName=default\n")
        assert cluster.run("scontrol", "show", "node", "x") == ("Node x not found\n", "", 1)
        shown, err, code = cluster.run("scontrol", "show", "node", "x,node-0")
        assert shown.startswith("Node x not found\nNodeName=node-0 ")
        assert (err, code) == ("", 1)
        assert cluster.run("scontrol", "show", "partition", "x") == ("Partition x not found\n", "", 1)
    finally:
        cluster.registry.delete(NODES, "node-0")


def test_submission(cluster: Cluster) -> None:
    (cluster.directory / "job.pbs").write_text("#!/bin/sh\n#PBS -N ring -h\n#PBS -M a@b -m e\nhostname\n")
    out, err, code = cluster.run("qsub", "job.pbs")
    number = out.removesuffix(".pbs1\n")
    assert number.isdigit()
    assert err == "qsub: this site sends no mail; -m and -M are only kept in the job's record\n"
    assert code == 0
    assert f"\n{number}.pbs1 " in cluster.run("qstat", number)[0]
    assert cluster.run("qsub", "-z", "--", "/bin/true")[0] == ""
    out, err, code = cluster.run("sbatch", "--wrap", "true")
    assert (out.startswith("Submitted batch job "), err, code) == (True, "", 0)
    assert cluster.run("sbatch", "--parsable", stdin="#!/bin/sh\ntrue\n")[0].strip().isdigit()
    out, _, _ = cluster.run("qstat", "-f", number, PBS_DEFAULT="pbs1")
    assert "Variable_List = PBS_O_" in out


def test_dry_run_needs_no_cluster(cluster: Cluster) -> None:
    for command, arguments in (("qsub", ["-l", "select=2:ncpus=1"]), ("sbatch", ["-N", "2"])):
        out, err, code = cluster.run(
            command, "--dry-run", *arguments, stdin="#!/bin/sh\nhostname\n", HPCBATCH_KUBECONFIG="", HOME="/nonexistent"
        )
        assert (err, code) == ("", 0)
        assert [document["kind"] for document in yaml.safe_load_all(out)] == ["ConfigMap", "Job"]


@pytest.mark.parametrize(
    ("command", "arguments", "err", "code"),
    [
        ("qstat", "", "qstat: cannot connect to server pbs1 (errno=15010)", 255),
        ("qsub", "-- /bin/true", "qsub: cannot connect to server pbs1 (errno=15010)", 255),
        ("qdel", "3 4", "qdel: cannot connect to server pbs1 (errno=15010)", 255),
        ("pbsnodes", "-a", "pbsnodes: cannot connect to server pbs1 (errno=15010)", 255),
        ("squeue", "", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)", 1),
        (
            "sbatch",
            "--wrap true",
            "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)",
            1,
        ),
        ("sinfo", "", "slurm_load_partitions: Unable to contact slurm controller (connect failure)", 1),
        ("scancel", "3", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)", 1),
        ("sacct", "", "sacct: error: Problem talking to the database: Connection refused", 1),
        ("sacctmgr", "show user", "sacctmgr: error: Problem talking to the database: Connection refused", 1),
        ("sshare", "", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)", 1),
        ("sdiag", "", "slurm_get_statistics: Unable to contact slurm controller (connect failure)", 1),
        ("seff", "3", "seff: error: Problem talking to the database: Connection refused", 1),
        ("tracejob", "3", "tracejob: cannot connect to server pbs1 (errno=15010)", 255),
    ],
)
def test_no_server(cluster: Cluster, command: str, arguments: str, err: str, code: int) -> None:
    config = json.loads((cluster.directory / "kubeconfig").read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    away = cluster.directory / "away"
    away.write_text(json.dumps(config))
    found = cluster.run(command, *arguments.split(), HPCBATCH_KUBECONFIG=str(away))
    assert (found[0], found[2]) == ("", code)
    first, second = found[1].splitlines()
    assert first == err
    assert second.startswith(f"{command}: nothing answers at https://127.0.0.1:1: is the cluster up?")


def test_another_server_in_pbs_default(cluster: Cluster) -> None:
    expected = "Unknown Host.\nqstat: cannot connect to server nosuch (errno=15008)\n"
    assert cluster.run("qstat", PBS_DEFAULT="nosuch") == ("", expected, 255)
    expected = "Unknown Host.\npbsnodes: cannot connect to server nosuch, error=15008\n"
    assert cluster.run("pbsnodes", "-a", PBS_DEFAULT="nosuch") == ("", expected, 1)
    assert cluster.run("pbsnodes", "-a", "-s", "nosuch") == ("", expected, 1)
    assert cluster.run("pbsnodes", "-l", "-s", "pbs1") == ("", "", 0)


def test_bad_token(cluster: Cluster) -> None:
    config = json.loads((cluster.directory / "kubeconfig").read_text())
    config["users"][0]["user"]["token"] = "wrong"
    stale = cluster.directory / "stale"
    stale.write_text(json.dumps(config))
    out, err, code = cluster.run("qstat", HPCBATCH_KUBECONFIG=str(stale))
    assert (out, code) == ("", 255)
    assert err.startswith("qstat: cannot connect to server pbs1")


def test_status_and_watch(cluster: Cluster) -> None:
    out, err, code = cluster.run("hpcbatch", "status", HPCBATCH_STATE_DIR=str(cluster.directory))
    assert (err, code) == ("", 0)
    assert "jobs     1 running, 1 queued, 1 held, 1 ended\n" in out
    assert cluster.run("hpcbatch", "watch", "999")[1:] == ("hpcbatch: there is no job 999\n", 1)
    assert cluster.run("hpcbatch", "watch", "abc")[1:] == ("hpcbatch: 'abc' is not a job id\n", 2)
    out, _, code = cluster.run("hpcbatch", "watch", "4")
    assert (out[9:], code) == ("job 4 (job4) finished on node-0\n", 0)
    process = subprocess.Popen(
        cluster.arguments("hpcbatch", "watch", "3", "5"), env=cluster.environ, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert "job 3 (job3) queued Resources" in process.stdout.readline()
    assert "job 5 (wrap) held" in process.stdout.readline()
    cluster.run("qdel", "3")
    assert "job 3 (job3) deleted" in process.stdout.readline()
    cluster.registry.delete(BATCHJOBS, "pbs-5", NS)
    wait_for("the watch to end", lambda: process.poll() is not None)
    assert process.returncode == 1, "job 3 was deleted"
