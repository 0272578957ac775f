"""An installation that nobody has compiled and its users may not write to."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture
def installation(tmp_path: Path) -> Path:
    """A file stands where Python would make its directory, which holds for root as well."""
    made = tmp_path / "installed"
    shutil.copytree(CHECKOUT / "hpcbatch", made / "hpcbatch", ignore=shutil.ignore_patterns("__pycache__", "templates"))
    for directory in [made / "hpcbatch", *(path for path in (made / "hpcbatch").rglob("*") if path.is_dir())]:
        (directory / "__pycache__").touch()
    return made


def start(installation: Path, environ: dict[str, str]) -> str:
    """What `sbatch --version` prints, and how many modules Python compiled for that."""
    script = CHECKOUT / "scripts/hpcbatch"
    text = (
        f"import sys; sys.path.insert(0, {str(installation)!r}); sys.argv = ['sbatch', '--version']\n"
        f"exec(compile(open({str(script)!r}).read(), 'sbatch', 'exec'))"
    )
    return subprocess.check_output([sys.executable, "-I", "-c", text], env=environ, text=True)


def compiled(cache: Path) -> set[Path]:
    return {path for path in cache.rglob("*.pyc") if "/installed/hpcbatch/" in str(path)}


def test_what_python_compiles_is_kept_in_the_users_cache(installation: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    assert start(installation, {"HOME": str(home)}) == "slurm 22.05.8\n"
    kept = {path: path.stat().st_mtime_ns for path in compiled(home / ".cache/hpcbatch/pycache")}
    assert len(kept) > 5
    assert start(installation, {"HOME": str(home)}) == "slurm 22.05.8\n"
    assert {path: path.stat().st_mtime_ns for path in kept} == kept, "nothing was compiled again"


def test_not_in_a_home_that_is_not_the_users(installation: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory to somebody else")
    other = tmp_path / "other"
    other.mkdir()
    os.chown(other, 12345, 12345)
    assert start(installation, {"HOME": str(other)}) == "slurm 22.05.8\n"
    assert list(other.iterdir()) == []


def test_nor_where_there_is_no_home(installation: Path, tmp_path: Path) -> None:
    assert start(installation, {"HOME": str(tmp_path / "none")}) == "slurm 22.05.8\n"
    assert not (tmp_path / "none").exists()
