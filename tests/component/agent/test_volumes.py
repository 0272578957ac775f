"""Volumes of pods, their owners and modes."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest

from hpcbatch.api.port import Object
from hpcbatch.api.resources import CONFIGMAPS, PODS, SECRETS
from tests.component.agent_rig import Rig
from tests.waiting import wait_for


def test_volumes(rig: Rig, tmp_path: Path) -> None:
    data = {"id": base64.b64encode(b"key").decode()}
    rig.registry.create(SECRETS, {"metadata": {"name": "s"}, "data": data}, "default")
    rig.registry.create(CONFIGMAPS, {"metadata": {"name": "c"}, "data": {"a": "A", "b": "B"}}, "default")
    (tmp_path / "host").mkdir()
    volumes = [
        {"name": "s", "secret": {"secretName": "s", "items": [{"key": "id", "path": ".ssh/id"}], "defaultMode": 0o600}},
        {"name": "c", "configMap": {"name": "c"}},
        {"name": "e", "emptyDir": {}},
        {"name": "m", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
        {"name": "h", "hostPath": {"path": str(tmp_path / "host")}},
        {"name": "d", "downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        {"name": "p", "projected": {"sources": [{"secret": {"name": "s"}}, {"configMap": {"name": "c"}}]}},
    ]
    mounts = [
        {"name": "s", "mountPath": "/keys", "subPath": ".ssh"},
        {"name": "c", "mountPath": "/etc/volcano"},
        {"name": "c", "mountPath": "/etc/hpcbatch.one", "subPath": "a"},
        {"name": "e", "mountPath": "/scratch"},
        {"name": "e", "mountPath": "/sub", "subPath": "made/here"},
        {"name": "m", "mountPath": "/mem"},
        {"name": "h", "mountPath": "/host"},
        {"name": "d", "mountPath": "/down"},
        {"name": "p", "mountPath": "/all"},
    ]
    script = """
        stat -c %a /keys/id
        cat /keys/id /etc/volcano/a /etc/volcano/b /etc/hpcbatch.one /down/name /all/id /all/a; echo
        touch /sub/x /mem/x /host/made && ls /scratch/made/here && df --output=fstype,size /mem | tail -1
        touch /etc/volcano/x 2>/dev/null || echo read-only
    """
    rig.run("p", script, container={"volumeMounts": mounts}, volumes=volumes)
    code, text = rig.wait_over("p")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert (code, lines) == (0, ["600", "keyABApkeyA", "x", "tmpfs 1024", "read-only"])
    assert (tmp_path / "host" / "made").exists()


def test_immutable_config_is_shared_and_read_only(rig: Rig) -> None:
    """Another object of the same name is another volume."""
    mounts = [{"name": "c", "mountPath": "/config"}]
    volumes = [{"name": "c", "configMap": {"name": "c", "defaultMode": 0o555}}]
    script = "cat /config/a; stat -Lc %a /config/a; touch /config/x 2>/dev/null || echo read-only"
    texts = []
    for name, content in (("p", "A"), ("q", "A"), ("r", "B")):
        if name != "q":
            rig.registry.create(
                CONFIGMAPS, {"metadata": {"name": "c"}, "data": {"a": f"{content}\n"}, "immutable": True}, "default"
            )
        rig.run(name, script, container={"volumeMounts": mounts}, volumes=volumes)
        texts.append(rig.wait_over(name))
        if name == "q":
            rig.registry.delete(CONFIGMAPS, "c", "default")
    assert texts == [(0, f"{content}\n555\nread-only\n") for content in "AAB"]


def test_downward_volume_follows_the_annotation(rig: Rig) -> None:
    field = {"fieldPath": "metadata.annotations['hpcbatch.io/requests']"}
    script = (
        "[ ! -s /requests/lines ] || exit 3; until [ -s /requests/lines ]; do sleep 0.01; done; cat /requests/lines"
    )
    rig.run(
        "p",
        script,
        container={"volumeMounts": [{"name": "r", "mountPath": "/requests"}]},
        volumes=[{"name": "r", "downwardAPI": {"items": [{"path": "lines", "fieldRef": field}]}}],
    )
    rig.wait_phase("p", "Running")
    asked = {"metadata": {"annotations": {"hpcbatch.io/requests": "signal 1 10 all a\nsuspend\n"}}}
    rig.registry.patch(PODS, "p", asked, "default")
    assert rig.wait_over("p") == (0, "signal 1 10 all a\nsuspend\n")


def test_volume_that_comes_later_and_changes(rig: Rig) -> None:
    script = "cat /c/a; until grep -q two /c/a; do sleep 0.01; done"
    rig.run(
        "p",
        script,
        container={"volumeMounts": [{"name": "c", "mountPath": "/c"}]},
        volumes=[{"name": "c", "configMap": {"name": "late"}}],
    )
    message = rig.wait_event("p", "FailedMount")
    assert message == 'MountVolume.SetUp failed for volume "c" : configmap "late" not found'
    state = {"waiting": {"reason": "ContainerCreating", "message": message}}
    wait_for("its state", lambda: rig.container_state("p") == state)
    rig.registry.create(CONFIGMAPS, {"metadata": {"name": "late"}, "data": {"a": "one\n"}}, "default")
    rig.wait_phase("p", "Running")
    wait_for("the first content", lambda: rig.log("p") == "one\n")
    rig.registry.patch(CONFIGMAPS, "late", {"data": {"a": "two\n"}}, "default")
    assert rig.wait_over("p")[0] == 0


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        (
            {"persistentVolumeClaim": {"claimName": "x"}},
            "volumes of kind persistentVolumeClaim do not exist in the embedded engine",
        ),
        ({"hostPath": {"path": "/no/such"}}, "hostPath /no/such does not exist"),
        (
            {"hostPath": {"path": "/etc/passwd", "type": "Directory"}},
            "hostPath type check failed: /etc/passwd is not a directory",
        ),
        ({"secret": {"secretName": "none"}}, 'secret "none" not found'),
        (
            {"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
            "projected sources of kind serviceAccountToken do not exist in the embedded engine",
        ),
    ],
)
def test_volumes_that_cannot_be_had(rig: Rig, volume: dict[str, Any], message: str) -> None:
    rig.run("p", "true", volumes=[{"name": "v", **volume}])
    assert rig.wait_event("p", "FailedMount") == f'MountVolume.SetUp failed for volume "v" : {message}'
    pod = rig.pod("p")
    assert pod is not None
    assert pod["status"]["phase"] == "Pending"
    rig.registry.delete(PODS, "p", "default")
    rig.wait_gone("p")


@pytest.mark.parametrize(
    ("container", "spec", "message"),
    [
        ({"command": None}, {}, "no command specified"),
        (
            {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "x", "key": "k"}}}]},
            {},
            'secret "x" not found',
        ),
        ({"securityContext": {"runAsNonRoot": True, "runAsUser": 0}}, {}, "runAsNonRoot"),
    ],
)
def test_containers_that_cannot_be_made(rig: Rig, container: Object, spec: Object, message: str) -> None:
    rig.run("p", "true", container=container, **spec)

    def waiting() -> Object | None:
        pod = rig.pod("p")
        assert pod is not None
        return ((pod["status"].get("containerStatuses") or [{}])[0].get("state") or {}).get("waiting")

    state = wait_for("the reason", lambda: (waiting() or {}).get("message") and waiting())
    assert state is not None
    assert state["reason"] == "CreateContainerConfigError"
    assert message in state["message"]


def test_container_config_is_looked_at_again(rig: Rig) -> None:
    env = [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "late", "key": "k"}}}]
    rig.run("p", "echo $A", container={"env": env})
    rig.wait_event("p", "Failed")
    rig.registry.create(CONFIGMAPS, {"metadata": {"name": "late"}, "data": {"k": "v"}}, "default")
    assert rig.wait_over("p") == (0, "v\n")


def test_foreign_user(rig: Rig) -> None:
    rig.run(
        "p",
        "id -u; id -g; id -G; echo $HOME",
        securityContext={"runAsUser": 12345, "runAsGroup": 12346, "fsGroup": 12347},
    )
    if os.getuid() == 0:
        assert rig.wait_over("p") == (0, "12345\n12346\n12346 12347\n/\n")
    else:
        assert "as user 12345, but this engine was started by an ordinary user" in rig.wait_event("p", "Failed")


def test_own_user(rig: Rig) -> None:
    rig.run("p", "id -u; id -g", securityContext={"runAsUser": os.getuid(), "runAsGroup": os.getgid()})
    assert rig.wait_over("p") == (0, f"{os.getuid()}\n{os.getgid()}\n")


@pytest.mark.skipif(os.getuid() != 0, reason="only root's engine may run as others")
def test_secret_for_a_group(rig: Rig) -> None:
    rig.registry.create(SECRETS, {"metadata": {"name": "s"}, "data": {"k": "eA=="}}, "default")
    rig.run(
        "p",
        "cat /s/k; stat -L -c %a:%g /s/k; touch /e/x; stat -c %g /e/x; grep -E 'Bnd|NoNew' /proc/self/status",
        securityContext={"runAsUser": 12345, "fsGroup": 12347},
        volumes=[{"name": "s", "secret": {"secretName": "s", "defaultMode": 0o400}}, {"name": "e", "emptyDir": {}}],
        container={
            "volumeMounts": [{"name": "s", "mountPath": "/s"}, {"name": "e", "mountPath": "/e"}],
            "securityContext": {"capabilities": {"drop": ["ALL"]}, "allowPrivilegeEscalation": False},
        },
    )
    code, text = rig.wait_over("p")
    assert (code, text) == (0, "x440:12347\n12347\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\n")


def test_ssh_directory_of_the_containers_home(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.registry.create(SECRETS, {"metadata": {"name": "s"}, "data": {"id_rsa": "eA=="}}, "default")
    rig.run(
        "p",
        "cat ~/.ssh/id_rsa",
        volumes=[{"name": "s", "secret": {"secretName": "s"}}],
        container={"volumeMounts": [{"name": "s", "mountPath": "/root/.ssh"}]},
    )
    assert rig.wait_over("p") == (0, "x")
