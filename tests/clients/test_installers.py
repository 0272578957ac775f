"""The three lines of docs/start.md that install the wheel without a checkout: the demo runs, the commands are found."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.install import HERE, python_of

CHECKOUT = HERE.parents[1]
LINES = re.findall(r"^\$ (.* '\./\S+\.whl\[demo\]')$", (CHECKOUT / "docs/start.md").read_text(), re.MULTILINE)
INSTALLERS = {"venv": "hpcbatch/bin", "pipx": ".local/bin", "uv": ".local/bin"}
"""Installer → where the commands are afterwards, in the home."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    spec = importlib.util.spec_from_file_location("dist", CHECKOUT / "requirements/dist.py")
    assert spec is not None and spec.loader is not None
    dist = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(dist)
    _, made = dist.build(sys.executable, tmp_path_factory.mktemp("dist"))
    return Path(made)


@pytest.mark.parametrize("installer", INSTALLERS)
def test_the_wheel_is_installed_and_runs(installer: str, wheel: Path, tmp_path: Path) -> None:
    (line,) = [line for line in LINES if installer in shlex.split(line)[:3]]
    assert wheel.name in line
    own = Path(sys.executable) if installer == "venv" else python_of(installer)
    home, commands = tmp_path / "home", tmp_path / "home" / INSTALLERS[installer]
    home.mkdir()
    system = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    env = {**os.environ, "HOME": str(home), "PATH": f"{own.parent}:{system}", "LANG": "C.UTF-8"}
    for name in ("HPCBATCH_STATE_DIR", "KUBECONFIG", "VIRTUAL_ENV", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        env.pop(name, None)

    def run(script: str, directory: Path) -> str:
        done = subprocess.run(
            ["bash", "-c", script], cwd=directory, env=env, capture_output=True, text=True, timeout=400, check=False
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout

    run(line, wheel.parent)
    env["PATH"] = f"{commands}:{system}"
    assert "pbs_version" in run("qsub --version", home)
    assert run("sbatch --version", home).startswith("slurm ")
    assert "Both jobs ran over three pods" in run("hpcbatch demo", home)
    assert run("hpcbatch completion bash", home)
    manual = [path for path in home.rglob("share/man/man1/qsub.1") if path.is_file()]
    assert manual, "the manual pages are in the environment"
