"""What a site makes of names in scripts: nodes, kinds of nodes, queues, licences, and what it ignores or refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.conformance.rigs import Rig
from tests.conformance.site import Site
from tests.conformance.site_file import HEAD, configure, configured, published
from tests.waiting import wait_for

pytestmark = pytest.mark.alone

LABEL = "test.hpcbatch.io/colour"
KEYS = f"""\
queues:
- {{name: default, volcanoQueue: default, default: true, aliases: [normal, "debug*"]}}
- {{name: reds, volcanoQueue: default, nodeSelector: {{{LABEL}: red}}}}
- {{name: blues, volcanoQueue: default, nodeSelector: {{{LABEL}: blue}}}}
nodeProperties:
  red: {{{LABEL}: red}}
  blue: {{{LABEL}: blue}}
  green: {{{LABEL}: green}}
licenses: {{matlab: 2}}
translations:
- {{resource: paint, labels: {{{LABEL}: "{{value}}"}}}}
- {{resource: disk, ignored: every node has the same}}
"""
# The options show who reads the list of queues which of the two is in force.
WARNS = '- {option: "--warns", ignored: a mark}\nunknownQueues: default\n'
REFUSES = '- {option: "--refuses", ignored: a mark}\nunsupported: refuse\n'


@pytest.fixture(scope="module")
def nodes(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The names of three nodes: a red one, and two blue ones."""
    admin = rig.site(tmp_path_factory.mktemp("admin"))
    listed = json.loads(admin.kubectl("get", "nodes", "-o", "json").stdout)["items"]
    found = [node["metadata"]["name"] for node in listed if not node["spec"].get("taints")][:3]  # no control planes
    for name, colour in zip(found, ("red", "blue", "blue"), strict=True):
        admin.kubectl("label", "node", name, f"{LABEL}={colour}", "--overwrite")
    yield found
    for name in found:
        admin.kubectl("label", "node", name, f"{LABEL}-")


@pytest.fixture(scope="module")
def named(rig: Rig, nodes: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The nodes of a site whose file has words for them."""
    yield from with_words(rig.site(tmp_path_factory.mktemp("admin")), nodes, WARNS)


@pytest.fixture
def refusing(rig: Rig, nodes: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The same of a site that refuses what has no effect, and unknown queues."""
    yield from with_words(rig.site(tmp_path_factory.mktemp("admin")), nodes, REFUSES)


def with_words(admin: Site, nodes: list[str], more: str) -> Iterator[list[str]]:
    before = configured(admin)
    base = HEAD if before is None else before.replace(KEYS + WARNS, "")
    configure(admin, base + KEYS + more)
    wait_for("the words", lambda: marks(more) == marks(json.dumps(published(admin))))
    yield nodes
    configure(admin, before)
    wait_for("the old configuration", lambda: marks(before or "") == marks(json.dumps(published(admin))))


def marks(text: str) -> list[str]:
    return re.findall("--(?:warns|refuses)", text)


def places(site: Site, job: str) -> list[str]:
    """The nodes of a job that has ended, each as often as it was used."""
    return sorted(re.findall(r"(?:^|\+)([^/+]+)/", site.wait_end(job)["exec_host"]))


@pytest.mark.slow
def test_nodes_by_name(site: Site, named: list[str]) -> None:
    red, blue, other = named
    options = ("-o", "/dev/null", "--wrap", "true")
    on = site.sbatch("-w", blue, *options)
    off = site.sbatch("-x", f"{red},{other}", *options)
    both = site.sbatch("-N", "2", "-w", f"{red},{other}", *options)
    more = site.sbatch("-N", "3", "-w", other, *options)
    pbs = site.qsub("-l", f"nodes={red}+{other}", "-o", "/dev/null", "-j", "oe", stdin="true\n")
    host = site.qsub("-l", f"select=1:ncpus=1:host={blue}", "-o", "/dev/null", "-j", "oe", stdin="true\n")
    assert [places(site, job) for job in (on, off, host)] == [[blue]] * 3
    assert places(site, both) == places(site, pbs) == sorted([red, other])
    assert places(site, more) == sorted(named)


def test_unknown_names_are_refused_all_at_once(site: Site, named: list[str]) -> None:
    done = site.run("sbatch", "-w", "nosuch", "-C", "purple", "-L", "idl:1", "--wrap", "true", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    for name in ("nosuch", "purple", "idl"):
        assert name in done.stderr
    assert done.stderr.splitlines()[-1].startswith("sbatch: error: ")
    done = site.run("qsub", "-l", "select=1:ncpus=1:host=nosuch", stdin="true\n", check=False)
    assert (done.returncode, done.stdout) == (15062 & 0xFF, "")


def test_kinds_of_nodes(site: Site, named: list[str]) -> None:
    red, *blues = named
    options = ("-o", "/dev/null", "--wrap", "true")
    either = site.sbatch("-C", "green|red", *options)
    same = site.sbatch("-N", "2", "-C", "[red|blue]", *options)
    text = site.qsub("-l", "select=1:ncpus=1:paint=red", "-o", "/dev/null", "-j", "oe", stdin="true\n")
    assert places(site, either) == places(site, text) == [red]
    assert places(site, same) == sorted(blues)


def test_a_node_of_either_kind_is_one_that_is_free(site: Site, named: list[str]) -> None:
    _, *blues = named
    holder = site.sbatch("-C", "red", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 600")
    site.wait_state(holder, "R")
    one = site.sbatch("-C", "[red|blue]", "-o", "/dev/null", "--wrap", "true")
    assert set(places(site, one)) < set(blues), "the others are taken"
    site.run("scancel", holder)


def test_names_of_queues(site: Site, named: list[str]) -> None:
    options = ("-H", "-o", "/dev/null", "--wrap", "true")
    jobs = [site.sbatch("-p", name, *options) for name in ("normal", "debug-2")]
    assert [site.attributes(job)["queue"] for job in jobs] == ["default", "default"]
    done = site.run("sbatch", "-p", "nosuch", *options)
    assert done.stderr.count("ignored here: -p nosuch") == 1
    listed = site.run("qstat", "normal").stdout
    assert all(f"\n{job}." in listed for job in jobs)
    strict = site.run("sbatch", "--strict", "-p", "nosuch", *options, check=False)
    assert (strict.returncode, strict.stdout) == (1, "")
    assert "-p nosuch: this site has no such queue" in strict.stderr


@pytest.mark.usefixtures("refusing")
def test_one_unknown_queue_of_several(site: Site) -> None:
    """sbatch refuses all of it, and says which."""
    done = site.run("sbatch", "-p", "default,nosuch", "--wrap", "true", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "sbatch: error: invalid partition specified: nosuch\n" in done.stderr


def test_of_two_queues_the_free_one_is_taken(site: Site, named: list[str]) -> None:
    red, *_ = named
    first = site.sbatch("-p", "reds", "--exclusive", "-N", "1", "-c", "2", "-o", "/dev/null", "--wrap", "sleep 600")
    site.wait_state(first, "R")
    second = site.sbatch("-p", "reds,blues", "-c", "2", "-o", "/dev/null", "--wrap", "true")
    assert site.wait_end(second)["queue"] == "blues"
    site.run("scancel", first)
    wait_for("the red node to be free", lambda: site.state(first) == "F")
    third = site.sbatch("-p", "reds,blues", "-o", "/dev/null", "--wrap", "true")
    assert places(site, third) == [red]


def test_a_licence_is_never_exceeded(site: Site, named: list[str]) -> None:
    """Of four jobs two run, until others end; each prints how many it sees."""
    script = """
        mkdir -p holders; : > holders/$SLURM_JOB_ID
        while :; do ls holders | wc -l; [ ! -e enough ] || break; sleep 0.3; done
        rm holders/$SLURM_JOB_ID
    """
    jobs = [site.sbatch("-L", "matlab", "-o", f"seen-{number}", "--wrap", script) for number in range(4)]
    wait_for("a job to wait", lambda: "Licenses" in site.run("squeue", "-h", "-o", "%r").stdout)
    shown = "LicenseName=matlab\n    Total=2 Used=2 Free=0 Reserved=0 Remote=no\n"
    assert site.run("scontrol", "show", "licenses").stdout == shown
    assert site.run("squeue", "-h", "-j", jobs[3], "-L", "matlab", "-o", "%i %W").stdout == f"{jobs[3]} matlab\n"
    assert site.run("squeue", "-h", "-L", "nosuch").stdout == ""

    def seen() -> list[int]:
        return [int(line) for path in site.work.glob("seen-*") for line in path.read_text().split()]

    wait_for("two to run at once", lambda: 2 in seen())
    site.script("enough", "")
    for job in jobs:
        assert site.wait_end(job, 120)["Exit_status"] == 0
    assert max(seen()) == 2
    done = site.run("sbatch", "-L", "matlab:3", "--wrap", "true", check=False)
    assert done.returncode == 1
    assert "licence matlab: 3 asked, there are 2" in done.stderr
    assert "Invalid license specification" in done.stderr


def test_what_is_ignored_is_told_once_and_stays_in_the_record(site: Site, named: list[str]) -> None:
    done = site.run("qsub", "-h", "-l", "select=1:ncpus=1:disk=big", stdin="true\n")
    assert done.stderr.count("ignored here: disk=big") == 1
    job = done.stdout.partition(".")[0]
    found = site.kubectl("get", "batchjobs", "--field-selector", f"status.jobId={job}", "-o", "json").stdout
    assert json.loads(found)["items"][0]["status"]["ignored"] == ["disk=big: every node has the same"]


def test_a_site_that_refuses_what_has_no_effect(site: Site, refusing: list[str]) -> None:
    done = site.run("qsub", "-l", "select=1:ncpus=1:disk=big", stdin="true\n", check=False)
    assert (done.returncode, done.stdout) == (15014 & 0xFF, "")
    assert "disk=big: every node has the same" in done.stderr
    unknown = site.run("sbatch", "-p", "nosuch", "--wrap", "true", check=False)
    assert unknown.returncode == 1
    assert "invalid partition specified: nosuch" in unknown.stderr
