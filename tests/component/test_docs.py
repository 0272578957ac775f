"""The documentation does what it says: its links lead somewhere, its lines wrap, its tables are total. Its commands:
test_docs_commands.py.
"""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hpcbatch.dialects.lsf import environment as lsf_environment
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
from tests.pages import section

CHECKOUT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
README = CHECKOUT / "README.md"
DOCS = sorted((CHECKOUT / "docs").rglob("*.md"))
PAGES = [
    README,
    CHECKOUT / "CONTRIBUTING.md",
    CHECKOUT / "SECURITY.md",
    *DOCS,
    CHECKOUT / "tests/conformance/README.md",
    *sorted((CHECKOUT / "bench").rglob("*.md")),
    *sorted((CHECKOUT / "examples").rglob("*.md")),
]
DIRECTIVES = (CHECKOUT / "docs/directives.md").read_text()

SPEC = importlib.util.spec_from_file_location("wrap", CHECKOUT / "requirements/wrap.py")
assert SPEC is not None
assert SPEC.loader is not None
WRAP = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(WRAP)

_ANY_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


# Links


@pytest.mark.parametrize("page", [*PAGES, CHECKOUT / "CHANGELOG.md"], ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_links(page: Path) -> None:
    text = _ANY_FENCED.sub("", page.read_text())
    for link in _LINK.findall(text):
        if "://" not in link:
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            assert target.exists(), f"{page.name}: {link}"
            assert not anchor or anchor in anchors(target.read_text()), f"{page.name}: {link}"


def test_the_changelog_says_each_change_once() -> None:
    lines = (CHECKOUT / "CHANGELOG.md").read_text().splitlines()
    assert len([line for line in lines if line.startswith("# ")]) == 1
    for kept in ("## ", "- "):
        found = [line for line in lines if line.startswith(kept)]
        assert sorted(found) == sorted(set(found))


def anchors(page: str) -> set[str]:
    """Of the headings, as a repository's page and the site's have them."""
    headings = re.findall(r"^#+ (.+)$", _ANY_FENCED.sub("", page), re.MULTILINE)
    return {re.sub(r"[^\w\s-]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_lines_wrap(page: Path) -> None:
    """At 100 columns, but for tables, blocks and headings."""
    assert WRAP.wrapped(page.read_text()) == page.read_text(), "`make wrap` wraps its lines"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("word " * 30, ["word " * 19 + "word", "word " * 9 + "word"]),
        ("- item " + "word " * 25, ["- item " + "word " * 17 + "word", "  " + "word " * 6 + "word"]),
        ("1. a\n   b\n2. c", ["1. a b", "2. c"]),
        ("# a heading\ntext\ntext\n", ["# a heading", "text text", ""]),
        ("| a | b |\n|---|---|\n\n    code  code\n", ["| a | b |", "|---|---|", "", "    code  code", ""]),
        ("```sh\na\nb\n```\nc\nd", ["```sh", "a", "b", "```", "c d"]),
        ("x" * 95 + " `a b c d`", ["x" * 95, "`a b c d`"]),
        ("x" * 97 + " = - y", ["x" * 97, "= - y"]),
    ],
)
def test_what_wrapping_does(text: str, lines: list[str]) -> None:
    assert WRAP.wrapped(text).split("\n") == lines


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
    names |= set(lsf_environment.environment(placed(Dialect.LSF)))
    for dialect in Dialect:
        runner_words = door(dialect).run_setup(placed(dialect)).words
        names |= {*runner_words.start_variables, *runner_words.host_variables} - {"TMPDIR", "SHELL"}
    assert missing(names, "In the job") == []
    # and none that nobody sets
    told = {word for word in words(section(DIRECTIVES, "In the job")) if re.fullmatch(r"(PBS|SLURM)_\w+", word)}
    assert sorted(told - names - {"PBS_O_QUEUE", "PBS_O_HOST"}) == []


@pytest.mark.parametrize("page", ["from-pbs.md", "from-slurm.md"])
def test_variables_of_newcomers(page: str) -> None:
    """A choice of those in directives.md, and of those that tasks have."""
    table = section((CHECKOUT / "docs" / page).read_text(), "Variables").partition("| For `")[0]
    told = {word for word in words(table) if re.fullmatch(r"(PBS|SLURM)_[A-Z_]+", word)}
    assert told
    known = words(section(DIRECTIVES, "In the job")) | words((CHECKOUT / "docs/steps.md").read_text())
    assert sorted(told - known - {"PBS_JOBCOOKIE"}) == []  # of which the page says that there is none


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


METRICS_FILES = ("alerts.yaml", "dashboard.json")


def test_metrics() -> None:
    """Every metric of the controller, and every alert, stands in the page."""
    text = (CHECKOUT / "docs/metrics.md").read_text()
    code = (CHECKOUT / "hpcbatch/controller/process.py").read_text()
    families = re.findall(r'(Gauge|Counter)MetricFamily\(\s*"(hpcbatch_\w+)"', code)
    names = {f"{name}_total" if kind == "Counter" else name for kind, name in families}
    told = set(re.findall(r"^\| `(hpcbatch_\w+)", text, re.MULTILINE))
    assert told == names
    rules, dashboard = [(CHECKOUT / f"deploy/chart/metrics/{name}").read_text() for name in METRICS_FILES]
    assert re.findall(r"^\| `(Hpcbatch\w+)`", text, re.MULTILINE) == re.findall(r"alert: (\w+)", rules)
    assert set(re.findall(r"hpcbatch_\w+", rules + dashboard)) <= names
    for panel in json.loads(dashboard)["panels"]:
        of_history = any("hpcbatch_history_" in target["expr"] for target in panel["targets"])
        said = panel["fieldConfig"]["defaults"].get("noValue")
        assert not of_history or said == "no database", "what a site without PostgreSQL sees"
