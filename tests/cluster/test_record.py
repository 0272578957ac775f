"""What the API server itself keeps of a BatchJob: its schema and its rules, which the embedded engine passes over."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.conftest import Admin

CHUNK = {"count": 2, "cpus": 1, "ranks": 1, "resources": {"ngpus": 2}, "properties": ["haswell"]}
SPEC: dict[str, Any] = {
    "dialect": "pbs",
    "name": "x",
    "chunks": [CHUNK],
    "submissionSecret": "none",
    "image": "a/b:1",
    "hold": True,
    "attributes": {"a": "b"},
    "beginTime": "2100-01-01T00:00:00Z",
}
UNCHANGED = "what was submitted does not change; hold, deleteRequested and the requests may"


@pytest.fixture(scope="module")
def namespace(admin: Admin) -> Iterator[str]:
    """Nobody's, so that the controller leaves alone what is in it but for refusing it."""
    name = f"records-{secrets.token_hex(3)}"
    admin.kubectl("create", "namespace", name)
    admin.kubectl("create", "-f", "-", stdin=batchjob(name, "x", SPEC))
    yield name
    admin.kubectl("delete", "namespace", name, "--wait=false")


def batchjob(namespace: str, name: str, spec: dict[str, Any]) -> str:
    metadata = {"name": name, "namespace": namespace}
    return json.dumps({"apiVersion": "hpcbatch.io/v1alpha1", "kind": "BatchJob", "metadata": metadata, "spec": spec})


def patch(admin: Admin, namespace: str, change: dict[str, Any], *options: str) -> str:
    """What kubectl says of a change to the job's spec; "" if it was made."""
    body = json.dumps({"spec": change})
    done = admin.kubectl("-n", namespace, "patch", "batchjob", "x", "--type=merge", "-p", body, *options, check=False)
    return done.stderr if done.returncode else ""


@pytest.mark.parametrize(
    "change",
    [
        {"queue": "q"},
        {"image": None},
        {"image": "c"},
        {"chunks": [CHUNK | {"count": 1}]},
        {"attributes": {"a": "c"}},
        {"attributes": {"c": "d"}},
        {"sharing": "excl"},
        {"beginTime": None},
        {"submissionSecret": "other"},
        {"dialect": "slurm"},
        {"walltimeSeconds": 1},
        {"resourcesPerPod": {"gpu": 1}},
        {"exportNone": True},
    ],
    ids=str,
)
def test_what_was_asked_stays(admin: Admin, namespace: str, change: dict[str, Any]) -> None:
    assert UNCHANGED in patch(admin, namespace, change, "--dry-run=server")


def test_holds_come_and_go_but_deletion_is_for_good(admin: Admin, namespace: str) -> None:
    for change in ({"hold": False}, {"hold": True}, {"hold": None}, {"deleteRequested": True}, {"hold": True}):
        assert patch(admin, namespace, change) == ""
    for value in (False, None):
        assert "cannot be taken back" in patch(admin, namespace, {"deleteRequested": value})


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"chunks": [CHUNK | {"count": 100_000}] * 2}, "at most 100000 chunks"),
        ({"chunks": []}, "at least 1 items"),
        ({"chunks": [CHUNK | {"resources": {"ngpus": 0}}]}, "greater than or equal to 1"),
        ({"chunks": [CHUNK | {"ranks": 10**9}]}, "less than or equal to 1000000"),
        ({"image": "a b"}, "should match"),
        ({"submissionSecret": "../x"}, "should match"),
        ({"name": "x" * 1025}, "Too long"),
        ({"attributes": {f"a{n}": "" for n in range(129)}}, "Too many"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_no_job_may_ask(admin: Admin, namespace: str, change: dict[str, Any], text: str) -> None:
    done = admin.kubectl(
        "create", "--dry-run=server", "-f", "-", stdin=batchjob(namespace, "y", SPEC | change), check=False
    )
    assert done.returncode
    assert text in done.stderr


def test_a_large_job_can_be_held(admin: Admin, namespace: str) -> None:
    """The rules' cost is bounded by what a record may hold, not by what jobs commonly are."""
    chunks = [CHUNK | {"cpus": cpus} for cpus in range(10_000)]
    spec = SPEC | {"chunks": chunks, "scriptArgs": ["argument"] * 20_000}
    admin.kubectl("create", "-f", "-", stdin=batchjob(namespace, "large", spec))
    admin.kubectl("-n", namespace, "patch", "batchjob", "large", "--type=merge", "-p", '{"spec": {"hold": false}}')
