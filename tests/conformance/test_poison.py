"""Records written by hand that no command would make: refused or marked, while everybody else is served."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.site import Site
from tests.waiting import wait_for

Spec = dict[str, Any]
HUGE = "0-30000000:3,1-30000000"
RECORDS: dict[str, Spec] = {
    "year-1": {"beginTime": "0001-01-01T00:00:00Z"},
    "year-9999": {"beginTime": "9999-12-31T23:59:59Z", "walltimeSeconds": 86400},
    "year-2400": {"beginTime": "2400-01-01T00:00:00Z"},
    "text": {"attributes": {"ntasks_per_node": "many", "cpus_per_task": "9" * 6000}},
    "sets": {"array": {"indices": HUGE}},
    "ids": {"dependency": {"clauses": [{"kind": "after", "jobs": ["9" * 39], "delaySeconds": 2**53}]}},
    "sizes": {"chunks": [{"count": 100000, "cpus": 2**53 - 1, "ranks": 0, "memBytes": 2**53}]},
    "walltime": {"walltimeSeconds": 2**53},
}
ALTERATIONS: list[Spec] = [
    {"alteration": {"id": f"alter-{name}", "fields": spec}} for name, spec in RECORDS.items() if "array" not in spec
]
VIEWS = [
    ["qstat"],
    ["qstat", "-f"],
    ["qstat", "-t"],
    ["qstat", "-a"],
    ["qstat", "-f", "-F", "json"],
    ["squeue"],
    ["squeue", "-r"],
    ["squeue", "-o", "%i %e %S %E"],
    ["scontrol", "show", "job"],
    ["sacct", "-a"],
    ["sacct", "-a", "--json"],
    ["hpcbatch", "accounting"],
]


_SHOW_NO_HELD_JOB = [["sacct", "-a"], ["sacct", "-a", "--json"], ["hpcbatch", "accounting"]]


@pytest.fixture
def held(site: Site) -> Iterator[list[str]]:
    """Names of BatchJobs that are to go in the end."""
    names: list[str] = []
    yield names
    for name in names:
        site.kubectl(
            "patch", "batchjob", name, "--type=merge", "-p", '{"spec": {"deleteRequested": true}}', check=False
        )


def new_name(what: str) -> str:
    return f"poison-{what}-{secrets.token_hex(3)}"


def put(site: Site, name: str, spec: Spec) -> bool:
    """A BatchJob with its Secret; False where the API server does not take it."""
    body = {"dialect": "slurm", "name": name, "chunks": [{"count": 1, "cpus": 1, "ranks": 1}], "submissionSecret": name}
    meta = {"name": name, "labels": {"app.kubernetes.io/managed-by": "hpcbatch"}}
    data = {"script": "IyEvYmluL3NoCnRydWUK", "environment": ""}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": meta,
        "type": "hpcbatch.io/submission",
        "immutable": True,
        "data": data,
    }
    job = {"apiVersion": "hpcbatch.io/v1alpha1", "kind": "BatchJob", "metadata": meta, "spec": body | spec}
    for obj in (secret, job):
        path = site.work / f"{name}.json"
        path.write_text(json.dumps(obj))
        done = site.kubectl("create", "-f", str(path), check=False)
        if done.returncode:
            assert "nvalid" in done.stderr, done.stderr
            return False
    return True


def status(site: Site, name: str) -> Spec:
    done = site.kubectl("get", "batchjob", name, "-o", "json", check=False)
    found: Spec = json.loads(done.stdout).get("status", {}) if done.returncode == 0 else {"refusal": {"message": ""}}
    return found


def answer(site: Site, name: str) -> Spec:
    def answered() -> Spec | None:
        found = status(site, name)
        return found if found.keys() & {"jobId", "refusal"} else None

    found: Spec = wait_for(f"an answer to {name}", answered, 60)
    return found


def patch(site: Site, name: str, spec: Spec) -> bool:
    body = json.dumps({"spec": spec})
    return site.kubectl("patch", "batchjob", name, "--type=merge", "-p", body, check=False).returncode == 0


def serves(site: Site) -> None:
    """That a job of somebody else comes through, and every view shows it: sacct by its number, since a held job has
    never been eligible.
    """
    job = site.sbatch("--hold", "--wrap", "true", "-o", "/dev/null")
    for argv in (*VIEWS, ["sacct", "-a", "-j", job]):
        done = site.run(*argv)
        assert job in done.stdout or argv in _SHOW_NO_HELD_JOB, argv
        assert done.stderr == ""
    site.run("scancel", job)


def test_poisoned_records(site: Site, held: list[str]) -> None:
    for what, spec in RECORDS.items():
        name = new_name(what)
        if put(site, name, spec):
            held.append(name)
            found = answer(site, name)
            assert "refusal" in found or what == "year-2400", found
    serves(site)


@pytest.mark.slow
def test_poisoned_alterations(site: Site, held: list[str]) -> None:
    name = new_name("altered")
    assert put(site, name, {"hold": True})
    held.append(name)
    answer(site, name)
    for change in ALTERATIONS:
        asked = change["alteration"]["id"]
        if patch(site, name, change):
            wait_for(asked, lambda: status(site, name).get("answered", {}).get("id") == asked, 60)  # noqa: B023
    serves(site)


@pytest.mark.slow
def test_poisoned_sets_and_members_of_their_own(site: Site, held: list[str]) -> None:
    name = new_name("array")
    assert put(site, name, {"hold": True, "array": {"indices": "1-100000"}})
    held.append(name)
    answer(site, name)
    assert patch(site, name, {"arrayRequest": {"held": HUGE}})
    wait_for("the mark", lambda: status(site, name).get("reason") == "Broken", 60)
    assert "arrayRequest.held" in status(site, name)["message"]
    serves(site)
    assert patch(site, name, {"arrayRequest": {"held": "", "own": "1-100000"}})
    wait_for("its first members", lambda: status(site, name).get("array", {}).get("active"), 60)
    assert patch(site, name, {"arrayRequest": {"own": ""}})
    assert patch(site, name, {"deleteRequested": True})
    # 100,000 members would take the better part of an hour
    wait_for("its end", lambda: status(site, name).get("state", "Deleted") == "Deleted", 240)
    serves(site)
