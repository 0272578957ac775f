"""The options of the launchers that scripts call, by each shell: what they make of them, and which they refuse.

srun's: test_runner_steps.py.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import hpcbatch.runner
from hpcbatch.volcano.translate import runner_configmap

# what step.sh and conf/job.sh give a launcher; it shows what it would start
LAUNCHER = """\
root=$1 tool=$2 hosts='h1 h2' host=h1 job_id=12 has_peers=yes sh=sh
shift 2
die() { printf '%s: error: %s\\n' "$tool" "$1" >&2; exit "${2:-1}"; }
number() { case $2 in '' | *[!0-9]* | 0*) die "Invalid numeric value \\"$2\\" for $1." ;; esac; }
launch_world() { echo "${skip_slots:-0}, $*, ${COLOUR-} ${OMP_NUM_THREADS-}"; }
start_on() { printf '%s\\n' "$*"; }
tell_of_single_ranks() { :; }
. "$root/runner/$tool.sh"
"""
UNKNOWN_APRUN = "aprun: error: unknown option {}: expected -n, -N, -d, -e and the others of aprun\n"
UNAPPLIED = "hpcbatch: {} is not applied: a pod does not bind tasks"
USAGE = """\
usage: pbsdsh [-c copies][-o][-s][-u][-v] -- program [args]...
       pbsdsh [-n nodenumber][-o][-s][-u][-v] -- program [args]...
"""
RUN: dict[str, tuple[str, str, str]] = {
    "aprun": ("aprun -n 4 -N2 -d 3 -e COLOUR=red -b a.out -n 1", "0, 4 2 a.out -n 1, red 3\n", ""),
    "aprun, the end": ("aprun -n 4 -- -x", "0, 4 0 -x,  \n", ""),
    "aprun, names of two letters": (
        "aprun -cc depth -ccnone -ss a.out",
        "0,  0 a.out,  \n",
        "".join(f"aprun: {UNAPPLIED.format(x)}, and a launch has what its job has\n" for x in ("-cc", "-cc", "-ss")),
    ),
    "ibrun": ("ibrun -n 4 -o 2 a.out -o", "2, 4 0 a.out -o,  \n", ""),
    "ibrun, np": ("ibrun -np 4 a.out", "0, 4 0 a.out,  \n", ""),
    "mpiexec_mpt": ("mpiexec_mpt -np 4 -ppn 2 a.out -v", "0, 4 2 a.out -v,  \n", ""),
    "mpiexec_mpt with omplace": (
        "mpiexec_mpt -n 4 omplace -nt 2 -vv a.out",
        "0, 4 0 a.out,  \n",
        f"mpiexec_mpt: {UNAPPLIED.format('omplace')}\n",
    ),
    "pbsdsh, letters together": ("pbsdsh -sn2 a.out -s", "h2 a.out -s\n", ""),
    "pbsdsh, the end": ("pbsdsh -us -- -x", "h1 -x\nh2 -x\n", ""),
    "pbs_tmrsh": ("pbs_tmrsh -n -l me h2 -n date", "h2 sh -c date\n", ""),
    "pbs_tmrsh, the command's own": ("pbs_tmrsh h2 ls -l", "h2 sh -c ls -l\n", ""),
}
WRONG: dict[str, tuple[str, int, str]] = {
    "aprun, unknown": ("aprun -bq a.out", 1, UNKNOWN_APRUN.format("-bq")),
    "aprun, a long one": ("aprun --n=4 a.out", 1, UNKNOWN_APRUN.format("--n=4")),
    "aprun, no value": ("aprun -n", 1, "aprun: error: option -n requires a value\n"),
    "aprun, no number": ("aprun -nx a.out", 1, 'aprun: error: Invalid numeric value "x" for -n.\n'),
    "ibrun, unknown": ("ibrun -n4 a.out", 1, "ibrun: error: unknown option -n4: expected -n or -o\n"),
    "ibrun, no value": ("ibrun -o", 1, "ibrun: error: option -o requires a value\n"),
    "ibrun, no number": ("ibrun -n", 1, 'ibrun: error: Invalid numeric value "" for -n.\n'),
    "mpiexec_mpt": ("mpiexec_mpt -x", 1, "mpiexec_mpt: error: unknown option -x: expected -n or -ppn\n"),
    "mpiexec_mpt with dplace": (
        "mpiexec_mpt dplace -c",
        1,
        f"mpiexec_mpt: {UNAPPLIED.format('dplace')}\nmpiexec_mpt: error: option -c requires a value\n",
    ),
    "pbsdsh": ("pbsdsh -sx a.out", 2, f"pbsdsh: invalid option -- 'x'\n{USAGE}"),
    "pbsdsh, a long one": ("pbsdsh --foo a.out", 2, f"pbsdsh: invalid option -- '-'\n{USAGE}"),
    "pbsdsh, no value": ("pbsdsh -sc", 2, f"pbsdsh: option requires an argument -- 'c'\n{USAGE}"),
    "pbsdsh, no program": ("pbsdsh -s", 2, USAGE),
    "pbs_tmrsh": ("pbs_tmrsh h2 -l", 254, "usage: pbs_tmrsh [-n][-l username] host [-n][-l username] command\n"),
}


def launch(shell: str, root: Path, line: str) -> subprocess.CompletedProcess[str]:
    for directory in ("runner", "job/conf"):
        (root / directory).mkdir(parents=True)
    for name, text in runner_configmap("default")["data"].items():
        (root / "runner" / name).write_text(text)
    (root / "job/conf/nodefile").write_text("h1\nh1\nh2\n")
    tool, *arguments = line.split()
    return subprocess.run(
        [shell, "-c", LAUNCHER, "sh", str(root), tool, *arguments],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("case", RUN)
def test_what_they_start(shell: str, tmp_path: Path, case: str) -> None:
    line, started, said = RUN[case]
    done = launch(shell, tmp_path, line)
    assert (done.returncode, done.stdout, done.stderr) == (0, started, said)


@pytest.mark.parametrize("case", WRONG)
def test_what_they_refuse(shell: str, tmp_path: Path, case: str) -> None:
    line, code, said = WRONG[case]
    done = launch(shell, tmp_path, line)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", said)


@pytest.mark.parametrize("word", ["", "a", "it's", "''", "a b\n'c'", "ends\n", "\n", "-n", "\\x", "ä$(id)`id`"])
def test_a_quoted_word_is_the_same_word(shell: str, word: str) -> None:
    """As it goes to another host."""
    script = '. "$1"/runner/common.sh; eval "set -- $(quote "$2")"; printf "%s %s." $# "$1"'
    root = Path(hpcbatch.runner.__file__).parents[1]
    done = subprocess.run([*shell.split(), "-c", script, "sh", root, word], capture_output=True, check=True)
    assert done.stdout.decode() == f"1 {word}."
