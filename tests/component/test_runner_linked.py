"""What the runner says of a program and its mpirun by their files, by each shell. Real ones:
tests/conformance/test_wrong_worlds.py.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.component.runner_pod import RunnerPod

RUNNER = Path(__file__).parents[2] / "hpcbatch/runner"
SCRIPT = """\
root=$1 launchers= warning=$2
. "$RUNNER/common.sh"; . "$RUNNER/mpi/linked.sh"
error_file=$root/err
tell_of_links
echo "$warning"
"""
# A program here is a file that holds what it is linked to.
LDD = '#!/bin/sh\nsed "s:DIRECTORY:$LD_LIBRARY_PATH:" "$1"\n'
OPEN_MPI_4 = "\tlibmpi.so.40 => DIRECTORY/libmpi.so.40 (0x1)\n\tlibopen-pal.so.40 => /lib/libopen-pal.so.40 (0x2)\n"
OPEN_MPI_5 = "\tlibmpi.so.40 => DIRECTORY/libmpi.so.40 (0x1)\n\tlibopen-pal.so.80 => /lib/libopen-pal.so.80 (0x2)\n"
MPICH = "\tlibmpifort.so.12 => DIRECTORY/libmpifort.so.12 (0x1)\n\tlibmpi.so.12 => DIRECTORY/libmpi.so.12 (0x2)\n"
PRTERUN = ("/opt/5/bin/prterun", "7f0 r-xp /opt/5/lib/libprrte.so.3\n")
ORTERUN = ("/usr/bin/orterun", "7f0 r-xp /lib/libopen-rte.so.40.30\n")
HYDRA = ("/opt/m/bin/mpiexec.hydra", "7f0 r-xp /lib/libc.so.6\n")
SAID = "{} is linked to {} ({}), the mpirun that started it is {}'s ({})"
CASES = {
    "4 by 5": (PRTERUN, OPEN_MPI_4, "./a.out", ("Open MPI 3 or 4", "/theirs/libmpi.so.40", "Open MPI 5")),
    "5 by 4": (ORTERUN, OPEN_MPI_5, "./a.out", ("Open MPI 5", "/theirs/libmpi.so.40", "Open MPI 3 or 4")),
    "MPICH by 5": (PRTERUN, MPICH, "./a.out", ("MPICH or Intel MPI", "/theirs/libmpifort.so.12", "Open MPI 5")),
    "4 by MPICH": (HYDRA, OPEN_MPI_4, "./a.out", ("Open MPI 3 or 4", "/theirs/libmpi.so.40", "MPICH or Intel MPI")),
    "found on PATH": (PRTERUN, OPEN_MPI_4, "a.out", ("Open MPI 3 or 4", "/theirs/libmpi.so.40", "Open MPI 5")),
    "5 by 5": (PRTERUN, OPEN_MPI_5, "./a.out", None),
    "4 by 4": (ORTERUN, OPEN_MPI_4, "./a.out", None),
    "MPICH by MPICH": (HYDRA, MPICH, "./a.out", None),
    "MPICH with PMIx": (PRTERUN, MPICH + "\tlibpmix.so.2 => /lib/libpmix.so.2 (0x3)\n", "./a.out", None),
    "no MPI": (PRTERUN, "\tlibc.so.6 => /lib/libc.so.6 (0x1)\n", "./a.out", None),
    "an unknown launcher": (("/bin/sh", ""), OPEN_MPI_4, "./a.out", None),
    "not there": (PRTERUN, OPEN_MPI_4, "./b.out", None),
}


def told(shell: str, root: Path, launcher: tuple[str, str], links: str, word: str, warning: str = "") -> str:
    """The warning of a job whose only launch is `mpirun -np 2 env WORD`, started in `root`."""
    tools, kept = root / "tools", root / "run/job/launched.7"
    for directory in (tools, kept):
        directory.mkdir(parents=True)
    for name, text in (("tools/ldd", LDD), ("a.out", links), ("env", "\tlibc.so.6 => /lib/libc.so.6 (0x1)\n")):
        (root / name).write_text(text)
        (root / name).chmod(0o755)
    (kept / "exe").symlink_to(launcher[0])
    (kept / "cwd").symlink_to(root)
    (kept / "maps").write_text(launcher[1])
    (kept / "cmdline").write_bytes(b"mpirun\0-np\x002\0" + os.fsencode(f"env\0{word}\0-x\0"))
    (kept / "environ").write_bytes(os.fsencode(f"A=1\nPATH=no\0PATH=/nosuch:{root}\0LD_LIBRARY_PATH=/theirs\0"))
    done = subprocess.run(
        [shell, "-c", SCRIPT, "sh", str(root), warning],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={"RUNNER": str(RUNNER), "PATH": f"{tools}:/usr/bin:/bin"},
    )
    assert done.stderr == ""
    return done.stdout.rstrip("\n")


@pytest.mark.parametrize("case", CASES)
def test_files(shell: str, tmp_path: Path, case: str) -> None:
    launcher, links, word, expected = CASES[case]
    said = "" if expected is None else SAID.format(word, *expected, launcher[0])
    assert told(shell, tmp_path, launcher, links, word) == said
    err = tmp_path / "err"
    assert (err.read_text() if err.exists() else "") == (f"hpcbatch: warning: {said}\n" if said else "")


def test_beside_another_warning(shell: str, tmp_path: Path) -> None:
    said = SAID.format("./a.out", "Open MPI 3 or 4", "/theirs/libmpi.so.40", "Open MPI 5", PRTERUN[0])
    assert told(shell, tmp_path / "1", PRTERUN, OPEN_MPI_4, "./a.out", "another") == f"another; {said}"
    apart = "the 2 ranks of a.out are 2 MPI worlds of one rank: …"
    assert told(shell, tmp_path / "2", PRTERUN, MPICH, "./a.out", apart) == apart


def test_a_launcher_that_is_soon_gone(shell: str, tmp_path: Path) -> None:
    """On one host: there is no connection to another that would keep its command line."""
    pod = RunnerPod(tmp_path, shell)
    tools = tmp_path / "tools"
    tools.mkdir()
    for path, text in ((tools / "ldd", LDD), (tmp_path / "a.out", OPEN_MPI_4)):
        path.write_text(text)
        path.chmod(0o755)
    launcher = tmp_path / "mpiexec.hydra"
    shutil.copy(os.path.realpath("/bin/sh"), launcher)
    pod.environment = {"PATH": f"{tools}:{os.environ['PATH']}"}
    code, report = pod.run("#!/bin/sh\nLD_LIBRARY_PATH=/theirs ./mpiexec.hydra -c 'sleep 1; exit 3' ./a.out\n")
    said = SAID.format("./a.out", "Open MPI 3 or 4", "/theirs/libmpi.so.40", "MPICH or Intel MPI", launcher)
    assert (code, report.message) == (3, f"warning: {said}")
    assert pod.err.read_text() == f"hpcbatch: warning: {said}\n"
