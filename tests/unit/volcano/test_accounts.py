"""The accounts in a job's pods: the user, those that every system has, and no two of one number."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.placed import PlacedJob
from hpcbatch.model.spec import JobSpec
from hpcbatch.volcano.accounts import group, passwd


def job(**changes: Any) -> PlacedJob:
    given: dict[str, Any] = {"owner": "alice", "uid": 1000, "gid": 1000, "home": "/home/alice", "cluster": "c"}
    spec = JobSpec(dialect=Dialect.PBS, name="x")
    return PlacedJob(job_id=1, spec=spec, queue="q", pods=(), **(given | changes))


def test_files() -> None:
    alice = job(groups=((2000, "wrf"), (3000, "")))
    assert passwd(alice) == (
        "alice:x:1000:1000::/home/alice:/bin/sh\n"
        "root:x:0:0::/root:/bin/sh\n"
        "sshd:x:74:65534::/run/sshd:/usr/sbin/nologin\n"
        "nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n"
    )
    assert group(alice) == "alice:x:1000:\nwrf:x:2000:alice\nroot:x:0:\nnogroup:x:65534:\n"


@pytest.mark.parametrize(
    ("changes", "users", "groups"),
    [
        pytest.param(
            {"groups": ((1000, "staff"), (2000, "wrf"))},
            ["alice", "root", "sshd", "nobody"],
            ["staff:x:1000:", "wrf:x:2000:alice", "root:x:0:", "nogroup:x:65534:"],
            id="the own group has a name",
        ),
        pytest.param({"uid": 74}, ["alice", "root", "nobody"], None, id="a number of the system's"),
        pytest.param({"owner": "sshd"}, ["sshd", "root", "nobody"], None, id="a name of the system's"),
        pytest.param(
            {"gid": 65534}, ["alice", "root", "sshd", "nobody"], ["alice:x:65534:", "root:x:0:"], id="group nogroup"
        ),
        pytest.param(
            {"groups": ((2000, "alice"),)},
            ["alice", "root", "sshd", "nobody"],
            ["alice:x:2000:alice", "root:x:0:", "nogroup:x:65534:"],
            id="the user's name is another group's",
        ),
    ],
)
def test_collisions(changes: dict[str, Any], users: list[str], groups: list[str] | None) -> None:
    assert [line.partition(":")[0] for line in passwd(job(**changes)).splitlines()] == users
    assert groups is None or group(job(**changes)).splitlines() == groups


@pytest.mark.parametrize(
    "changes",
    [
        {"owner": "a:b"},
        {"owner": ""},
        {"owner": "a\nroot2:x:0:0::/:/bin/sh"},
        {"home": "/home/a:b"},
        {"groups": ((2000, "w,x"),)},
        {"groups": ((2000, "w\nx"),)},
    ],
)
def test_what_cannot_stand_there(changes: dict[str, Any]) -> None:
    with pytest.raises(HpcBatchError, match="cannot stand in /etc/passwd"):
        passwd(job(**changes)) + group(job(**changes))
