"""A real kube-apiserver with its etcd, alone: no nodes, no controllers. Made of the programs of `make programs`."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.binaries import ETCD, KUBERNETES, Module, cache_dir, checksum
from tests.cluster.front_proxy import front_proxy, front_proxy_options
from tests.cluster.state import run
from tests.waiting import wait_for

ADMIN = "admin-token"


def program(module: Module, name: str) -> Path:
    return cache_dir() / f"{module.folder}-{checksum(module)}" / name


def is_there() -> bool:
    return program(ETCD, "etcd").exists() and program(KUBERNETES, "kube-apiserver").exists()


def own_address() -> str:
    """An address of this machine that is not loopback, where Kubernetes may look for a Service; "" if there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("203.0.113.1", 9))
        except OSError:
            return ""
        return str(probe.getsockname()[0])


@dataclass(frozen=True)
class KubeApi:
    directory: Path
    url: str
    etcd_url: str

    def kubeconfig(self, token: str) -> Path:
        path = self.directory / f"{token}.conf"
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "clusters": [{"name": "here", "cluster": {"server": self.url, "insecure-skip-tls-verify": True}}],
            "users": [{"name": "me", "user": {"token": token}}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        }
        path.write_text(json.dumps(config))
        return path

    def kubectl(self, *arguments: str | Path, token: str = ADMIN, stdin: str | None = None, code: int = 0) -> str:
        """What kubectl writes; it must exit with `code`."""
        done = subprocess.run(
            [program(KUBERNETES, "kubectl"), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            env={"KUBECONFIG": str(self.kubeconfig(token)), "HOME": str(self.directory), "PATH": os.environ["PATH"]},
            check=False,
        )
        assert done.returncode == code, f"kubectl {arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr


@contextmanager
def kube_api(
    directory: Path, tokens: Sequence[tuple[str, str, str]], *, options: Sequence[str] = ()
) -> Iterator[KubeApi]:
    """`tokens` are token, user, groups (by commas); `options` more of kube-apiserver's."""
    etcd_port, peer_port, api_port = (free_port() for _ in range(3))
    lines = [
        f"{ADMIN},admin,admin,system:masters",
        *(f'{token},{user},{user},"{groups}"' for token, user, groups in tokens),
    ]
    (directory / "tokens.csv").write_text("\n".join(lines) + "\n")
    run("openssl", "genrsa", "-out", directory / "sa.key", "2048")
    front_proxy(directory)
    etcd_url = f"http://127.0.0.1:{etcd_port}"
    api = KubeApi(directory, f"https://127.0.0.1:{api_port}", etcd_url)
    with ExitStack() as running:
        running.enter_context(
            process(
                directory / "etcd.log",
                program(ETCD, "etcd"),
                "--data-dir",
                directory / "etcd",
                "--unsafe-no-fsync",
                "--listen-client-urls",
                etcd_url,
                "--advertise-client-urls",
                etcd_url,
                "--listen-peer-urls",
                f"http://127.0.0.1:{peer_port}",
            )
        )
        running.enter_context(
            process(
                directory / "api.log",
                program(KUBERNETES, "kube-apiserver"),
                "--etcd-servers",
                etcd_url,
                "--bind-address",
                "127.0.0.1",
                "--secure-port",
                str(api_port),
                "--cert-dir",
                directory / "certificates",
                "--advertise-address",
                own_address(),
                "--endpoint-reconciler-type",
                "none",
                "--token-auth-file",
                directory / "tokens.csv",
                "--authorization-mode",
                "RBAC",
                "--service-cluster-ip-range",
                "10.97.0.0/24",
                "--service-account-issuer",
                "https://here",
                "--service-account-key-file",
                directory / "sa.key",
                "--service-account-signing-key-file",
                directory / "sa.key",
                *front_proxy_options(directory),
                *options,
            )
        )

        def is_ready() -> bool:
            try:
                return "ok" in api.kubectl("get", "--raw", "/readyz")
            except AssertionError:
                return False

        wait_for("the API server", is_ready, 60, every_s=0.2)
        yield api


@contextmanager
def process(log: Path, *argv: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as output:
        running = subprocess.Popen([str(word) for word in argv], stdout=output, stderr=output)
    try:
        yield running
    finally:
        running.kill()
        running.wait(60)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
