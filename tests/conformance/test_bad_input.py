"""Nonsense gets one clear line in the dialect's words and its exit code, and leaves nothing half-done."""

from __future__ import annotations

import pytest

from tests.conformance.site import Site

PBS = [
    pytest.param(["nosuchfile.sh"], "", 1, "qsub: script file:: No such file or directory\n", id="missing script"),
    pytest.param(["-q", "nosuch"], "true\n", 170, "qsub: Unknown queue\n", id="unknown queue"),
    pytest.param(["-l", "foo=1"], "true\n", 187, "qsub: Unknown resource Resource_List.foo\n", id="unknown resource"),
    pytest.param(
        ["-l", "walltime=abc"], "true\n", 166, "qsub: Illegal attribute or resource value Resource_List.walltime\n",
        id="bad walltime",
    ),
    pytest.param(
        ["-l", "nodes=1", "-l", "select=1"], "true\n", 6, "qsub: Cannot be used with select or place: nodes\n",
        id="nodes and select",
    ),
]  # fmt: skip
SLURM = [
    pytest.param(["nosuchfile.sh"], "", 1, "sbatch: error: Unable to open file nosuchfile.sh\n", id="missing script"),
    pytest.param(
        ["-p", "nosuch", "--wrap", "true"], "", 1,
        "sbatch: error: invalid partition specified: nosuch\n"
        "sbatch: error: Batch job submission failed: Invalid partition name specified\n", id="unknown partition",
    ),
    pytest.param(
        ["--foo", "x.sh"], "", 255,
        "sbatch: unrecognized option '--foo'\nTry \"sbatch --help\" for more information\n", id="unknown option",
    ),
    pytest.param(
        ["-t", "abc", "--wrap", "true"], "", 255, "sbatch: error: Invalid --time specification\n", id="bad time"
    ),
]  # fmt: skip


def submissions(site: Site) -> set[str]:
    """The names of all that a submission makes. Those of ended jobs go while the cases run."""
    jobs = site.kubectl("get", "batchjobs", "-o", "name").stdout
    secrets = site.kubectl("get", "secrets", "--field-selector", "type=hpcbatch.io/submission", "-o", "name").stdout
    return {*jobs.split(), *secrets.split()}


@pytest.mark.parametrize(("argv", "stdin", "code", "stderr"), PBS)
def test_qsub(site: Site, argv: list[str], stdin: str, code: int, stderr: str) -> None:
    before = submissions(site)
    done = site.run("qsub", *argv, stdin=stdin, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", stderr)
    assert submissions(site) <= before


@pytest.mark.parametrize(("argv", "stdin", "code", "stderr"), SLURM)
def test_sbatch(site: Site, argv: list[str], stdin: str, code: int, stderr: str) -> None:
    before = submissions(site)
    done = site.run("sbatch", *argv, stdin=stdin, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", stderr)
    assert submissions(site) <= before


@pytest.mark.parametrize(
    ("command", "directive", "word"),
    [
        ("qsub", "#PBS -I", "-I"),
        ("sbatch", "#SBATCH --switches=1", "switches"),
        ("sbatch", "#SBATCH --gpu-bind=closest", "gpu-bind"),
    ],
)
def test_what_is_not_supported_yet_says_where(site: Site, command: str, directive: str, word: str) -> None:
    site.script("job.sh", f"#!/bin/sh\n# a comment\n{directive}\ntrue\n")
    before = submissions(site)
    done = site.run(command, "job.sh", check=False)
    assert done.returncode != 0
    assert done.stdout == ""
    assert "job.sh:3:" in done.stderr
    assert word in done.stderr
    assert "not supported yet" in done.stderr
    assert submissions(site) <= before


def test_no_engine_running(site: Site) -> None:
    dead = {"KUBECONFIG": "", "HOME": str(site.work), "HPCBATCH_STATE_DIR": str(site.work / "none")}
    pbs = site.run("qstat", check=False, env=dead)
    assert pbs.returncode == 255
    assert "cannot connect to server" in pbs.stderr
    slurm = site.run("squeue", check=False, env=dead)
    assert slurm.returncode == 1
    assert "Unable to contact slurm controller" in slurm.stderr
    for done in (pbs, slurm):
        assert "hpcbatch up" in done.stderr
        assert "Traceback" not in done.stderr


def test_it_is_told_once_that_a_site_sends_no_mail(site: Site) -> None:
    done = site.run("qsub", "-h", "-m", "abe", "-M", "me@example.org", stdin="true\n")
    assert done.stderr == "qsub: this site sends no mail; -m and -M are only kept in the job's record\n"
    job = done.stdout.split(".")[0]
    assert site.attributes(job)["Mail_Users"] == "me@example.org"
    site.run("qdel", job)


def test_dry_run_needs_no_cluster(site: Site) -> None:
    dead = {"KUBECONFIG": "", "HOME": str(site.work), "HPCBATCH_STATE_DIR": str(site.work / "none")}
    text = "#PBS -N dry\n#PBS -l select=3:ncpus=2:mpiprocs=2\nmpirun ./a.out\n"
    pbs = site.run("qsub", "--dry-run", stdin=text, env=dead).stdout
    slurm = site.run("sbatch", "--dry-run", "-N", "3", "--wrap", "true", env=dead).stdout
    for manifests in (pbs, slurm):
        assert "batch.volcano.sh/v1alpha1" in manifests
        assert "mpimaster" in manifests
        assert "mpiworker" in manifests
