"""Clients from their registries, each in a virtual environment of its own under build/clients.

`python -m tests.clients.install` brings all of them, so that no case's time goes into that.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

HERE = Path(__file__).parent
REQUIREMENTS = HERE / "requirements"
CLIENTS = HERE.parents[1] / "build/clients"


def python_of(client: str, requirements: Path = REQUIREMENTS) -> Path:
    """The Python of that client's environment, which has what CLIENT.txt there names. Skips the case loudly where the
    registry does not give it.
    """
    if complaint := _install(client, requirements):
        pytest.skip(f"{client} could not be installed: {complaint}")
    return CLIENTS / client / "bin/python"


def _install(client: str, requirements: Path) -> str:
    """What pip says where it fails; "" when the environment is there."""
    wanted = (requirements / f"{client}.txt").read_text()
    return made(client, wanted, [sys.executable, "-m", "venv", "--clear"], [pip_install(client, *wanted.split())])


def pip_install(client: str, *arguments: str) -> list[str]:
    """The command that installs into the client's environment."""
    python = CLIENTS / client / "bin/python"
    return [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]


def made(client: str, wanted: str, venv: Sequence[str], commands: Sequence[Sequence[str]]) -> str:
    """Make the client's environment by `venv` and `commands`, unless there is one of what is `wanted`.
    What the one that fails says; "" when the environment is there.
    """
    home = CLIENTS / client
    installed = home / "installed.txt"
    if installed.exists() and installed.read_text() == wanted:
        return ""
    for command in ([*venv, str(home)], *commands):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return (done.stderr.strip() or done.stdout.strip()).splitlines()[-1]
    installed.write_text(wanted)
    return ""


def install_all(requirements: Path) -> None:
    for path in sorted(requirements.glob("*.txt")):
        print(f"installing {path.stem}", flush=True)
        if complaint := _install(path.stem, requirements):
            print(f"{path.stem} could not be installed: {complaint}", file=sys.stderr)


if __name__ == "__main__":
    install_all(REQUIREMENTS)
