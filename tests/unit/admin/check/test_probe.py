"""Probes: what is left over, how pods ended, and what they may do."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hpcbatch.admin.check import network_probe, probe, storage_probe
from hpcbatch.admin.check.finding import Level
from hpcbatch.api.port import Object
from hpcbatch.model.site import SiteConfig, Volume
from hpcbatch.site.identity import Identity

NOW = datetime(2026, 11, 21, 15, 0, 0, tzinfo=UTC)
ALICE = Identity(user="alice", uid=1000, gid=1001, home="/home/alice", groups=((2000, "wrf"),))


def made(age: timedelta) -> Object:
    return {"metadata": {"creationTimestamp": (NOW - age).isoformat().replace("+00:00", "Z"), "annotations": {}}}


@pytest.mark.parametrize(
    ("lives", "age", "left"),
    [
        pytest.param(True, timedelta(hours=1), False, id="its check still runs"),
        pytest.param(False, timedelta(seconds=1), True, id="its check was killed"),
        pytest.param(None, timedelta(minutes=1), False, id="of another machine, young"),
        pytest.param(None, timedelta(minutes=11), True, id="of another machine, old"),
    ],
)
def test_left_over(lives: bool | None, age: timedelta, left: bool) -> None:
    assert probe.is_left_over(made(age), NOW, lambda _: lives) is left


def ended(code: int, message: str = "") -> Object:
    return {
        "status": {
            "phase": "Failed",
            "containerStatuses": [{"state": {"terminated": {"exitCode": code, "message": message}}}],
        }
    }


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        (None, "it did not start in time"),
        (ended(1, "Permission denied\n"), "Permission denied"),
        (ended(137), "exit code 137"),
        (
            {
                "status": {
                    "phase": "Pending",
                    "initContainerStatuses": [
                        {"state": {"waiting": {"reason": "ErrImagePull", "message": "not found"}}}
                    ],
                    "containerStatuses": [{"state": {"waiting": {"reason": "PodInitializing"}}}],
                }
            },
            "ErrImagePull: not found",
        ),
        (
            {
                "status": {
                    "phase": "Pending",
                    "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}],
                }
            },
            "0/3 nodes are available",
        ),
        ({"status": {"phase": "Failed", "reason": "DeadlineExceeded"}}, "DeadlineExceeded"),
        ({"status": {"phase": "Pending"}}, "it is Pending"),
        ({}, "it is Pending"),
    ],
)
def test_how_it_ended(pod: Object | None, words: str) -> None:
    assert probe.how_it_ended(pod) == words


def trial() -> storage_probe.Trial:
    volume = Volume(name="home", mount_path="/home", source={"nfs": {"server": "s", "path": "/"}}, sub_path="a")
    site = SiteConfig(volumes=(volume,))
    return storage_probe.Trial(user=ALICE, site=site, image="r/i:1", file="/home/alice/.hpcbatch-check-1")


PODS: dict[str, Any] = {
    "writer": lambda: storage_probe.writer_pod(trial(), "w", "node-0"),
    "reader": lambda: storage_probe.reader_pod(trial(), "r", "node-1"),
}


@pytest.mark.parametrize("name", PODS)
def test_storage_pods_are_the_users_and_restricted(name: str) -> None:
    spec = PODS[name]()["spec"]
    security = spec["securityContext"]
    assert (security["runAsUser"], security["runAsGroup"], security["supplementalGroups"]) == (1000, 1001, [2000])
    assert security["runAsNonRoot"] is True
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["automountServiceAccountToken"] is False
    assert spec["activeDeadlineSeconds"] <= 300
    for container in [*spec["containers"], *spec.get("initContainers", [])]:
        assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        assert container["volumeMounts"] == [{"name": "v0", "mountPath": "/home", "readOnly": False, "subPath": "a"}]


@pytest.mark.parametrize(
    ("pod", "level", "words"),
    [
        ({"status": {"phase": "Succeeded"}}, Level.OK, "is there on b"),
        (ended(9), Level.ERROR, "not the same file system"),
        (ended(1, "sh: not found"), Level.ERROR, "sh: not found"),
        ({"status": {"phase": "Pending"}}, Level.ERROR, "does not get as far as reading"),
    ],
)
def test_reader(pod: Object, level: Level, words: str) -> None:
    finding = storage_probe.judge_reader(pod, "home", ALICE, ["a", "b"])
    assert finding.level is level
    assert words in finding.seen


@pytest.mark.parametrize(
    ("pod", "level"),
    [
        ({"status": {"phase": "Succeeded"}}, Level.OK),
        (ended(9), Level.WARNING),
        (ended(1), Level.UNKNOWN),
        (None, Level.UNKNOWN),
    ],
)
def test_network_client(pod: Object | None, level: Level) -> None:
    assert network_probe.judge_client(pod).level is level
