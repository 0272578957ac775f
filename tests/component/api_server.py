"""A real API server on a store of its own, and plain ways to talk to it."""

import http.client
import json
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcbatch.api.client import HttpApi
from hpcbatch.api.kubeconfig import load as load_kubeconfig
from hpcbatch.api.port import Object
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Store
from hpcbatch.engine.server.certificates import ensure_certificate
from hpcbatch.engine.server.kubeconfig import write_kubeconfig
from hpcbatch.engine.server.server import ApiServer
from hpcbatch.history.store import HistoryStore

TOKEN = "the-token"
KUBECTL = Path(sys.executable).parent / "kubectl"


@dataclass
class Response:
    code: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass
class Cluster:
    registry: Registry
    server: ApiServer
    port: int
    directory: Path
    kubeconfig: Path
    ca_file: Path

    def connect(self) -> http.client.HTTPSConnection:
        context = ssl.create_default_context(cafile=str(self.ca_file))
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=60)

    def request(
        self, method: str, path: str, body: Any = None, *, token: str | None = TOKEN, **headers: str
    ) -> Response:
        """`body` other than text or bytes goes as JSON without a Content-Type, as the Python client sends it."""
        connection = self.connect()
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        content = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
        connection.request(method, path, body=content, headers=sent)
        answer = connection.getresponse()
        response = Response(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode())
        response.headers["warnings"] = "\n".join(answer.headers.get_all("Warning") or [])
        connection.close()
        return response

    def get(self, path: str, **headers: str) -> Any:
        response = self.request("GET", path, **headers)
        assert response.code == 200, response.text
        return response.json

    @contextmanager
    def stream(self, path: str, **headers: str) -> Iterator[Iterator[Any]]:
        """The lines of a watch, one JSON value each, as they come."""
        connection = self.connect()
        sent = {"Authorization": f"Bearer {TOKEN}"} | {k.replace("_", "-"): v for k, v in headers.items()}
        connection.request("GET", path, headers=sent)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        assert answer.headers["Transfer-Encoding"] == "chunked"
        yield (json.loads(line) for line in answer)
        connection.close()

    def client(self) -> HttpApi:
        """As a command has it."""
        return HttpApi(load_kubeconfig({"KUBECONFIG": str(self.kubeconfig)}))

    def kubectl(self, *arguments: str, stdin: str | None = None, code: int = 0, **env: str) -> str:
        """What kubectl writes to both outputs; it must exit with `code`."""
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.directory),
            "KUBECONFIG": str(self.kubeconfig),
            **env,
        }
        done = subprocess.run(
            [KUBECTL, *arguments], input=stdin, capture_output=True, text=True, env=environment, timeout=60, check=False
        )
        assert done.returncode == code, f"kubectl {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr


@contextmanager
def cluster(
    directory: Path, *, history: int = 5000, ended_jobs: HistoryStore | None = None, **options: Any
) -> Iterator[Cluster]:
    store = Store(str(directory / "store.db"), history=history)
    registry = Registry(store)
    registry.install_builtin()
    certificate = ensure_certificate(directory)

    def log_source(pod: Object, container: str) -> Path | None:
        return directory / f"{pod['metadata']['name']}-{container}.log"

    server = ApiServer(
        registry,
        cert_file=certificate.cert_file,
        key_file=certificate.key_file,
        token=TOKEN,
        log_source=log_source,
        history=ended_jobs,
        **options,
    )
    port = server.start()
    kubeconfig = directory / "kubeconfig"
    write_kubeconfig(
        kubeconfig,
        server=f"https://127.0.0.1:{port}",
        cluster="here",
        ca_file=certificate.cert_file,
        token=TOKEN,
    )
    try:
        yield Cluster(registry, server, port, directory, kubeconfig, certificate.ca_file)
    finally:
        server.stop()
        store.close()


def pod_body(name: str = "p", **spec: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "img:1"}], **spec},
    }


def batch_job(name: str = "b", **spec: Any) -> Object:
    return {
        "apiVersion": "hpcbatch.io/v1alpha1",
        "kind": "BatchJob",
        "metadata": {"name": name},
        "spec": {"dialect": "pbs", "name": "job", "chunks": [{"count": 1, "cpus": 1, "ranks": 1}], **spec},
    }
