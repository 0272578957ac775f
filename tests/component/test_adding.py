"""docs/adding.md: each change applies, touches as many files as its text says, and does what it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import fenced, section
from tests.waiting import wait_for

CHECKOUT = Path(__file__).parents[2]
ADDING = CHECKOUT / "docs" / "adding.md"
FILES = {"A PBS option that reaches the pod": 5, "A squeue column": 2, "A Volcano plugin": 2, "A command": 5}
NUMBER = {2: "Two", 5: "Five"}
RUN = """
import sys
from hpcbatch.cli import module_of
del sys.argv[0]
__import__(module_of(sys.argv[0]), fromlist=["main"]).main()
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout with all of the changes."""
    made = tmp_path_factory.mktemp("copy")
    for name in ("hpcbatch", "templates", "scripts", "docs", "deploy"):
        shutil.copytree(CHECKOUT / name, made / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CHECKOUT / "pyproject.toml", made)
    for title in FILES:
        subprocess.run(["git", "apply", "-"], cwd=made, input=patch(title), text=True, check=True)
    return made


def patch(title: str) -> str:
    return fenced(section(ADDING.read_text(), title), "diff")


@pytest.mark.parametrize("title", FILES)
def test_so_many_files(title: str) -> None:
    assert len(re.findall(r"^diff --git ", patch(title), re.M)) == FILES[title]
    assert section(ADDING.read_text(), title).lstrip("\n").startswith(f"{NUMBER[FILES[title]]} files: ")


def test_they_do_what_they_say(copy: Path, tmp_path: Path) -> None:
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "HPCBATCH_STATE_DIR": str(tmp_path / "state"),
        "PYTHONPATH": str(copy),
    }

    def run(*argv: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", RUN, *argv],
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    read_conf = '. "${PBS_NODEFILE%/*}/job.sh" && echo "$kill_delay_s"'
    (tmp_path / "job").write_text(f"#!/bin/sh\n#PBS -K 3\n{read_conf}\n")
    run("hpcbatch", "up")
    try:
        run("qsub", "-o", str(tmp_path / "out"), "-j", "oe", "job")
        wait_for("the job's output", (tmp_path / "out").exists)
        assert (tmp_path / "out").read_text() == "3\n"
        assert run("squeue", "-h", "-t", "all", "-O", "jobid,submitdir:200").split() == ["1", str(tmp_path)]
        assert run("qwho").split() == [run("squeue", "-h", "-t", "all", "-o", "%u").strip()]
    finally:
        run("hpcbatch", "down")
    pod = {"metadata": {"name": "j-worker-2"}, "spec": {"containers": [{}]}}
    made = f"from hpcbatch.volcano.plugins import BUILTIN; print(BUILTIN['rank']([], None).on_pod_create({pod}, {{}}))"
    shown = subprocess.run(
        [sys.executable, "-c", made], cwd=tmp_path, env=environ, capture_output=True, text=True, check=True
    ).stdout
    assert "{'name': 'RANK', 'value': '2'}" in shown
    assert (copy / "scripts" / "qwho").readlink() == Path("hpcbatch")
