"""`hpcbatch login-check`, and what every command says first when it cannot log in."""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hpcbatch.api.resources import BATCHJOBS, CRDS, NAMESPACES
from hpcbatch.site.identity import DISABLED, GID, HOME, UID, USER
from tests.component.api_server import Cluster, cluster

Config = dict[str, Any]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("engine")) as running:
        notes = {USER: "alice", UID: str(os.getuid()), GID: "1", HOME: "/h"}
        running.registry.patch(NAMESPACES, "default", {"metadata": {"annotations": notes}})
        yield running


def run(directory: Path, config: Path, *arguments: str) -> tuple[str, str, int]:
    done = subprocess.run(
        [str(Path(sys.executable).with_name(arguments[0])), *arguments[1:]],
        env={"PATH": os.environ["PATH"], "HOME": str(directory), "KUBECONFIG": str(config)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout, done.stderr, done.returncode


def changed(engine: Cluster, tmp_path: Path, change: Callable[[Config], Any]) -> Path:
    config = json.loads(engine.kubeconfig.read_text())
    change(config)
    path = tmp_path / "config"
    path.write_text(json.dumps(config))
    return path


def server(config: Config) -> Config:
    found: Config = config["clusters"][0]["cluster"]
    return found


def test_all_is_well(engine: Cluster, tmp_path: Path) -> None:
    out, err, code = run(tmp_path, engine.kubeconfig, "hpcbatch", "login-check")
    assert (err, code) == ("", 0)
    lines = out.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["ok", word] for word in ("kubeconfig:", "server:", "login:", "hpcbatch:", "namespace:", "jobs:")
    ]
    assert f"jobs run as alice, uid {os.getuid()}, gid 1, home /h" in lines[4]
    assert lines[5] == "ok     jobs: you may submit, and see all jobs"


@pytest.mark.parametrize(
    ("change", "what", "text"),
    [
        (lambda c: c["users"][0]["user"].update(token="x"), "login", "does not accept the token"),
        (lambda c: c["users"][0].update(user={}), "login", "holds neither a certificate nor a token"),
        (lambda c: server(c).update(server="https://127.0.0.1:1"), "server", "nothing answers at https://127.0.0.1:1"),
        (lambda c: server(c).update(server="https://nosuch.invalid:1"), "server", "is not known"),
        (lambda c: server(c).pop("certificate-authority-data"), "server", "another certificate-authority"),
        (lambda c: server(c).update({"tls-server-name": "other"}), "server", "Hostname mismatch"),
        (lambda c: c["contexts"][0]["context"].update(namespace="none"), "namespace", "there is no namespace none"),
        (lambda c: c["contexts"][0]["context"].update(namespace="kube-system"), "namespace", "is no user's"),
        (lambda c: c.update({"current-context": ""}), "kubeconfig", "no current-context is set"),
    ],
    ids=["token", "no login", "refused", "host", "authority", "name", "namespace", "not a user's", "context"],
)
def test_the_first_that_is_wrong_is_the_last(
    engine: Cluster, tmp_path: Path, change: Callable[[Config], Any], what: str, text: str
) -> None:
    out, err, code = run(tmp_path, changed(engine, tmp_path, change), "hpcbatch", "login-check")
    *before, last = out.splitlines()
    assert (err, code) == ("", 1)
    assert last.startswith(f"error  {what}: ")
    assert text in last
    assert all(line.startswith("ok ") for line in before)


def test_a_kubeconfig_that_is_not_there(tmp_path: Path) -> None:
    out, _, code = run(tmp_path, tmp_path / "none", "hpcbatch", "login-check")
    assert (out, code) == (f"error  kubeconfig: KUBECONFIG names {tmp_path / 'none'}, which does not exist\n", 1)


def test_a_disabled_user(engine: Cluster, tmp_path: Path) -> None:
    namespace = {"name": "off", "annotations": {USER: "bob", UID: "5", GID: "5", HOME: "/h", DISABLED: "true"}}
    engine.registry.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": namespace})
    config = changed(engine, tmp_path, lambda c: c["contexts"][0]["context"].update(namespace="off"))
    out, _, code = run(tmp_path, config, "hpcbatch", "login-check")
    assert code == 1
    assert out.splitlines()[-1] == "error  namespace: user bob is disabled: no new job is admitted; ask your admin"


def test_a_cluster_without_hpcbatch(tmp_path: Path) -> None:
    with cluster(tmp_path) as bare:
        bare.registry.delete(CRDS, f"{BATCHJOBS.plural}.{BATCHJOBS.group}")
        out, _, code = run(tmp_path, bare.kubeconfig, "hpcbatch", "login-check")
        assert code == 1
        assert "error  hpcbatch: this cluster does not run hpcbatch" in out
        _, err, code = run(tmp_path, bare.kubeconfig, "qstat")
        assert code == 255
        assert "this cluster does not run hpcbatch" in err


COMMANDS = [
    (("qstat",), "qstat: cannot connect to server here (errno=15019)\nqstat: {}\n", 255),
    (("qdel", "1"), "qdel: cannot connect to server here (errno=15019)\nqdel: {}\n", 255),
    (("squeue",), "slurm_load_jobs error: Access/permission denied\nsqueue: {}\n", 1),
    (
        ("sbatch", "--wrap", "true"),
        "sbatch: error: Batch job submission failed: Access/permission denied\nsbatch: {}\n",
        1,
    ),
    (("hpcbatch", "user", "list"), "hpcbatch: {}\n", 1),
]


@pytest.mark.parametrize(("command", "said", "code"), COMMANDS, ids=[" ".join(c[0][:2]) for c in COMMANDS])
def test_every_command_says_why_it_may_not_come_in(
    engine: Cluster, tmp_path: Path, command: tuple[str, ...], said: str, code: int
) -> None:
    config = changed(engine, tmp_path, lambda c: c["users"][0]["user"].update(token="old"))
    why = (
        f"https://127.0.0.1:{engine.port} does not accept the token in the kubeconfig: "
        "it has expired or was never valid; ask your admin for a new kubeconfig"
    )
    assert run(tmp_path, config, *command) == ("", said.format(why), code)


# Servers that are no API servers


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>It works!</html>")

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.mark.parametrize("is_tls", [True, False], ids=["https", "http"])
def test_a_web_server_is_no_cluster(engine: Cluster, tmp_path: Path, is_tls: bool) -> None:
    http = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    if is_tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(engine.directory / "server.crt", engine.directory / "server.key")
        http.socket = context.wrap_socket(http.socket, server_side=True)
    threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True).start()
    url = f"https://127.0.0.1:{http.server_address[1]}"
    out, _, code = run(
        tmp_path, changed(engine, tmp_path, lambda c: server(c).update(server=url)), "hpcbatch", "login-check"
    )
    http.shutdown()
    http.server_close()
    assert code == 1
    said = "is no Kubernetes API server" if is_tls else "does not speak TLS"
    assert said in out.splitlines()[-1]


def test_a_server_that_says_nothing_is_waited_for_a_few_seconds(engine: Cluster, tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(5)
        url = f"https://127.0.0.1:{silent.getsockname()[1]}"
        config = changed(engine, tmp_path, lambda c: server(c).update(server=url))
        begin = time.monotonic()
        out, _, code = run(tmp_path, config, "hpcbatch", "login-check")
        took_s = time.monotonic() - begin
    assert (out.splitlines()[-1], code) == (f"error  server: {url} does not answer: gave up after 5 seconds", 1)
    assert 4.5 < took_s < 60
