"""What `make demo` says before pip has done its work, and which goals a change must pass. Programs are stand-ins."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PYTHON = """\
#!/bin/sh
mkdir -p .venv/bin
printf '#!/bin/sh\\necho pip\\n' >.venv/bin/pip
chmod +x .venv/bin/pip
"""


def test_make_demo_says_what_it_does(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(REPOSITORY / name, tmp_path)
    for name in ("requirements", "scripts"):
        shutil.copytree(REPOSITORY / name, tmp_path / name, symlinks=True)
    for script in ("mpi/packages.sh", "mpi/demo.sh", "wrf/packages.sh", "wrf/demo.sh"):
        path = tmp_path / "examples" / script
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"echo {script}\n")
    (tmp_path / "python").write_text(PYTHON)
    (tmp_path / "python").chmod(0o755)

    def said(goal: str) -> list[str]:
        argv = ["make", "--no-print-directory", f"PYTHON={tmp_path}/python", goal]
        env = {"PATH": os.environ["PATH"]}
        return subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, check=True).stdout.split(
            "\n"
        )

    packages, making, *pip, demo, _ = said("demo")
    assert (packages, demo, set(pip)) == ("mpi/packages.sh", "mpi/demo.sh", {"pip"})
    assert making.startswith("making .venv with hpcbatch and Open MPI") and "minute" in making
    assert said("demo") == ["mpi/packages.sh", "mpi/demo.sh", ""], "the second time there is nothing to wait for"
    assert [line.partition(" ")[0] for line in said("demo-wrf")] == [
        "mpi/packages.sh",
        "adding",
        "pip",
        "wrf/packages.sh",
        "wrf/demo.sh",
        "",
    ]


def test_a_change_must_pass_every_step(tmp_path: Path) -> None:
    make = tmp_path / "make"
    make.write_text('#!/bin/sh\nline=$(printf "%s;" "$@")\necho "$line"\n')  # in one write: two run at once
    make.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([REPOSITORY / ".ci/run"], env=env, capture_output=True, text=True, check=True)
    steps = [line.split(";")[:-1] for line in done.stdout.splitlines()]
    goals = [goal for goal, *_ in steps]
    assert [*goals[:1], *sorted(goals[1:5]), *goals[5:]] == [
        ".venv/dev",
        *("audit", "docs", "lint", "programs"),  # at once
        *("demo", "test", "test-full", "test-cluster"),
    ]
    for case in " ".join(choice.removeprefix("CASES=") for _, *more in steps for choice in more).split():
        path, _, function = case.partition("::")
        assert (REPOSITORY / path).exists(), case
        assert f"def {function}(" in (REPOSITORY / path).read_text() if function else True, case


@pytest.mark.parametrize("goal", ["programs", "audit", "test"])
def test_a_step_that_fails_ends_the_run(tmp_path: Path, goal: str) -> None:
    make = tmp_path / "make"
    make.write_text(f'#!/bin/sh\necho "$1" >>{tmp_path}/made\n[ "$1" != {goal} ]\n')
    make.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([REPOSITORY / ".ci/run"], env=env, capture_output=True, text=True, check=False)
    made = (tmp_path / "made").read_text().split()
    assert done.returncode != 0
    assert goal in made and ("demo" in made) == (goal == "test") and "test-full" not in made
