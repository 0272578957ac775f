"""What the start of each command takes, beside `kubectl get` on the same engine. The commands lie as pip installs them,
not as in a checkout, where Python takes 5 ms more to find them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from bench.engine.rig import BIN, engine
from bench.timing import compare_commands

ROUNDS = 21
_KUBECTL = "kubectl get batchjobs"
_OTHER = ", the other"
_COMMANDS = {
    "qstat": ["qstat"],
    "squeue": ["squeue"],
    "qsub": ["qsub", "-h", "true.pbs"],
    "sbatch": ["sbatch", "--hold", "true.pbs"],
    "qstat -f": ["qstat", "-f", "1"],
    "qstat -Q": ["qstat", "-Q"],
    "pbsnodes -a": ["pbsnodes", "-a"],
    "sinfo": ["sinfo"],
    "sacct": ["sacct"],
    "seff": ["seff", "1"],
    "scontrol show job": ["scontrol", "show", "job", "1"],
    "scontrol show node": ["scontrol", "show", "node"],
    "scontrol show config": ["scontrol", "show", "config"],
    "sacctmgr show assoc": ["sacctmgr", "show", "assoc"],
    "sshare": ["sshare"],
}
_SUBMITTING = ("qsub", "sbatch")


def main(beside: Path | None = None) -> None:
    """`beside` is the directory of another hpcbatch's programs: they take turns with ours, each on its own engine."""
    commands: dict[str, tuple[list[str | Path], Mapping[str, str]]] = {}
    with ExitStack() as stack:
        for suffix, programs in [("", BIN)] if beside is None else [("", BIN), (_OTHER, beside)]:
            env, work = stack.enter_context(engine(programs=programs))
            (work / "true.pbs").write_text("#!/bin/sh\ntrue\n")
            for _ in range(10):
                subprocess.run([programs / "qsub", "-h", work / "true.pbs"], env=env, check=True, capture_output=True)
            if not suffix:
                commands[_KUBECTL] = [BIN / "kubectl", "get", "batchjobs"], env
                here = work
            copy = _installed(work / "installed", programs)
            for name, (command, *arguments) in _COMMANDS.items():
                commands[f"{name}{suffix}"] = [copy / command, *arguments], env
            if not suffix:
                written = env | {"PYTHONDONTWRITEBYTECODE": "1"}
                read_only = env | {"XDG_CACHE_HOME": str(work)}
                sealed = _installed(work / "read-only", programs)
                _seal(sealed.parent)
                for name in _SUBMITTING:
                    command, *arguments = _COMMANDS[name]
                    commands[f"{name}, no bytecode"] = [copy / command, *arguments], written
                    commands[f"{name}, read-only"] = [sealed / command, *arguments], read_only
        spent = compare_commands(commands, ROUNDS, here)
    print(f"start-up, median of {ROUNDS}, whole process, some 10 to 150 waiting jobs; x: of {_KUBECTL}")
    print("  no bytecode: with PYTHONDONTWRITEBYTECODE; read-only: installed without any, where nobody may write")
    base = spent[_KUBECTL]
    for label, (wall_s, cpu_s) in spent.items():
        other = spent.get(f"{label}{_OTHER}")
        ratio = "" if other is None else f"   CPU {cpu_s / other.cpu_s:.3f} x the other"
        print(
            f"  {label:24} {wall_s * 1000:6.1f} ms {wall_s / base.wall_s:5.2f} x"
            f"   CPU {cpu_s * 1000:6.1f} ms {cpu_s / base.cpu_s:5.2f} x{ratio}"
        )


def _installed(path: Path, programs: Path) -> Path:
    """The programs of an installation of the checkout in whose .venv/bin `programs` lie, with its Python."""
    checkout = programs.parents[1]
    package = path / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages" / "hpcbatch"
    shutil.copytree(checkout / "hpcbatch", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(checkout / "scripts", path / "bin")
    (path / "bin" / "hpcbatch-python").write_text(f"#!{programs / 'python3'}\n")
    return path / "bin"


def _seal(path: Path) -> None:
    """Nobody has compiled this installation, and nobody, root included, can write what Python compiles there: a file
    stands in the place of each directory for it.
    """
    for folder in {file.parent for file in path.rglob("*.py")}:
        (folder / "__pycache__").touch()
