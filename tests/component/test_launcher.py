"""What starts the commands: one file under all their names, read by sh and then by Python."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from hpcbatch.cli import module_of

CHECKOUT = Path(__file__).parents[2]
SCRIPTS = CHECKOUT / "scripts"
BIN = Path(sys.executable).parent
NAMES = sorted(path.name for path in SCRIPTS.iterdir() if path.name != "hpcbatch-python")


def test_all_are_installed() -> None:
    settings = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert sorted(settings["script-files"]) == sorted(f"scripts/{path.name}" for path in SCRIPTS.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_each_is_a_command(name: str) -> None:
    assert callable(import_module(module_of(name)).main)
    assert (SCRIPTS / name).read_bytes() == (BIN / name).read_bytes() == (SCRIPTS / "hpcbatch").read_bytes()


def version(command: Path, env: dict[str, str] | None = None) -> str:
    return subprocess.run(
        [command, "--version"], env={"PATH": "/usr/bin:/bin", **(env or {})}, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox sh"])
def test_shells(shell: str) -> None:
    if not shutil.which(shell.partition(" ")[0]):
        pytest.skip(f"no {shell} here")
    done = subprocess.run([*shell.split(), BIN / "squeue", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("slurm")


@pytest.mark.parametrize("size", [10, 100_000])
@pytest.mark.parametrize("shell", ["dash", "bash", "busybox sh"])
def test_no_variable_is_lost(tmp_path: Path, shell: str, size: int) -> None:
    """Also those that no shell can set, which dash and busybox drop."""
    if not shutil.which(shell.partition(" ")[0]):
        pytest.skip(f"no {shell} here")
    installed(tmp_path, Path(sys.executable))
    launcher, _, _ = (SCRIPTS / "hpcbatch").read_text().partition("try:\n")
    (tmp_path / "show").write_text(f"{launcher}print(dict(os.environ))\n")
    variables = {
        "PATH": "/usr/bin:/bin",
        "BASH_FUNC_greet%%": "() { echo hello;\n echo there\n}",
        "a.b": "1=2",
        "x-y": "",
        "LD_LIBRARY_PATH": "/opt/R/lib",
        "lines": "\n a\n\n=b",
        "é": "ü",
        "much": "x" * size,
    }
    done = subprocess.run(
        [*shell.split(), tmp_path / "show"], env=variables, capture_output=True, text=True, check=True
    )
    assert {name: value for name, value in ast.literal_eval(done.stdout).items() if name in variables} == variables
    assert "HPCBATCH_" not in done.stdout


def test_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "first").symlink_to(BIN / "squeue")
    (tmp_path / "any name").symlink_to("first")
    assert version(tmp_path / "any name") == version(BIN / "squeue")


def installed(directory: Path, interpreter: Path) -> Path:
    """The commands as an installer puts them somewhere else than beside Python."""
    for name in ("hpcbatch", "squeue"):
        shutil.copy(SCRIPTS / name, directory / name)
    (directory / "hpcbatch-python").write_text(f"#!{interpreter}\n")
    return directory / "squeue"


def test_anywhere(tmp_path: Path) -> None:
    directory = tmp_path / ("a long name " * 15)  # more than the kernel reads of a line with `#!`
    directory.mkdir()
    interpreter = directory / "python3"
    interpreter.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    interpreter.chmod(0o755)
    assert version(installed(directory, interpreter)).startswith("slurm")


def test_a_python_that_needs_its_library_path(tmp_path: Path) -> None:
    """As where `module load python` is what leads the loader to libpython."""
    interpreter = tmp_path / "python3"
    interpreter.write_text(f'#!/bin/sh\n[ "$LD_LIBRARY_PATH" = /needed ] || exit 127\nexec {sys.executable} "$@"\n')
    interpreter.chmod(0o755)
    assert version(installed(tmp_path, interpreter), {"LD_LIBRARY_PATH": "/needed"}).startswith("slurm")


def test_in_the_users_own_packages(tmp_path: Path) -> None:
    """`pip install --user`: a Python without our packages, and those where the user's own lie."""
    home = Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}")
    packages = tmp_path / f"lib/python3.{sys.version_info.minor}/site-packages"
    packages.mkdir(parents=True)
    (packages / "hpcbatch.pth").write_text(f"{CHECKOUT}\n")
    if subprocess.run([home, "-I", "-c", "import hpcbatch"], capture_output=True, check=False).returncode == 0:
        pytest.skip("this Python has hpcbatch in its own packages")
    env = {"PYTHONUSERBASE": str(tmp_path), "HOME": os.environ.get("HOME", "/")}
    assert version(installed(tmp_path, home), env).startswith("slurm")


def beside(directory: Path) -> Path:
    """The commands in an installation of their own, as `pip install` makes it, but for what else hpcbatch needs."""
    programs, packages = directory / "bin", directory / f"lib/python3.{sys.version_info.minor}/site-packages"
    programs.mkdir()
    packages.mkdir(parents=True)
    (packages / "hpcbatch").symlink_to(CHECKOUT / "hpcbatch")
    return installed(programs, Path(sys.executable))


def test_python_does_not_look_for_what_is_not_needed(tmp_path: Path) -> None:
    interpreter = tmp_path / "python3"
    interpreter.write_text(f'#!/bin/sh\nexec {sys.executable} -X importtime "$@"\n')
    interpreter.chmod(0o755)
    command = beside(tmp_path)
    (command.parent / "hpcbatch-python").write_text(f"#!{interpreter}\n")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "hpcbatch.cli.slurm.squeue" in imported
    assert "site" not in imported


def test_what_lies_elsewhere_is_found(tmp_path: Path) -> None:
    command = beside(tmp_path)
    launcher, _, _ = command.read_text().partition("from hpcbatch.cli import")
    show = "import hpcbatch, yaml\nprint(hpcbatch.__file__)\nprint(yaml.__name__)\ntry:\n    import nonsense\n"
    command.write_text(f"{launcher}{show}except ModuleNotFoundError as error:\n    print(error)\n")
    done = subprocess.run([command], capture_output=True, text=True, check=True)
    here = f"{tmp_path}/lib/python3.{sys.version_info.minor}/site-packages/hpcbatch/__init__.py"
    assert done.stdout.splitlines() == [here, "yaml", "No module named 'nonsense'"]
