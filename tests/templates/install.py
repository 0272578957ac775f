"""The frameworks, each in a virtual environment of its own under build/clients: `python -m tests.templates.install`."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.clients.install import CLIENTS, install_all, made, pip_install

REQUIREMENTS = Path(__file__).parent / "requirements"
DEBIAN_PYTHON = "/usr/bin/python3"
"""It has Debian's PyTorch."""


@dataclass(frozen=True, slots=True)
class Source:
    """A framework that PyPI has as sources only. It is compiled against Debian's PyTorch."""

    package: str
    needs: tuple[str, ...]
    """All that it needs and Debian's PyTorch does not."""
    env: tuple[str, ...]
    """What its setup.py reads."""


SOURCES = {
    # 0.16.5 registers a hook of a module with an argument that PyTorch 1.13 does not have
    "deepspeed": Source(
        "deepspeed==0.16.4",
        (
            "annotated-types==0.8.0",
            "einops==0.8.2",
            "hjson==3.1.0",
            "msgpack==1.2.4",
            "ninja==1.13.2",
            "packaging==26.4",
            "py-cpuinfo==9.0.0",
            "pydantic==2.14.4",
            "pydantic-core==2.50.5",
            "tqdm==4.70.1",
            "typing-extensions==4.16.0",
            "typing-inspection==0.4.5",
            "wheel==0.38.4",
        ),
        ("DS_ACCELERATOR=cpu", "DS_BUILD_SHM_COMM=1"),  # else each job compiles it
    ),
    "horovod": Source(
        "horovod==0.28.1",
        ("cffi==2.1.1", "cloudpickle==3.1.3", "packaging==26.4", "pycparser==3.12", "wheel==0.38.4"),
        (
            "HOROVOD_WITH_PYTORCH=1",
            "HOROVOD_WITHOUT_TENSORFLOW=1",
            "HOROVOD_WITHOUT_MXNET=1",
            "HOROVOD_WITH_MPI=1",
            "HOROVOD_WITHOUT_GLOO=1",
            "HOROVOD_DEBUG=1",  # it takes two thirds of the time
        ),
    ),
}


def python_with(framework: str) -> Path:
    """The Python of the environment of one of SOURCES. Skips the case loudly where that could not be made."""
    if complaint := _compile(framework):
        pytest.skip(f"{framework} could not be compiled: {complaint}")
    return CLIENTS / framework / "bin/python"


def _compile(framework: str) -> str:
    """What fails; "" when the environment is there. No wheel is kept: it is linked to the Open MPI of this .venv."""
    source = SOURCES[framework]
    path = f"PATH={Path(sys.executable).parent}:{os.environ['PATH']}"  # where CMake finds mpicxx
    jobs = os.cpu_count() or 1
    env = ["/usr/bin/env", path, f"MAX_JOBS={jobs}", f"MAKEFLAGS=-j{jobs}", *source.env]
    build = ("--no-cache-dir", "--no-deps", "--no-build-isolation", "--no-binary", ":all:", source.package)
    commands = [
        [DEBIAN_PYTHON, "-c", "import torch"],
        pip_install(framework, "--no-deps", *source.needs),
        [*env, *pip_install(framework, *build)],
    ]
    return made(framework, repr(source), [DEBIAN_PYTHON, "-m", "venv", "--clear", "--system-site-packages"], commands)


if __name__ == "__main__":
    install_all(REQUIREMENTS)
    for name in SOURCES:
        print(f"compiling {name}", flush=True)
        if complaint := _compile(name):
            print(f"{name} could not be compiled: {complaint}", file=sys.stderr)
