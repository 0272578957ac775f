"""`hpcbatch explain` of a submitted job, and --explain, as users run them against the engine's API server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hpcbatch.model.dialect import Dialect
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState
from tests.component.batchjobs import put_job
from tests.component.test_commands import Cluster, server

__all__ = ["server"]  # the fixture

SCRIPT = "#!/bin/sh\n#PBS -l select=2:ncpus=1\n#PBS -q workq\nsleep 1\n"


@pytest.fixture
def script(server: Cluster) -> Path:
    path = server.directory / "job.pbs"
    path.write_text(SCRIPT)
    return path


def test_explain_submits_nothing(server: Cluster, script: Path) -> None:
    before = server.run("qstat", "-x")[0]
    out, err, code = server.run("qsub", "--explain", "-l", "walltime=1:00:00", "-q", "default", script.name)
    assert (err, code) == ("", 0)
    assert "walltime   01:00:00" in out
    assert "pods       2 × 1 CPU, 1 rank" in out
    assert server.run("qstat", "-x")[0] == before


def test_explain_knows_the_queues_of_the_cluster(server: Cluster, script: Path) -> None:
    out, _, code = server.run("hpcbatch", "explain", script.name)
    assert code == 1
    assert "queue  workq  refused  there is no such queue" in out


def test_explain_says_all_that_is_wrong(server: Cluster) -> None:
    (server.directory / "bad.sh").write_text("#!/bin/sh\n#SBATCH --time=never\n")
    out, err, code = server.run("sbatch", "--explain", "bad.sh")
    assert code == 1
    assert "Invalid --time specification" in out + err


def test_explain_needs_no_cluster(server: Cluster, script: Path) -> None:
    nowhere = {"HPCBATCH_KUBECONFIG": "", "HPCBATCH_STATE_DIR": str(server.directory / "none"), "KUBECONFIG": "/none"}
    out, _, code = server.run("hpcbatch", "explain", script.name, **nowhere)
    assert code == 0
    assert "names that are the site's to know: queue workq" in out
    assert server.run("qsub", "--dry-run", "-o", "elsewhere:/x", script.name, **nowhere)[2] == 0


def test_an_argument_of_the_script_is_no_option(server: Cluster) -> None:
    (server.directory / "args.sh").write_text("#!/bin/sh\n#SBATCH --time=never\n")
    _, err, code = server.run("sbatch", "args.sh", "--explain")
    assert (code, "Invalid --time specification" in err) == (255, True)


def test_a_job(server: Cluster, script: Path) -> None:
    number = server.run("qsub", script.name)[0].partition(".")[0]
    found = json.loads(server.run("hpcbatch", "explain", "--json", f"{number}.pbs1")[0])
    assert (found["command"], found["fit"]) == ("qsub", True)
    assert found["shape"]["queue"] == {"asked": "workq", "granted": "default"}
    assert found["shape"]["pods"] == {"asked": "2 × 1 CPU, 1 rank"}
    assert found["remarks"] == [f"job {number} of alice: Queued"]
    _, err, code = server.run("hpcbatch", "explain", "4712")
    assert (err, code) == ("hpcbatch: unknown job 4712\n", 1)


def test_what_is_ignored_of_a_job(server: Cluster) -> None:
    spec = JobSpec(dialect=Dialect.PBS, name="explained", queue="long", ignored=("-l nice=3: the nodes are the job's",))
    put_job(server.registry, 4711, JobState.QUEUED, spec=spec, ignored=("filesystems=home: all are mounted",))
    out, _, code = server.run("hpcbatch", "explain", "4711")
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert ["submission", "-l", "nice=3", "ignored", "the", "nodes", "are", "the", "job's"] in lines
    assert ["site", "filesystems=home", "ignored", "all", "are", "mounted"] in lines
    assert ["queue", "long", "default"] in lines
