"""What the runner makes of an MPI launch that it sees, by each shell. The ranks here have but the variables and mapped
files of real ones; those: tests/conformance/test_wrong_worlds.py.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

RUNNER = Path(__file__).parents[2] / "hpcbatch/runner"
RANK = """\
import mmap, sys
files = [open(name, "rb") for name in sys.argv[1:]]
maps = [mmap.mmap(file.fileno(), 1, prot=mmap.PROT_READ) for file in files]
print("ready", flush=True)
sys.stdin.read()
"""
SCRIPT = """\
root=$1; shift
. "$RUNNER/common.sh"; . "$RUNNER/watch/processes.sh"; . "$RUNNER/mpi/worlds.sh"
host=h0 hosts='h0 h1' event= error_file=$root/err
kin=$1 launchers=$2 clients=$3
look_at_worlds; look_at_worlds
tell_of_worlds
echo "$warning"
"""
OPEN_MPI = ("OMPI_COMM_WORLD_SIZE=6", "OMPI_COMM_WORLD_LOCAL_SIZE=2")
HYDRA = ("PMI_SIZE=6", "MPI_LOCALNRANKS=2")
ALONE = "MPI ran on h0 alone (2 ranks), though the job has 2 hosts"
APART = "the 6 ranks of {} are 6 MPI worlds of one rank: it is linked to {}, the mpirun that started them is {}"
OPEN_MPI_BY_HYDRA = APART.format("{}", "Open MPI", "MPICH's or Intel MPI's")
MPICH_BY_OPEN_MPI = APART.format("{}", "MPICH or Intel MPI", "Open MPI's")
CASES = {
    "alone": (("PMI_SIZE=2", "MPI_LOCALNRANKS=2"), ("libmpi.so.12",), ALONE),
    "alone, not MPI": (("OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_SIZE=2"), (), ALONE),
    "one rank": (("PMI_SIZE=1", "MPI_LOCALNRANKS=1"), ("libmpi.so.40", "libopen-pal.so.80"), ""),
    "not a rank": ((), ("libmpi.so.40", "libopen-pal.so.80"), ""),
    "spread": (HYDRA, ("libmpi.so.12",), ""),
    "Open MPI by Hydra": (HYDRA, ("libmpi.so.40.30", "libopen-pal.so.80"), OPEN_MPI_BY_HYDRA),
    "Open MPI 1.10 by Hydra": (HYDRA, ("libmpi.so.12", "libopen-pal.so.13"), OPEN_MPI_BY_HYDRA),
    "MPICH by Open MPI": (OPEN_MPI, ("libmpich.so.12.2",), MPICH_BY_OPEN_MPI),
    "MPICH with PMIx by Open MPI": (OPEN_MPI, ("libmpi.so.12", "libpmix.so.2"), ""),
    "Open MPI by Open MPI": (OPEN_MPI, ("libmpi.so.40", "libopen-pal.so.80", "libpmix.so.2"), ""),
    "submitted from a rank": (("PMI_SIZE=2", "MPI_LOCALNRANKS=2", *OPEN_MPI), ("libmpi.so.12",), ""),
    "another library": (HYDRA, ("libmpi.so",), ""),
    "no number": (("PMI_SIZE=$(id)", "MPI_LOCALNRANKS=*"), ("libmpi.so.40", "libopen-pal.so.80"), ""),
}


@dataclass
class Launch:
    """A launcher's pid (no process has it) and its rank, with a shell between them."""

    shell: str
    root: Path
    rank: int
    launcher: int = 1 << 23
    between: int = (1 << 23) + 1

    def look(self, *, more: str = "", clients: str = "") -> str:
        """The warning of a job in which this and nothing else was started, but for `more` pairs and `clients`."""
        (self.root / "run/job").mkdir(parents=True, exist_ok=True)
        kin = f" {self.rank}<{self.between} {self.between}<{self.launcher} {self.launcher}<1{more}"
        done = subprocess.run(
            [self.shell, "-c", SCRIPT, "sh", str(self.root), kin, f" {self.launcher}", clients],
            env={"RUNNER": str(RUNNER), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert done.stderr == ""
        told = "".join(f"hpcbatch: warning: {line}\n" for line in done.stdout.splitlines() if line)
        assert (self.root / "err").exists() == bool(told)
        assert not told or (self.root / "err").read_text() == told
        return done.stdout.rstrip("\n")


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, int]]:
    """A process for each case."""
    libraries = tmp_path_factory.mktemp("lib")
    for library in {library for _, loaded, _ in CASES.values() for library in loaded}:
        (libraries / library).write_text("x")
    started = {}
    for name, (variables, loaded, _) in CASES.items():
        started[name] = subprocess.Popen(
            [sys.executable, "-c", RANK, *(str(libraries / library) for library in loaded)],
            env=dict(variable.split("=", 1) for variable in variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
    for process in started.values():
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    yield {name: process.pid for name, process in started.items()}
    for process in started.values():
        process.communicate()


@pytest.mark.parametrize("case", CASES)
def test_launches(shell: str, tmp_path: Path, ranks: dict[str, int], case: str) -> None:
    program = Path(f"/proc/{ranks[case]}/comm").read_text().strip()
    assert Launch(shell, tmp_path, ranks[case]).look() == CASES[case][2].format(program)


def test_what_the_script_does_elsewhere_speaks_for_it(shell: str, tmp_path: Path, ranks: dict[str, int]) -> None:
    launch = Launch(shell, tmp_path / "own", ranks["alone"])
    assert launch.look(more=" 77<1", clients=" 77") == ""
    launch = Launch(shell, tmp_path / "of the launcher", ranks["alone"])
    assert launch.look(more=f" 78<77 77<{launch.launcher}", clients=" 78") == ALONE


def test_a_launch_that_was_too_quick_speaks_for_the_job(shell: str, tmp_path: Path, ranks: dict[str, int]) -> None:
    launch = Launch(shell, tmp_path, ranks["alone"])
    launches = tmp_path / "run/job/launches"
    launches.parent.mkdir(parents=True)
    launches.write_text(f"{launch.launcher}\n" * 2)
    assert launch.look() == ALONE
    (tmp_path / "err").unlink()
    launches.write_text(f"{launch.launcher}\n4711\n")
    assert launch.look() == ""


def test_the_first_mistake_is_told_once(shell: str, tmp_path: Path, ranks: dict[str, int]) -> None:
    launch = Launch(shell, tmp_path, ranks["Open MPI by Hydra"])
    first = launch.look()
    assert launch.look() == first
