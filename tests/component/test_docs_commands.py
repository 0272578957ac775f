"""The commands of the documentation do what it says.

- A fenced `sh` block is run, in the order of the page and in one shell. Pages that start no engine share one.
- A `console` block needs a cluster, a terminal or somebody's files: every option of our commands in it is known.
- Of README.md the indented blocks of "A first job" are run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command_lines import unknown_options
from tests.pages import fenced, section

CHECKOUT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
README = CHECKOUT / "README.md"
DOCS = sorted((CHECKOUT / "docs").rglob("*.md"))
PAGES = [
    README,
    *DOCS,
    CHECKOUT / "tests/conformance/README.md",
    *sorted((CHECKOUT / "bench").glob("*.md")),
    *sorted((CHECKOUT / "examples").rglob("*.md")),
]
ELSEWHERE = {"install.md", "helm.md"}  # their commands install hpcbatch on the real cluster: tests/cluster/guide.py
RUN = {page: script for page in PAGES if page.name not in ELSEWHERE and (script := fenced(page.read_text()))}
ALONE = [page for page, script in RUN.items() if re.search(r"^hpcbatch up\b", script, re.MULTILINE)]
TOGETHER = [page for page in RUN if page not in ALONE]


def called(page: Path) -> str:
    return page.relative_to(CHECKOUT).as_posix()


def newcomer(directory: Path) -> dict[str, str]:
    """The environment of somebody with a home of their own, in a directory that looks like the checkout.

    The engine's directory is there already: without it the commands would look in the password file's home, which is
    the developer's.
    """
    home = directory / "home"
    (home / ".local/state/hpcbatch").mkdir(parents=True, mode=0o700)
    keep = {name: os.environ[name] for name in ("LANG", "LOGNAME", "USER", "SHELL", "TZ") if name in os.environ}
    return {**keep, "HOME": str(home), "PATH": f"{BIN}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}


def down(env: dict[str, str]) -> None:
    subprocess.run([str(BIN / "hpcbatch"), "down"], env=env, capture_output=True, check=True, timeout=60)


@pytest.fixture
def login(tmp_path: Path) -> Iterator[dict[str, str]]:
    (tmp_path / "examples").symlink_to(CHECKOUT / "examples")
    (tmp_path / ".venv").symlink_to(BIN.parent)
    env = newcomer(tmp_path)
    yield env
    down(env)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """One engine for all pages that start none."""
    env = newcomer(tmp_path_factory.mktemp("session"))
    run("hpcbatch up --nodes 3 --cpus 4", env, Path(env["HOME"]))
    yield env
    down(env)


def run(script: str, env: dict[str, str], directory: Path) -> str:
    """All of it in one shell, which stops at the first command that fails."""
    # pipefail is bash's; a newcomer's shell is bash as well
    done = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", script],
        cwd=directory,
        env=env,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def first_job(text: str) -> str:
    """The indented lines of README's "A first job"."""
    return "".join(f"{line[4:]}\n" for line in section(text, "A first job").splitlines() if line.startswith("    "))


def test_a_first_job(login: dict[str, str], tmp_path: Path) -> None:
    script = first_job(README.read_text())
    assert {"hpcbatch up", "hpcbatch watch", "hpcbatch down"} <= set(script.splitlines())
    output = run(script, login, tmp_path)
    text = next(tmp_path.glob("hello.o*")).read_text()
    assert text in output
    hosts = re.findall(r"^rank \d of 4 on (\S+)$", text, re.MULTILINE)
    assert sorted(hosts) == ["job-1-mpimaster-0"] * 2 + ["job-1-mpiworker-0"] * 2
    assert "the token is back after 4 ranks" in text
    left = {path.name for path in tmp_path.iterdir()} - {"examples", "home"}
    ignored = subprocess.run(["git", "check-ignore", *left], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert set(ignored.stdout.split()) == left


@pytest.mark.parametrize("page", ALONE, ids=called)
def test_commands_of(page: Path, login: dict[str, str], tmp_path: Path) -> None:
    run(RUN[page], login, tmp_path)


@pytest.mark.parametrize("page", TOGETHER, ids=called)
def test_commands_in_one_session(page: Path, session: dict[str, str], tmp_path: Path) -> None:
    run(RUN[page], session, tmp_path)


def test_every_tutorial_has_commands() -> None:
    tutorials = {page for page in DOCS if page.parent.name == "tutorials"}
    assert tutorials
    assert tutorials <= RUN.keys()


def typed(page: str) -> str:
    """What is typed in `console` blocks: the lines behind a prompt; in a block without one all that call commands."""
    lines = []
    for block in re.findall(r"^ *```console\n(.*?)^ *```$", page, re.MULTILINE | re.DOTALL):
        prompted = re.findall(r"^ *[$#] ((?:[^\n]*\\\n)*[^\n]*)$", block, re.MULTILINE)
        lines += prompted or [line for line in block.splitlines() if "`" not in line]
    return "\n".join(lines)


@pytest.mark.parametrize("page", [page for page in PAGES if typed(page.read_text())], ids=called)
def test_options_are_known(page: Path) -> None:
    assert unknown_options(typed(page.read_text())) == []


@pytest.mark.parametrize(
    ("line", "unknown"),
    [
        ("qsub -lselect=1 -W block=true x.pbs -Y", []),
        ("qstat -ans && qstat -Y", ["qstat -Y: -Y"]),
        ("last=$(sbatch --parsable --dep=afterok:1 x.sh --what) # -Y", []),
        ("sbatch --what x.sh", ["sbatch --what x.sh: --what"]),
        ("hpcbatch user add anna --uid 1 --what=3", ["hpcbatch user add anna --uid 1 --what=3: --what=3"]),
        ("KUBECONFIG=x exec hpcbatch user renew --what", ["hpcbatch user renew --what: --what"]),
        ("hpcbatch new mpi --nodes 2 --what", ["hpcbatch new mpi --nodes 2 --what: --what"]),
        ("ls --what | srun -n2 -Y ls", ["srun -n2 -Y ls: -Y"]),
    ],
)
def test_unknown_options_are_found(line: str, unknown: list[str]) -> None:
    assert unknown_options(line) == unknown
