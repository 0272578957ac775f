"""An agent whose pods are reached through an API server: for kubectl exec, attach and port-forward."""

import os
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pexpect
import websocket

from hpcbatch.engine.server.certificates import ensure_certificate
from hpcbatch.engine.server.kubeconfig import write_kubeconfig
from hpcbatch.engine.server.server import ApiServer
from tests.component.agent_rig import Rig
from tests.component.api_server import KUBECTL, TOKEN

LIMIT_S = 30


class Served(Rig):
    """A rig whose pods kubectl reaches."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        certificate = ensure_certificate(directory)
        self.server = ApiServer(
            self.registry,
            cert_file=certificate.cert_file,
            key_file=certificate.key_file,
            token=TOKEN,
            log_source=self.agent.log_path,
            let_in=self.agent.let_in,
        )
        self.port, self.ca_file = self.server.start(), certificate.ca_file
        self.kubeconfig = directory / "kubeconfig"
        write_kubeconfig(
            self.kubeconfig,
            server=f"https://127.0.0.1:{self.port}",
            cluster="here",
            ca_file=certificate.cert_file,
            token=TOKEN,
        )
        self.environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": str(directory)}

    def kubectl(self, *words: str, stdin: str | None = None) -> tuple[int, str, str]:
        done = subprocess.run(
            [KUBECTL, *words],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=self.environment,
        )
        return done.returncode, done.stdout, done.stderr

    def terminal(self, *words: str, **options: Any) -> "pexpect.spawn[str]":
        return pexpect.spawn(
            str(KUBECTL), list(words), env=self.environment, timeout=LIMIT_S, encoding="utf-8", **options
        )

    def websocket(self, path: str, *protocols: str) -> websocket.WebSocket:
        return websocket.create_connection(
            f"wss://127.0.0.1:{self.port}/api/v1/namespaces/default/pods/{path}",
            header=[f"Authorization: Bearer {TOKEN}"],
            subprotocols=list(protocols),
            sslopt={"ca_certs": str(self.ca_file), "cert_reqs": ssl.CERT_REQUIRED},
            timeout=LIMIT_S,
        )

    @contextmanager
    def running(self) -> Iterator[Self]:
        self.start()
        yield self
        self.server.stop()
        self.stop()
