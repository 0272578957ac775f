"""Clients from their registries, each in a virtual environment of its own under build/clients."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CLIENTS = HERE.parents[1] / "build/clients"


def python_of(client: str) -> Path:
    """The Python of that client's environment, which has what requirements/CLIENT.txt names. Skips the case loudly
    where the registry does not give it.
    """
    wanted = (HERE / "requirements" / f"{client}.txt").read_text()
    home = CLIENTS / client
    python, installed = home / "bin/python", home / "installed.txt"
    if not installed.exists() or installed.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted.split("\n")]
        done = subprocess.run([word for word in install if word], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"{client} could not be installed: {done.stderr.strip().splitlines()[-1]}")
        installed.write_text(wanted)
    return python
