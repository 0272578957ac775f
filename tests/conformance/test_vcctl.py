"""Volcano's own command-line client: what it prints, its exit codes, and that what it does happens."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.volcano_site import IMAGE, WORKER, Volcano, job, phases, task
from tests.waiting import wait_for

ABSENT = 'jobs.batch.volcano.sh "nosuch" not found'


@pytest.fixture(scope="module")
def running(volcano: Volcano) -> Volcano:
    volcano.vcctl("version")
    volcano.create(
        job("first", task("a", WORKER, 2), labels={"volcano.sh/job-type": "MPI"}, annotations={"note": "a b"}),
        job("suspended", task("a", WORKER)),
        job("ended", task("a", "true")),
    )
    return volcano


@pytest.fixture
def queue_name(running: Volcano) -> Iterator[str]:
    name = f"try-vcctl-{secrets.token_hex(2)}"
    yield name
    running.run("kubectl", "delete", "queue", name, "--ignore-not-found")


def refused(volcano: Volcano, *argv: str) -> tuple[int, str, str]:
    done = volcano.vcctl(*argv, check=False)
    return done.returncode, done.stdout, done.stderr


def in_namespace(volcano: Volcano, *argv: str) -> str:
    return volcano.vcctl("job", *argv, "-n", volcano.namespace).stdout


def table(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_version(running: Volcano) -> None:
    assert running.vcctl("version").stdout.startswith("API Version: v1alpha1\nVersion: v1.14.1\n")


def test_list(running: Volcano) -> None:
    running.wait_phase("first", "Running")
    running.wait_phase("suspended", "Running")
    running.wait_phase("ended", "Completed")
    head, *lines = table(in_namespace(running, "list"))
    assert (
        head == "Name Creation Phase JobType Replicas Min Pending Running Succeeded Failed Unknown RetryCount".split()
    )
    rows = {line[0]: line[2:] for line in lines}
    assert rows["first"] == ["Running", "MPI", "2", "2", "0", "2", "0", "0", "0", "0"]
    assert rows["suspended"] == ["Running", "Batch", "1", "1", "0", "1", "0", "0", "0", "0"]
    assert rows["ended"][:4] == ["Completed", "Batch", "1", "1"]
    everywhere = table(running.vcctl("job", "list", "--all-namespaces").stdout)
    assert everywhere[0][:3] == ["Namespace", "Name", "Creation"]
    assert [running.namespace, "first"] in [line[:2] for line in everywhere]
    assert in_namespace(running, "list", "-q", "nosuch") == "No resources found\n"


def test_pod_list(running: Volcano) -> None:
    running.wait_phase("first", "Running")
    head, *lines = table(running.vcctl("pod", "list", "-n", running.namespace).stdout)
    assert head == ["Name", "Ready", "Status", "Restart", "Age"]
    assert ["first-a-0", "1/1", "Running", "0"] in [line[:4] for line in lines]


def test_view(running: Volcano) -> None:
    running.wait_phase("first", "Running")
    text = in_namespace(running, "view", "-N", "first")
    for part in (
        f"Name:       \tfirst\nNamespace:  \t{running.namespace}\n",
        'Labels:     \t{"volcano.sh/job-type":"MPI"}\nAnnotations:\t{"note":"a b"}\n',
        "  Min Available:     \t2\n",
        "  Scheduler Name:    \tvolcano\n",
        "    Name:\ta\n    Replicas:\t2\n",
        f"          Image:\t{IMAGE}\n",
        "Status:\n  Running:      \t2\n  Min Available:\t2\n",
        "    Phase:\tRunning\n",
    ):
        assert part in text, text
    assert re.search(r"^    Running \t\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", text, re.MULTILINE)


def test_suspend_and_resume(running: Volcano) -> None:
    running.wait_phase("suspended", "Running")
    assert in_namespace(running, "suspend", "-N", "suspended") == ""
    running.wait_phase("suspended", "Aborted")
    running.wait_pods("suspended", {})
    assert "AbortJob" in in_namespace(running, "view", "-N", "suspended").partition("\nEvents:")[2]
    assert in_namespace(running, "resume", "-N", "suspended") == ""
    found = running.wait_phase("suspended", "Running")
    assert phases(found) == ["Aborting", "Aborted", "Restarting", "Pending", "Running"]
    rows = {line[0]: line[-1] for line in table(in_namespace(running, "list"))}
    assert rows["suspended"] == "1"


def test_run_and_delete(running: Volcano, tmp_path: Path) -> None:
    """By a file: `-i` alone starts an image's own command, and not every rig has images."""
    file = tmp_path / "made.yaml"
    file.write_text(json.dumps(job("made", task("a", WORKER, 2), minAvailable=1)))
    assert in_namespace(running, "run", "-f", str(file)) == "run job made successfully\n"
    spec = running.get("vcjob", "made")["spec"]
    assert (spec["minAvailable"], spec["tasks"][0]["name"], spec["tasks"][0]["replicas"]) == (1, "a", 2)
    assert refused(running, "job", "run", "-n", running.namespace, "-f", str(file)) == (
        255,
        'Failed to run job: jobs.batch.volcano.sh "made" already exists\n',
        "",
    )
    assert in_namespace(running, "delete", "-N", "made") == "delete job made successfully\n"
    running.jobs.wait("the job to go", lambda: running.jobs.is_gone("made"))
    running.wait_pods("made", {})


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["job", "run"], "run job: job name cannot be left blank"),
        (["job", "run", "-f", "/nonexistent"], "run job: only support yaml file"),
        (
            ["job", "run", "-N", "x", "-r", "1", "-m", "2"],
            "run job: admission webhook \"validatejob.volcano.sh\" denied the request: job 'minAvailable' should not "
            "be greater than total replicas in tasks;",
        ),
        *((["job", verb, "-N", "nosuch"], f"{verb} job: {ABSENT}") for verb in ("suspend", "resume", "delete", "view")),
        (["job", "suspend"], "suspend job: job name is mandatory to suspend a particular job"),
        (["job", "view"], "view job: job name (specified by --name or -N) is mandatory to view a particular job"),
        (["queue", "get", "-n", "nosuch"], 'get queue: queues.scheduling.volcano.sh "nosuch" not found'),
        (["queue", "get"], "get queue: name is mandatory to get the particular queue details"),
        (["queue", "create", "-n", "default"], 'create queue: queues.scheduling.volcano.sh "default" already exists'),
        (["queue", "operate", "-n", "default", "-w", "5"], "operate queue: action can not be null"),
        (
            ["queue", "operate", "-n", "default", "-a", "nonsense"],
            "operate queue: action nonsense invalid, valid actions are open, close and update",
        ),
        (
            ["queue", "operate", "-n", "nosuch", "-a", "close"],
            'operate queue: queues.scheduling.volcano.sh "nosuch" not found',
        ),
        (
            ["queue", "delete", "-n", "default"],
            'delete queue: admission webhook "validatequeue.volcano.sh" denied the request: `default` queue can not be '
            "deleted",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_refusals(running: Volcano, argv: list[str], message: str) -> None:
    """All on standard output, exit 255."""
    assert refused(running, *argv) == (255, f"Failed to {message}\n", "")


def test_unknown_flag(running: Volcano) -> None:
    code, _, stderr = refused(running, "job", "list", "--bogus")
    assert code == 1
    assert stderr.startswith("Error: unknown flag: --bogus\n")


def test_a_queue(running: Volcano, queue_name: str) -> None:
    def row() -> list[str]:
        head, line = table(running.vcctl("queue", "get", "-n", queue_name).stdout)
        assert head == ["Name", "Weight", "State", "Parent", "Inqueue", "Pending", "Running", "Unknown", "Completed"]
        return line

    assert running.vcctl("queue", "create", "-n", queue_name, "-w", "3", "-S", "Closed").stdout == ""

    def wait_state(state: str) -> None:
        wait_for(f"queue {queue_name} to be {state}", lambda: row()[2] == state, every_s=0.2)

    wait_state("Open")
    assert row() == [queue_name, "3", "Open", "root", "0", "0", "0", "0", "0"]
    running.create(job("inside", task("a", WORKER), queue=queue_name))
    running.wait_phase("inside", "Running")
    running.wait_group("inside", "to be Running", lambda g: g.get("status", {}).get("phase") == "Running")
    assert row()[4:] == ["0", "0", "1", "0", "0"]
    assert running.vcctl("queue", "operate", "-n", queue_name, "-a", "close").stdout == ""
    wait_state("Closing")
    running.kubectl("delete", "vcjob", "inside")
    wait_state("Closed")
    assert (
        f"{queue_name}-closequeue"
        not in running.run("kubectl", "-n", "default", "get", "commands.bus.volcano.sh").stdout
    )
    assert running.vcctl("queue", "operate", "-n", queue_name, "-a", "open").stdout == ""
    wait_state("Open")
    assert running.vcctl("queue", "operate", "-n", queue_name, "-a", "update", "-w", "7").stdout == ""
    assert row()[1] == "7"
    assert [queue_name, "7", "Open", "root"] in [line[:4] for line in table(running.vcctl("queue", "list").stdout)]
    assert running.vcctl("queue", "delete", "-n", queue_name).stdout == ""
    assert refused(running, "queue", "get", "-n", queue_name)[0] == 255
