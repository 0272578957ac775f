"""Where a job's output goes: names, directories, modes, and when it can be read."""

from __future__ import annotations

import stat
import subprocess

import pytest

from tests.conformance.site import BIN, Site
from tests.waiting import wait_for

BOTH = "echo out; echo err >&2\n"


def mode(site: Site, name: str) -> str:
    return oct(stat.S_IMODE((site.work / name).stat().st_mode))


def directory(site: Site, name: str) -> None:
    """Made as the user."""
    site.run("mkdir", name)


def test_pbs_names(site: Site) -> None:
    directory(site, "inside")
    directory(site, "with blank")
    jobs = {
        "default": site.qsub("-N", "default", stdin=BOTH),
        "oe": site.qsub("-N", "oe", "-j", "oe", stdin=BOTH),
        "eo": site.qsub("-N", "eo", "-j", "eo", stdin=BOTH),
        "named": site.qsub("-o", "out", "-e", "./err", stdin=BOTH),
        "blank": site.qsub("-o", "with blank/o u t", "-e", f"localhost:{site.work}/with blank/err", stdin=BOTH),
        "inside": site.qsub("-o", "inside", "-e", f"{site.work}/inside/", stdin=BOTH),
        "same": site.qsub("-o", "same", "-e", "same", stdin=BOTH),
        "variable": site.qsub("-o", "$PBS_JOBNAME.${PBS_JOBID}.out", "-N", "var", "-j", "oe", stdin=BOTH),
        "null": site.qsub("-o", "/dev/null", "-N", "null", stdin=BOTH),
    }
    ids = {name: f"{job}.{site.server}" for name, job in jobs.items()}
    expected = {
        f"default.o{jobs['default']}": "out\n",
        f"default.e{jobs['default']}": "err\n",
        f"oe.o{jobs['oe']}": "out\nerr\n",
        f"eo.e{jobs['eo']}": "out\nerr\n",
        "out": "out\n",
        "err": "err\n",
        "with blank/o u t": "out\n",
        "with blank/err": "err\n",
        f"inside/{ids['inside']}.OU": "out\n",
        f"inside/{ids['inside']}.ER": "err\n",
        "same": "out\nerr\n",
        f"var.{ids['variable']}.out": "out\nerr\n",
        f"null.e{jobs['null']}": "err\n",
    }
    for job in jobs.values():
        assert site.wait_end(job)["Exit_status"] == 0
    files = [path for path in site.work.rglob("*") if path.is_file()]
    assert {str(path.relative_to(site.work)): path.read_text() for path in files} == expected
    assert {mode(site, name) for name in expected} == {"0o600"}
    assert {path.stat().st_uid for path in files} == {site.work.stat().st_uid}
    assert {path.stat().st_gid for path in files} == {site.work.stat().st_gid}


def test_pbs_keeps_a_stream_in_the_home_directory(site: Site) -> None:
    job = site.qsub("-k", "o", "-N", "kept", stdin=BOTH)
    direct = site.qsub("-k", "oed", "-N", "direct", stdin=BOTH)
    site.wait_end(job)
    site.wait_end(direct)
    home = site.env["HOME"]
    assert site.run("cat", f"{home}/kept.o{job}").stdout == "out\n"
    assert site.read(f"kept.e{job}") == "err\n"
    assert site.read(f"direct.o{direct}") == "out\n"
    site.run("rm", f"{home}/kept.o{job}")


def test_slurm_names(site: Site) -> None:
    directory(site, "sub")
    wrap = ("--wrap", "echo out; echo err >&2")
    jobs = {
        "default": site.sbatch(*wrap),
        "pattern": site.sbatch("-J", "a name", "-o", "sub/%x-%5j-%u-%%.log", *wrap),
        "two": site.sbatch("-o", "out-%j", "-e", "err-%A", *wrap),
        "moved": site.sbatch("-D", "sub", "-o", "moved", *wrap),
        "absolute": site.sbatch("-D", "/", "-o", f"{site.work}/b l a n k", *wrap),
        "null": site.sbatch("-o", "/dev/null", "-e", "none-but-err", *wrap),
        "backslash": site.sbatch("-o", r"as\%j", *wrap),
    }
    padded = jobs["pattern"].zfill(5)
    expected = {
        f"slurm-{jobs['default']}.out": "out\nerr\n",
        f"sub/a name-{padded}-{site.env['USER']}-%.log": "out\nerr\n",
        f"out-{jobs['two']}": "out\n",
        f"err-{jobs['two']}": "err\n",
        "sub/moved": "out\nerr\n",
        "b l a n k": "out\nerr\n",
        "none-but-err": "err\n",
        "as%j": "out\nerr\n",
    }
    for name, job in jobs.items():
        assert site.wait_end(job)["Exit_status"] == 0, name
    files = [path for path in site.work.rglob("*") if path.is_file()]
    assert {str(path.relative_to(site.work)): path.read_text() for path in files} == expected
    shown = site.run("scontrol", "show", "job", jobs["pattern"]).stdout
    assert f"StdOut={site.work}/sub/a name-{padded}-{site.env['USER']}-%.log\n" in shown


def test_slurm_appends_or_begins_anew(site: Site) -> None:
    for name in ("again", "added"):
        site.run("sh", "-c", f"echo before >{name}")
    jobs = [
        site.sbatch("-o", "again", "--wrap", "echo after"),
        site.sbatch("--open-mode=append", "-o", "added", "--wrap", "echo after"),
    ]
    for job in jobs:
        site.wait_end(job)
    assert site.read("again") == "after\n"
    assert site.read("added") == "before\nafter\n"


def test_umask(site: Site) -> None:
    """PBS has its own, 077 or -W umask; Slurm takes that of sbatch along. It holds for the files of the job too."""
    text = "#!/bin/sh\ncd {1}\necho >{0}.file; mkdir {0}.dir; umask\n"
    for name in ("pbs", "given", "slurm"):
        site.script(f"{name}.sh", text.format(name, site.work))
    jobs = {
        "pbs": site.qsub("-o", "pbs", "-j", "oe", "pbs.sh"),
        "given": site.qsub("-W", "umask=2", "-o", "given", "-j", "oe", "given.sh"),
        "slurm": site.run("sh", "-c", "umask 026; sbatch --parsable -o slurm slurm.sh").stdout.strip(),
    }
    expected = {
        "pbs": ("0077", "0o600", "0o700"),
        "given": ("0002", "0o664", "0o775"),
        "slurm": ("0026", "0o640", "0o751"),
    }
    for name, (umask, file, made) in expected.items():
        assert site.wait_end(jobs[name])["Exit_status"] == 0
        assert site.read(name) == f"{umask}\n"
        assert (mode(site, name), mode(site, f"{name}.file"), mode(site, f"{name}.dir")) == (file, file, made), name
        assert (site.work / f"{name}.dir").stat().st_uid == site.work.stat().st_uid


def test_output_can_be_read_while_the_job_runs(site: Site) -> None:
    text = f"echo begun; until [ -e {site.work}/go ]; do sleep 0.1; done; echo ended\n"
    pbs = site.qsub("-o", "pbs", "-j", "oe", stdin=text)
    slurm = site.sbatch("-o", "slurm", "--wrap", text)
    kept = site.qsub("-k", "oed", "-o", "kept", "-j", "oe", stdin=text)
    files = [site.work / name for name in (site.running_output(pbs), "slurm", "kept")]
    wait_for("the first lines", lambda: [file.exists() and file.read_text() for file in files] == ["begun\n"] * 3, 60)
    assert not (site.work / "pbs").exists(), "clients take it for the end"
    for job in (pbs, slurm, kept):
        site.wait_state(job, "R")
    site.run("touch", "go")
    for job, name in ((pbs, "pbs"), (slurm, "slurm"), (kept, "kept")):
        site.wait_end(job)
        assert site.read(name) == "begun\nended\n"
    assert not files[0].exists()


def test_pbs_removes_output_after_success(site: Site) -> None:
    good = site.qsub("-R", "oe", "-N", "good", stdin="echo a; echo b >&2\n")
    bad = site.qsub("-R", "oe", "-N", "bad", stdin="echo a; exit 3\n")
    assert site.run("qstat", "-x", "-f", bad).stdout.count("    Remove_Files = oe\n") == 1
    site.wait_end(good)
    site.wait_end(bad)
    assert not list(site.work.glob("good.*"))
    assert site.read(f"bad.o{bad}") == "a\n"
    refused = site.run("qsub", "-R", "x", stdin="true\n", check=False)
    assert (refused.returncode, refused.stderr.splitlines()[0]) == (2, "qsub: illegal -R value")


def test_pbs_output_on_a_host_of_the_cluster(site: Site) -> None:
    node = site.kubectl("get", "nodes", "-o", "jsonpath={.items[-1].metadata.name}").stdout
    job = site.qsub("-o", f"{node}:{site.work}/there", "-j", "oe", stdin="echo here\n")
    site.wait_end(job)
    assert site.read("there") == "here\n"
    refused = site.run("qsub", "-o", "elsewhere.example:/tmp/x", stdin="true\n", check=False)
    why = "-o: elsewhere.example is neither this host nor one of the cluster's; output to other hosts"
    assert (refused.returncode, refused.stderr) == (1, f"qsub: {why} is not supported yet\n")


@pytest.mark.parametrize("dialect", ["pbs", "slurm"])
def test_output_when_the_job_runs_again(site: Site, dialect: str) -> None:
    """PBS goes on in the file, Slurm begins it anew."""
    script = "#!/bin/sh\necho run\n[ -e again ] || { touch again; sleep 60; }\n"
    if dialect == "pbs":
        job = site.qsub("-o", "out", "-j", "oe", stdin=script.replace("again", f"{site.work}/again"))
    else:
        job = site.sbatch("-o", "out", stdin=script)
    wait_for("the first run", (site.work / "again").exists)
    site.wait_state(job, "R")
    environment = {**(site.admin_env or site.env)}
    subprocess.run([str(BIN / "qrerun"), job], env=environment, check=True, timeout=60)
    if dialect == "slurm":
        site.start_again_now(job)
    assert site.wait_end(job)["Exit_status"] == 0
    assert site.read("out").splitlines().count("run") == (2 if dialect == "pbs" else 1)
