"""Completion in real shells: what bash, zsh and fish offer behind the words of a command."""

from __future__ import annotations

import re
import subprocess
import sys

import pexpect
import pytest

from tests.conformance.site import Site

_BASH = r"""
export HPCBATCH_COMPLETION_WAIT=30
source ./completion.bash
COMP_LINE=$1 COMP_POINT=${#1}
shift
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
function=$(complete -p "${COMP_WORDS[0]##*/}") && function=${function#*-F } && "${function%% *}"
printf '%s\n' "${COMPREPLY[@]}"
"""


def _bash(site: Site, *words: str) -> list[str]:
    """What bash offers for the last word, as readline parts the words: `=` and `:` are words by themselves."""
    if not (site.work / "completion.bash").exists():
        site.script("completion.bash", site.run("hpcbatch", "completion", "bash").stdout)
    line = re.sub(" ?([=:]) ?", r"\1", " ".join(words))
    done = site.run("bash", "--norc", "-c", _BASH, "bash", line, *words, check=False)
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line]


def _fish(site: Site, line: str) -> list[str]:
    program = f"set -gx HPCBATCH_COMPLETION_WAIT 30; hpcbatch completion fish | source; complete -C {line!r}"
    done = site.run("fish", "--no-config", "-c", program, env={"TERM": "dumb", "HOME": str(site.work)})
    return [offered.partition("\t")[0] for offered in done.stdout.splitlines()]


def _shell(site: Site, *command: str) -> pexpect.spawn[str]:
    """An interactive one, in a terminal of its own."""
    program, *rest = site.command(*command)
    return pexpect.spawn(
        program,
        rest,
        env={**site.env, "TERM": "dumb", "HOME": str(site.work), "PS1": "ready> "},
        cwd=str(site.work),
        encoding="utf-8",
        timeout=60,
        dimensions=(50, 200),
    )


def _zsh(site: Site, line: str, expected: str) -> None:
    """The line and two tabs, until `expected` stands on the screen."""
    child = _shell(site, "zsh", "-f", "-i")
    try:
        child.expect_exact("ready> ")
        child.sendline("export HPCBATCH_COMPLETION_WAIT=30; autoload -Uz compinit && compinit -u -D")
        child.sendline("source <(hpcbatch completion zsh); print lo''aded")
        child.expect_exact("loaded")
        child.expect_exact("ready> ")
        child.send(f"{line}\t\t")
        child.expect_exact(expected)
    finally:
        child.close(force=True)


def _needs(site: Site, shell: str) -> None:
    if site.run("sh", "-c", f"command -v {shell}", check=False).returncode:
        pytest.skip(f"NOT TESTED: there is no {shell} here (apt-get install {shell})")


@pytest.fixture
def job(site: Site) -> str:
    """The number of a held job."""
    return site.qsub("-h", "-N", "waits", stdin="true\n")


def test_options(site: Site) -> None:
    assert _bash(site, "sbatch", "--part") == ["--partition="]
    assert {"--cpus-per-task=", "--cpus-per-gpu="} <= set(_bash(site, "sbatch", "--cpus"))
    assert {"-N", "-l", "-q", "--dry-run"} <= set(_bash(site, "qsub", "-"))
    assert "--me" in _bash(site, "squeue", "-l", "--m")
    assert _bash(site, "sbatch", "job.sh", "--", "--part") == []
    assert _bash(site, "hpcbatch", "up", "--no") == ["--nodes="]


def test_dependencies(site: Site, job: str) -> None:
    assert "--dependency=" in _bash(site, "sbatch", "--dep")
    assert "afterok:" in _bash(site, "sbatch", "--dependency", "=", "aft")
    assert job in _bash(site, "sbatch", "--dependency", "=", "afterok", ":", "")
    assert job in _bash(site, "sbatch", "-d", "afterok", ":", "7", ":", "")
    assert "depend=afterok:" in _bash(site, "qsub", "-W", "dep")
    assert job in _bash(site, "qsub", "-W", "depend", "=", "afterok", ":", job[:1])


def test_commands_within(site: Site) -> None:
    assert _bash(site, "hpcbatch", "wa") == ["watch"]
    assert set(_bash(site, "hpcbatch", "user", "")) >= {"add", "list"}
    assert _bash(site, "scontrol", "show", "part")[0] == "partition"
    assert "--kubeconfig=" in _bash(site, "hpcbatch", "user", "add", "--")
    assert "torch" in _bash(site, "hpcbatch", "new", "")
    assert _bash(site, "hpcbatch", "new", "torch", "--nod") == ["--nodes="]


def test_jobs_queues_nodes_and_files(site: Site, job: str) -> None:
    (site.work / "forecast.pbs").write_text("true\n")
    queues = _bash(site, "qsub", "-q", "")
    assert queues
    assert _bash(site, "sbatch", "--partition", "=", "") == queues
    assert _bash(site, "sbatch", "--partition", "=") == queues
    assert _bash(site, "sbatch", "-p") == ["-p"]
    assert _bash(site, "sbatch", "-p", queues[0]) == [queues[0]]
    assert _bash(site, "sbatch", f"-p{queues[0][0]}")[0].startswith(f"-p{queues[0][0]}")
    assert job in _bash(site, "qdel", "")
    assert job in _bash(site, "scancel", job[:1])
    assert f"7,{job}" in _bash(site, "squeue", "-j", "7,")
    assert job in _bash(site, "scontrol", "hold", "")
    assert job in _bash(site, "scontrol", "show", "job", "")
    assert job in _bash(site, "hpcbatch", "watch", "")
    by_path = site.run("sh", "-c", "command -v qmove").stdout.strip()
    assert _bash(site, by_path, "") == queues
    assert job in _bash(site, by_path, queues[0], "")
    assert len(_bash(site, "pbsnodes", "")) == 3
    assert "forecast.pbs" in _bash(site, "qsub", "fore")
    assert _bash(site, "qsub", "-j", "o") == ["oe"]


def test_it_says_nothing_without_a_cluster(site: Site) -> None:
    lost = {"HPCBATCH_KUBECONFIG": "/nowhere", "KUBECONFIG": "/nowhere"}
    done = site.run("hpcbatch", "complete", "job", "pbs", env=lost, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_it_loads_little() -> None:
    """A key press waits for it: neither click nor a table of options is read."""
    program = (
        "import sys; sys.argv[1:] = ['complete']; from hpcbatch.cli import module_of\n"
        "__import__(module_of('hpcbatch'))\n"
        "sys.exit(any(name in sys.modules for name in ('click', 'kubernetes', 'hpcbatch.dialects.registry')))"
    )
    assert subprocess.run([sys.executable, "-I", "-c", program], check=False).returncode == 0


def test_bash_at_a_terminal(site: Site, job: str) -> None:
    """Without the package bash-completion: what a tab makes of a line."""
    for name in ("two words.sh", "wrfout_d01_2026-11-26_00:00:00", "day=1.sh"):
        (site.work / name).write_text("true\n")
    queue = _bash(site, "qsub", "-q", "")[0]
    child = _shell(site, "bash", "--norc", "--noprofile", "-i")
    try:
        child.expect_exact("ready> ")
        child.sendline("export HPCBATCH_COMPLETION_WAIT=30; source <(hpcbatch completion bash) && echo lo''aded")
        child.expect_exact("loaded")
        for line, becomes in (
            ("sbatch --parti", "sbatch --partition="),
            (f"sbatch --partition={queue[:-1]}", f"sbatch --partition={queue} "),
            (f"bsub -q {queue[:-1]}", f"bsub -q {queue} "),
            (f"qsub -W depend=afterok:{job}", f"qsub -W depend=afterok:{job} "),
            ("hpcbatch wat", "hpcbatch watch "),
            ("qsub two", "qsub two\\ words.sh "),
            ("qsub day=", "qsub day=1.sh "),
            ("sbatch -o wrfout_d01_2026-11-26_00:", "sbatch -o wrfout_d01_2026-11-26_00:00\\:00 "),
            ('hpcbatch wrf maps "wrfo', 'hpcbatch wrf maps "wrfout_d01_2026-11-26_00:00:00" '),
        ):
            child.expect_exact("ready> ")
            child.send(f"{line}\t")
            child.expect_exact(becomes)
            child.send("\x15\r")  # the line is not run
    finally:
        child.close(force=True)


@pytest.mark.slow
def test_fish(site: Site, job: str) -> None:
    _needs(site, "fish")
    queues = _bash(site, "qsub", "-q", "")
    assert _fish(site, "qsub -q ") == queues
    assert _fish(site, "sbatch --partition=") == [f"--partition={queue}" for queue in queues]
    assert job in _fish(site, "qdel ")
    assert f"--dependency=afterok:{job}" in _fish(site, "sbatch --dependency=afterok:")
    assert f"depend=afterok:{job}" in _fish(site, "qsub -W depend=afterok:")
    assert "afterok:" in _fish(site, "sbatch -d ")
    assert "--cpus-per-task" in [each.rstrip("=") for each in _fish(site, "sbatch --cpus")]
    assert _fish(site, "hpcbatch wat") == ["watch"]
    assert "add" in _fish(site, "hpcbatch user ")
    assert "--kubeconfig" in [each.rstrip("=") for each in _fish(site, "hpcbatch user add --k")]


@pytest.mark.slow
def test_zsh(site: Site, job: str) -> None:
    _needs(site, "zsh")
    queue = _bash(site, "qsub", "-q", "")[0]
    _zsh(site, f"sbatch --partition={queue[:1]}", f"sbatch --partition={queue}")
    _zsh(site, "sbatch --parti", "sbatch --partition ")
    _zsh(site, f"qdel {job[:1]}", job)
    _zsh(site, "sbatch --dependency=afterok:", f"afterok:{job}")
    _zsh(site, "hpcbatch wat", "hpcbatch watch ")
    _zsh(site, "hpcbatch user ", "enable")
    _zsh(site, "qstat -", "jobs that have ended")
