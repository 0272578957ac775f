"""Finding and reading kubeconfigs."""

from __future__ import annotations

import base64
import json
import os
import pwd
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from hpcbatch.api import kubeconfig
from hpcbatch.errors import HpcBatchError, UnreachableError

PEM = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"


def config(server: str = "https://127.0.0.1:6443", **user: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [
            {
                "name": "pbs1",
                "cluster": {
                    "server": server,
                    "certificate-authority-data": base64.b64encode(PEM.encode()).decode(),
                },
            }
        ],
        "users": [{"name": "u", "user": user or {"token": "secret"}}],
        "contexts": [{"name": "c", "context": {"cluster": "pbs1", "user": "u", "namespace": "alice"}}],
    }


@pytest.mark.parametrize("write", [json.dumps, yaml.safe_dump], ids=["json", "yaml"])
def test_reads_json_and_yaml(tmp_path: Path, write: Callable[[Any], str]) -> None:
    path = tmp_path / "config"
    path.write_text(write(config()))
    connection = kubeconfig.load({"KUBECONFIG": str(path)})
    assert connection == kubeconfig.Connection(
        server="https://127.0.0.1:6443", cluster="pbs1", namespace="alice", ca_pem=PEM, token="secret"
    )


def test_files_are_relative_to_the_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "crt").write_text("CERT")
    (tmp_path / "key").write_text("KEY")
    text = config(**{"client-certificate": "crt", "client-key": "key", "tokenFile": "token"})
    (tmp_path / "config").write_text(json.dumps(text))
    connection = kubeconfig.read([tmp_path / "config"])
    assert (connection.client_cert_pem, connection.client_key_pem) == (b"CERT", b"KEY")
    assert connection.token_file == str(tmp_path / "token")
    assert connection.token is None


@pytest.fixture(autouse=True)
def real_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home in the password file: not the developer's own, in which an engine may run."""
    home = tmp_path / "real"
    entry = pwd.struct_passwd(("u", "x", os.getuid(), 0, "", str(home), "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _uid: entry)
    return home


def test_where_it_is_looked_for(tmp_path: Path) -> None:
    home = tmp_path / "home"
    engine = tmp_path / "state" / "kubeconfig"
    kubectl = home / ".kube" / "config"
    for path in (engine, kubectl, tmp_path / "one", tmp_path / "two"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    environ = {"HOME": str(home)}
    assert kubeconfig.find(environ) == [*map(str, [kubectl])]
    environ["HPCBATCH_STATE_DIR"] = str(tmp_path / "state")
    assert kubeconfig.find(environ) == [*map(str, [engine])]
    environ["KUBECONFIG"] = f"{tmp_path / 'one'}:{tmp_path / 'gone'}:{tmp_path / 'two'}"
    assert kubeconfig.find(environ) == [*map(str, [tmp_path / "one", tmp_path / "two"])]
    environ["HPCBATCH_KUBECONFIG"] = str(tmp_path / "two")
    assert kubeconfig.find(environ) == [*map(str, [tmp_path / "two"])]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"HPCBATCH_STATE_DIR": "/s"}, "/s"),
        ({"XDG_STATE_HOME": "/x"}, "/x/hpcbatch"),
        ({"HOME": "/h"}, "/h/.local/state/hpcbatch"),
    ],
    ids=["own", "xdg", "home"],
)
def test_state_dir(environ: dict[str, str], expected: str) -> None:
    assert kubeconfig.state_dir(environ) == Path(expected)


def test_merge_takes_the_first_entry_of_a_name(tmp_path: Path) -> None:
    first, second = config("https://first:1"), config("https://second:2")
    del first["current-context"], first["users"]
    (tmp_path / "1").write_text(json.dumps(first))
    (tmp_path / "2").write_text(json.dumps(second))
    connection = kubeconfig.read([tmp_path / "1", tmp_path / "2"])
    assert (connection.server, connection.token) == ("https://first:1", "secret")


def test_none_configured(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match="hpcbatch up"):
        kubeconfig.load({"HOME": str(tmp_path)})
    with pytest.raises(UnreachableError, match="KUBECONFIG names"):
        kubeconfig.load({"KUBECONFIG": str(tmp_path / "none")})


def broken(**changes: Any) -> str:
    return json.dumps({**config(), **changes})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "config:1:5: the kubeconfig is not valid YAML"),
        ("[]", "is not a kubeconfig"),
        ("just text", "is not a kubeconfig"),
        ("", "no current-context"),
        (broken(**{"current-context": "x"}), "there is no context 'x'"),
        (broken(clusters=[]), "there is no cluster 'pbs1'"),
        (broken(users=None), "there is no user 'u'"),
        (broken(clusters=[{"name": "pbs1", "cluster": {}}]), "has no server"),
        (json.dumps(config(**{"client-key-data": "=x"})), "client-key-data is not base64"),
        (json.dumps(config(**{"client-key": "gone"})), "cannot read client-key"),
    ],
    ids=["yaml", "list", "text", "empty", "context", "cluster", "user", "server", "base64", "file"],
)
def test_broken_files_give_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(HpcBatchError) as caught:
        kubeconfig.read([path])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_exec_plugin_gives_the_token(tmp_path: Path) -> None:
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": [
            "-c",
            "import json; print(json.dumps({'apiVersion': 'client.authentication.k8s.io/v1', "
            "'kind': 'ExecCredential', 'status': {'token': 'from-plugin'}}))",
        ],
        "interactiveMode": "Never",
    }
    path = tmp_path / "config"
    path.write_text(json.dumps(config(exec=plugin)))
    connection = kubeconfig.read([path])
    assert (connection.token, connection.ca_pem, connection.namespace) == ("from-plugin", PEM, "alice")


def test_exec_plugin_that_fails_gives_one_line(tmp_path: Path) -> None:
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "/nonexistent/plugin"}
    path = tmp_path / "config"
    path.write_text(json.dumps(config(exec=plugin)))
    with pytest.raises(HpcBatchError, match="cannot log in") as caught:
        kubeconfig.read([path])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("there", "variables", "expected"),
    [
        pytest.param([], {"HOME": "home"}, "home/.local/state/hpcbatch", id="nowhere: HOME's"),
        pytest.param(["home", "real"], {"HOME": "home"}, "home/.local/state/hpcbatch", id="HOME first"),
        pytest.param(["real"], {"HOME": "home"}, "real/.local/state/hpcbatch", id="HOME was changed"),
        pytest.param(["real"], {}, "real/.local/state/hpcbatch", id="no HOME"),
        pytest.param(["real"], {"HOME": "home", "XDG_STATE_HOME": "xdg"}, "xdg/hpcbatch", id="XDG_STATE_HOME"),
        pytest.param(["real"], {"HOME": "home", "HPCBATCH_STATE_DIR": "own"}, "own", id="HPCBATCH_STATE_DIR"),
    ],
)
def test_state_directory(tmp_path: Path, there: list[str], variables: dict[str, str], expected: str) -> None:
    for home in there:
        (tmp_path / home / ".local/state/hpcbatch").mkdir(parents=True)
    environ = {name: str(tmp_path / value) for name, value in variables.items()}
    assert kubeconfig.state_dir(environ) == tmp_path / expected


def test_a_user_without_any_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_entry(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", no_entry)
    with pytest.raises(UnreachableError, match="set HPCBATCH_STATE_DIR"):
        kubeconfig.state_dir({})
    assert kubeconfig.state_dir({"HOME": "/h"}) == Path("/h/.local/state/hpcbatch")
