"""Nonsense gets one clear line in the dialect's words and its exit code, and leaves nothing half-done."""

from __future__ import annotations

import json

import pytest

from tests.conformance.site import Site

PBS = [
    pytest.param(["nosuchfile.sh"], "", 1, "qsub: script file:: No such file or directory\n", id="missing script"),
    pytest.param(["-l", "foo=1"], "true\n", 187, "qsub: Unknown resource Resource_List.foo\n", id="unknown resource"),
    pytest.param(
        ["-l", "walltime=abc"],
        "true\n",
        166,
        "qsub: Illegal attribute or resource value Resource_List.walltime\n",
        id="bad walltime",
    ),
    pytest.param(
        ["-l", "nodes=1", "-l", "select=1"],
        "true\n",
        6,
        "qsub: Cannot be used with select or place: nodes\n",
        id="nodes and select",
    ),
]
SLURM = [
    pytest.param(["nosuchfile.sh"], "", 1, "sbatch: error: Unable to open file nosuchfile.sh\n", id="missing script"),
    pytest.param(
        ["-p", "nosuch", "--wrap", "true"],
        "",
        1,
        "sbatch: error: invalid partition specified: nosuch\n"
        "sbatch: error: Batch job submission failed: Invalid partition name specified\n",
        id="unknown partition",
    ),
    pytest.param(
        ["--foo", "x.sh"],
        "",
        255,
        "sbatch: unrecognized option '--foo'\nTry \"sbatch --help\" for more information\n",
        id="unknown option",
    ),
    pytest.param(
        ["-t", "abc", "--wrap", "true"], "", 255, "sbatch: error: Invalid --time specification\n", id="bad time"
    ),
]


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
        ("sbatch", "#SBATCH --constraint=a|[b|c]", "constraint"),
        ("sbatch", "#SBATCH --licenses=a|b", "licenses"),
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


NINES = "9" * 5000
UNFIT = [
    (["qsub", "-a", "000101010000"], 2, "qsub: illegal -a value\n"),
    (["qsub", "-a", "999912312359"], 2, "qsub: illegal -a value\n"),
    (["sbatch", "--begin=0001-01-01", "--wrap", "true"], 255, "Invalid time specification (pos=0): 0001-01-01\n"),
    (["sbatch", "--begin=now+999999999weeks", "--wrap", "true"], 255, "Invalid time specification (pos=0): now+"),
    (["sbatch", f"--begin=now+{NINES}", "--wrap", "true"], 255, "Invalid time specification (pos="),
    (["sbatch", f"--signal={NINES}", "--wrap", "true"], 255, "sbatch: error: Invalid --signal specification\n"),
    (["sacct", "-S", "0001-01-01"], 1, "Invalid time specification (pos=0): 0001-01-01\n"),
    (["qselect", "-a", "000101010000"], 2, "qselect: illegal -a value\n"),
]


@pytest.mark.parametrize(("argv", "code", "said"), UNFIT, ids=[" ".join(argv)[:30] for argv, _, _ in UNFIT])
def test_a_time_or_number_beyond_all_bounds(site: Site, argv: list[str], code: int, said: str) -> None:
    done = site.run(*argv, stdin="true\n", check=False)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(said)


def test_a_signal_with_too_many_digits(site: Site) -> None:
    job = site.sbatch("--hold", "--wrap", "true")
    done = site.run("qsig", "-s", NINES, job, check=False)
    assert (done.returncode, done.stdout) == (165, "")
    assert done.stderr == f"qsig: Unknown/illegal signal name {job}.{site.server}\n"
    done = site.run("scancel", "-s", NINES, job, check=False)
    assert (done.returncode, done.stderr) == (1, f"Unknown job signal: {NINES}\n")
    done = site.run("scontrol", "update", f"jobid={job}", f"priority={NINES}", check=False)
    assert (done.returncode, done.stderr) == (1, f"scontrol: error: Invalid Priority value: {NINES}\n")
    site.run("scancel", job)


STRANGE = [
    pytest.param({}, {"client-certificate-data": "é"}, "client-certificate-data is not base64", id="certificate"),
    pytest.param({"certificate-authority-data": "é"}, {}, "certificate-authority-data is not base64", id="authority"),
    pytest.param({}, {"token": "tökén"}, "the kubeconfig's token has characters that no token has", id="token"),
    pytest.param({}, {"token": "a\nX: y"}, "the kubeconfig's token has characters that no token has", id="header"),
    pytest.param({"server": "https://[::1"}, {}, "'https://[::1' is not an https URL", id="brackets"),
    pytest.param({"server": "https://例え.invalid"}, {}, "例え.invalid", id="host"),
    pytest.param({"server": f"https://{'é' * 80}"}, {}, "has no host that may be", id="long host"),
]


@pytest.mark.parametrize(("cluster", "user", "says"), STRANGE)
def test_a_kubeconfig_with_strange_characters(
    site: Site, cluster: dict[str, str], user: dict[str, str], says: str
) -> None:
    server = site.kubectl("config", "view", "-o", "jsonpath={.clusters[0].cluster.server}").stdout
    body = {"server": server, "insecure-skip-tls-verify": True, **cluster}
    config = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": body}],
        "users": [{"name": "u", "user": user}],
    }
    path = site.script("strange.kubeconfig", json.dumps(config, ensure_ascii=False))
    for command in ("qstat", "squeue", "sbatch --wrap true", "hpcbatch accounting"):
        done = site.run(*command.split(), env={"KUBECONFIG": path}, check=False)
        assert done.returncode in {1, 255}, done.stderr
        assert says in done.stderr
        assert "internal error" not in done.stderr
