from __future__ import annotations

import dataclasses
import os
import pwd
from typing import Any

import pytest

from hpcbatch.api.resources import Resource
from hpcbatch.engine.agent.environment import NotReadyError
from hpcbatch.engine.agent.spec import Host, hostname, never_starts, own_network, pod_message, start_message
from hpcbatch.engine.agent.volumes import Volume, pod_volumes

USER = Host(
    mode="user",
    why_plain="",
    uid=1001,
    gid=1002,
    groups=(1002, 1003),
    home="/home/u",
    path="/bin",
    ip="192.0.2.9",
    ssh_dir="/state/ssh",
)
MEMORY = {"target": "/.hpcbatch"}
ROOT = dataclasses.replace(USER, mode="root", uid=0, gid=0, groups=(), home="/root")


def nothing(_resource: Resource, _name: str) -> None:
    return None


def a_pod(**spec: Any) -> dict[str, Any]:
    container = {"name": "c", "command": ["run", "$(A)"], "args": ["$(PATH)"], "env": [{"name": "A", "value": "1"}]}
    return {
        "metadata": {"name": "p", "namespace": "n", "uid": "u"},
        "spec": {"containers": [{**container, **spec.pop("container", {})}], **spec},
    }


def start(pod: dict[str, Any], host: Host, volumes: dict[str, Volume] | None = None) -> dict[str, Any]:
    return start_message(pod, pod["spec"]["containers"][0], volumes or {}, host, fetch=nothing, facts={}, log="/log")


@pytest.mark.parametrize(
    ("spec", "own"),
    [
        ({}, False),
        ({"hostname": "h"}, True),
        ({"subdomain": "s"}, True),
        ({"hostname": "h", "hostNetwork": True}, False),
    ],
)
def test_own_network(spec: dict[str, Any], own: bool) -> None:
    assert own_network(spec) is own


def test_hostname_is_cut() -> None:
    pod = a_pod()
    pod["metadata"]["name"] = "a" * 62 + "-b" + "c" * 20
    assert hostname(pod) == "a" * 62
    assert hostname(a_pod(hostname="h")) == "h"


def test_start_message_of_a_plain_pod() -> None:
    message = start(a_pod(), USER)
    assert message["argv"] == ["run", "1", "$(PATH)"]  # only the container's own variables are expanded
    in_memory = {"HPCBATCH_MEMORY_DIR": "/.hpcbatch"}
    assert message["env"] == {"PATH": "/bin", "HOSTNAME": "p", "HOME": "/home/u", **in_memory, "A": "1"}
    assert message["user"] is None
    assert message["mounts"] == [MEMORY]
    plain = start(a_pod(), dataclasses.replace(USER, mode="plain"))
    assert plain["mounts"] == [], "where there are no mounts it would be everybody's"
    assert "HPCBATCH_MEMORY_DIR" not in plain["env"]
    assert message["prepares"] == "", "it runs no runner"
    assert (message["termination"], message["cwd"], message["memory_bytes"]) == ("/dev/termination-log", "", 0)


@pytest.mark.parametrize(("mode", "prepares"), [("user", "/.hpcbatch"), ("plain", "")])
def test_what_the_runner_needs_is_prepared_where_it_runs(mode: str, prepares: str) -> None:
    host = dataclasses.replace(USER, mode=mode, uid=os.getuid())
    mounts = [{"name": "run", "mountPath": "/hpcbatch/run"}]
    message = start(a_pod(container={"volumeMounts": mounts}), host, {"run": Volume("run", "/v/run")})
    assert message["prepares"] == prepares
    shell = pwd.getpwuid(os.getuid()).pw_shell
    assert message["env"].get("HPCBATCH_LOGIN_SHELL") == (shell if prepares else None)


def test_the_containers_own_variables_win() -> None:
    host = dataclasses.replace(USER, variables={"A": "the host's", "B": "the host's"})
    env = start(a_pod(container={"command": ["run", "$(B)"]}), host)["env"]
    assert (env["A"], env["B"]) == ("1", "the host's")


@pytest.mark.parametrize(
    ("context", "user"),
    [
        ({}, None),
        ({"runAsUser": 54321}, {"uid": 54321, "gid": 0, "groups": [0]}),
        ({"runAsUser": 54321, "runAsGroup": 7}, {"uid": 54321, "gid": 7, "groups": [7]}),
        (
            {"runAsUser": 54321, "runAsGroup": 7, "supplementalGroups": [9, 8], "fsGroup": 5},
            {"uid": 54321, "gid": 7, "groups": [5, 7, 8, 9]},
        ),
    ],
)
def test_root_runs_as_whom_the_pod_names(context: dict[str, Any], user: dict[str, Any] | None) -> None:
    message = start(a_pod(securityContext=context), ROOT)
    assert message["user"] == user
    assert message["env"]["HOME"] == ("/root" if user is None else "/")


def test_the_containers_context_goes_before_the_pods() -> None:
    pod = a_pod(
        securityContext={"runAsUser": 54321}, container={"securityContext": {"runAsUser": 54322, "runAsGroup": 1}}
    )
    assert start(pod, ROOT)["user"]["uid"] == 54322


@pytest.mark.parametrize(
    "context",
    [{"runAsUser": 1001, "runAsGroup": 1002}, {"supplementalGroups": [1003], "fsGroup": 1002}, {"runAsNonRoot": True}],
)
def test_an_ordinary_user_may_run_as_himself(context: dict[str, Any]) -> None:
    assert start(a_pod(securityContext=context), USER)["user"] is None


@pytest.mark.parametrize(
    ("spec", "host", "why"),
    [
        ({}, USER, ""),
        ({"securityContext": {"runAsUser": 1001}}, USER, ""),
        ({"securityContext": {"runAsUser": 54321}}, ROOT, ""),
        ({"securityContext": {"runAsUser": 0}}, USER, "container c: the pod wants to run as user 0, but this engine"),
        ({"container": {"securityContext": {"runAsUser": 0}}}, USER, "container c: the pod wants to run as user 0"),
        ({"container": {"command": []}}, ROOT, "container c: no command specified"),
        ({"containers": None}, ROOT, ""),
        ({"initContainers": [{"name": "i"}]}, ROOT, "container i: no command specified"),
    ],
)
def test_what_never_starts(spec: dict[str, Any], host: Host, why: str) -> None:
    said = never_starts(a_pod(**spec)["spec"], host)
    assert said.startswith(why) and bool(said) is bool(why)


@pytest.mark.parametrize(
    ("context", "host", "words"),
    [
        ({"runAsUser": 0}, USER, "as user 0"),
        ({"runAsGroup": 5}, USER, "as group 5"),
        ({"fsGroup": 5}, USER, "wants group 5"),
        ({"runAsNonRoot": True}, ROOT, "runAsNonRoot"),
    ],
)
def test_users_that_cannot_be_had(context: dict[str, Any], host: Host, words: str) -> None:
    with pytest.raises(NotReadyError, match=words) as caught:
        start(a_pod(securityContext=context), host)
    assert caught.value.reason == "CreateContainerConfigError"


VOLUMES = {"s": Volume("s", "/w/s", read_only=True, files=()), "e": Volume("e", "/w/e", make=True)}


@pytest.mark.parametrize(
    ("mount", "host", "expected"),
    [
        (
            {"name": "s", "mountPath": "/root/.ssh/", "subPath": ".ssh"},
            ROOT,
            {"target": "/root/.ssh", "source": "/w/s/.ssh", "read_only": True, "make_source": False, "beneath": "/w/s"},
        ),
        (
            {"name": "s", "mountPath": "/root/.ssh"},
            USER,
            {"target": "/home/u/.ssh", "source": "/w/s", "read_only": True, "make_source": False, "beneath": ""},
        ),
        (
            {"name": "e", "mountPath": "/rooted"},
            USER,
            {"target": "/rooted", "source": "/w/e", "read_only": False, "make_source": False, "beneath": ""},
        ),
        (
            {"name": "e", "mountPath": "/d", "subPathExpr": "x/$(A)", "readOnly": True},
            USER,
            {"target": "/d", "source": "/w/e/x/1", "read_only": True, "make_source": True, "beneath": "/w/e"},
        ),
    ],
)
def test_mounts(mount: dict[str, Any], host: Host, expected: dict[str, Any]) -> None:
    assert start(a_pod(container={"volumeMounts": [mount]}), host, VOLUMES)["mounts"] == [MEMORY, expected]


@pytest.mark.parametrize(
    ("mount", "words"),
    [
        ({"name": "none", "mountPath": "/d"}, 'no volume "none"'),
        ({"name": "e", "mountPath": "/"}, "is the root itself"),
        ({"name": "e", "mountPath": "/d", "subPath": "../x"}, "is not a path inside the volume"),
        ({"name": "e", "mountPath": "/d", "subPath": "/x"}, "is not a path inside the volume"),
    ],
)
def test_mounts_that_are_refused(mount: dict[str, Any], words: str) -> None:
    with pytest.raises(NotReadyError, match=words):
        start(a_pod(container={"volumeMounts": [mount]}), USER, VOLUMES)


def test_pods_with_a_network_of_their_own_get_sshds_configuration() -> None:
    message = start(a_pod(subdomain="s"), USER)
    assert message["mounts"] == [MEMORY, {"target": "/etc/ssh", "source": "/state/ssh", "read_only": True}]


def test_pod_message() -> None:
    sysctls = [
        {"name": "net.ipv4.ip_unprivileged_port_start", "value": "0"},
        {"name": "kernel.shm_rmid_forced", "value": "0"},
    ]
    message = pod_message(a_pod(subdomain="s", hostname="h", securityContext={"sysctls": sysctls}), [], USER)
    assert message["sysctls"] == {"net.ipv4.ip_unprivileged_port_start": "0"}
    assert (message["hostname"], message["subdomain"], message["network"]) == ("h", "s", True)
    assert not pod_message(a_pod(securityContext={"sysctls": sysctls}), [], USER)["sysctls"]


def test_no_namespaces() -> None:
    plain = dataclasses.replace(USER, mode="plain", why_plain="because")
    assert pod_message(a_pod(), [], plain)["network"] is False
    with pytest.raises(NotReadyError, match="because") as caught:
        pod_message(a_pod(subdomain="s"), [], plain)
    assert caught.value.reason == "NamespacesUnavailable"


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", "", "..data/x"])
def test_volume_items_stay_inside(path: str) -> None:
    config = {"kind": "ConfigMap", "data": {"k": "v"}}
    volumes = [{"name": "v", "configMap": {"name": "c", "items": [{"key": "k", "path": path}]}}]
    with pytest.raises(NotReadyError, match="is not a path inside the volume"):
        pod_volumes(a_pod(volumes=volumes), lambda *_: config, {}, files_dir="/f", empty_dir="/e")


def test_volume_modes_and_sources() -> None:
    config = {"kind": "ConfigMap", "data": {"a": "1", "b": "2"}}
    source = {
        "name": "c",
        "defaultMode": 0o400,
        "items": [{"key": "a", "path": "x/a"}, {"key": "b", "path": "b", "mode": 0o711}],
    }
    (volume,) = pod_volumes(
        a_pod(volumes=[{"name": "v", "configMap": source}]), lambda *_: config, {}, files_dir="/f", empty_dir="/e"
    )
    assert volume.path == "/f/v"
    assert [(file["path"], file["mode"]) for file in volume.files or ()] == [("b", 0o711), ("x/a", 0o400)]
    assert volume.uses == (("configmaps", "c"),)
