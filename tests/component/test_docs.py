"""The documentation does what it says: its commands run, its links lead somewhere, its tables are total.

A fenced `sh` block is run, in the order of the file and in one shell; `console` and `text` blocks are to be read only.
Of README.md the indented blocks of "A first job" are run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcbatch.dialects.pbs import environment as pbs_environment
from hpcbatch.dialects.pbs.states import LETTER, SUBSTATE
from hpcbatch.dialects.pbs.variables import job_variables
from hpcbatch.dialects.registry import door
from hpcbatch.dialects.slurm import environment as slurm_environment
from hpcbatch.dialects.slurm.states import COMPACT, LONG
from hpcbatch.model.array import Array, Membership
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.indices import Indices
from hpcbatch.model.placed import PlacedJob, PlacedPod
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState
from tests.pages import fenced, section

CHECKOUT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
README = CHECKOUT / "README.md"
DOCS = sorted((CHECKOUT / "docs").glob("*.md"))
ELSEWHERE = {"install.md"}  # its commands install hpcbatch on the real cluster: tests/cluster/guide.py
PAGES = [
    README,
    *DOCS,
    CHECKOUT / "tests/conformance/README.md",
    *sorted((CHECKOUT / "bench").glob("*.md")),
    *sorted((CHECKOUT / "examples").rglob("*.md")),
]
DIRECTIVES = (CHECKOUT / "docs/directives.md").read_text()

_ANY_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


# Commands


def first_job(text: str) -> str:
    """The indented lines of README's "A first job"."""
    return "".join(f"{line[4:]}\n" for line in section(text, "A first job").splitlines() if line.startswith("    "))


@pytest.fixture
def login(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A newcomer: a home of their own, and a directory that looks like the checkout.

    The engine's directory is there already: without it the commands would look in the password file's home, which is
    the developer's.
    """
    (tmp_path / "examples").symlink_to(CHECKOUT / "examples")
    (tmp_path / ".venv").symlink_to(BIN.parent)
    home = tmp_path / "home"
    (home / ".local/state/hpcbatch").mkdir(parents=True, mode=0o700)
    keep = {name: os.environ[name] for name in ("LANG", "LOGNAME", "USER", "SHELL", "TZ") if name in os.environ}
    env = {**keep, "HOME": str(home), "PATH": f"{BIN}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
    yield env
    subprocess.run([str(BIN / "hpcbatch"), "down"], env=env, check=True, timeout=60)


def run(script: str, login: dict[str, str], directory: Path) -> str:
    """All of it in one shell, which stops at the first command that fails."""
    # pipefail is bash's; a newcomer's shell is bash as well
    done = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", script],
        cwd=directory,
        env=login,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


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


RUN_HERE = [page for page in PAGES if page.name not in ELSEWHERE and fenced(page.read_text())]


@pytest.mark.parametrize("page", RUN_HERE, ids=lambda page: page.name)
def test_commands_of(page: Path, login: dict[str, str], tmp_path: Path) -> None:
    run(fenced(page.read_text()), login, tmp_path)


def test_some_page_has_commands() -> None:
    assert any(fenced(page.read_text()) for page in DOCS)


def test_commands_named_in_readme_exist() -> None:
    text = README.read_text()
    named = re.search(r"`\.venv/bin` holds ([\w, \n]+?);", text)
    assert named
    for name in re.split(r",\s+|\s+and\s+", named[1].strip()):
        assert shutil.which(name, path=str(BIN)), name


# Links


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_links(page: Path) -> None:
    text = _ANY_FENCED.sub("", page.read_text())
    for link in _LINK.findall(text):
        if "://" not in link:
            assert (page.parent / link.partition("#")[0]).exists(), f"{page.name}: {link}"


def test_no_placeholder_is_left() -> None:
    for page in PAGES:
        assert not re.search(r"\b(TRANSCRIPT|TODO|FIXME|TBD)\b", page.read_text()), page


def test_paths_that_design_names_exist() -> None:
    text = (CHECKOUT / "docs/design.md").read_text()
    for path in re.findall(r"`((?:hpcbatch|templates|deploy|examples|tests)/[\w/.-]+)`", text):
        assert (CHECKOUT / path).exists(), path


# Tables


def words(text: str) -> set[str]:
    """Everything that stands between backticks, split at blanks."""
    return {word.rstrip(",") for part in re.findall(r"`([^`]+)`", text) for word in part.split()}


def missing(names: set[str], heading: str) -> list[str]:
    return sorted(names - words(section(DIRECTIVES, heading)))


def placed(dialect: Dialect) -> PlacedJob:
    """A job that requests everything that a variable tells of."""
    given = (
        "ntasks",
        "ntasks_per_node",
        "cpus_per_task",
        "mem_per_node_mb",
        "mem_per_cpu_mb",
        "open_mode",
        "gpus",
        "gpus_per_node",
        "gpus_per_task",
        "cpus_per_gpu",
        "mem_per_gpu_mb",
        "Resource_List.ngpus",
    )
    spec = JobSpec(
        dialect=dialect,
        name="j",
        queue="q",
        interpreter="/bin/sh",
        account="a",
        walltime_s=60,
        attributes={**dict.fromkeys(given, "1"), "export": "NONE"},
        member_of=Membership(array_id=1, array_name="a", index=3),
    )
    pod = PlacedPod(host="h", chunk=Chunk(resources=(("gpu", 1),)))
    return PlacedJob(
        job_id=1,
        spec=spec,
        queue="q",
        pods=(pod,),
        owner="u",
        uid=1,
        gid=1,
        home="/",
        cluster="c",
        run_count=2,
        array=Array(indices=Indices.of([3])),
    )


def test_variables() -> None:
    environ = dict.fromkeys(("HOME", "LANG", "LOGNAME", "PATH", "MAIL", "SHELL", "TZ"), "x")
    names = set(pbs_environment.environment(placed(Dialect.PBS)))
    names |= set(job_variables(environ, listed={}, export_all=False, cwd="/", user="u"))
    names |= set(slurm_environment.environment(placed(Dialect.SLURM)))
    for dialect in Dialect:
        runner_words = door(dialect).run_setup(placed(dialect)).words
        names |= {*runner_words.start_variables, *runner_words.host_variables} - {"TMPDIR", "SHELL"}
    assert missing(names, "In the job") == []
    # and none that nobody sets
    told = {word for word in words(section(DIRECTIVES, "In the job")) if re.fullmatch(r"(PBS|SLURM)_\w+", word)}
    assert sorted(told - names - {"PBS_O_QUEUE", "PBS_O_HOST"}) == []


def test_states() -> None:
    rows = {
        cells[0].strip("` "): [cell.strip() for cell in cells]
        for line in section(DIRECTIVES, "States").splitlines()
        if line.startswith("| `")
        for cells in [line.strip("|").split("|")]
    }
    assert rows.keys() == {state.value for state in JobState}
    for state in set(JobState) - {JobState.REFUSED}:
        _, letter, number, slurm, *_ = rows[state.value]
        assert (letter, number) == (LETTER[state], str(SUBSTATE[state]))
        assert slurm.startswith(f"{COMPACT[state]} {LONG[COMPACT[state]]}")


def test_engine_options() -> None:
    """`hpcbatch`'s own, as its help tells them."""
    text = (CHECKOUT / "docs/engine.md").read_text()
    for command in ("up", "down", "status", "watch"):
        told = subprocess.run([str(BIN / "hpcbatch"), command, "--help"], capture_output=True, text=True, check=True)
        assert f"`hpcbatch {command}" in text
        for option in set(re.findall(r"^\s+(--\w+)", told.stdout, re.MULTILINE)) - {"--help"}:
            assert f"`{option}" in text, option
