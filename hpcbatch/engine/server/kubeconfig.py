"""The kubeconfig of the embedded engine: JSON, which is YAML too, so that the commands need no YAML parser."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from hpcbatch.engine.server.certificates import write_private


def write_kubeconfig(
    path: Path, *, server: str, cluster: str, ca_file: Path, token: str, namespace: str = "default"
) -> None:
    """Write the file for its owner only. `server` is the URL, `cluster` the name that job ids carry; of `ca_file`
    the last certificate counts, so that the server's own file with its chain will do.
    """
    authority = _last_certificate(ca_file.read_text())
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": cluster,
                "cluster": {
                    "server": server,
                    "certificate-authority-data": base64.b64encode(authority.encode()).decode(),
                },
            }
        ],
        "users": [{"name": "hpcbatch", "user": {"token": token}}],
        "contexts": [{"name": "hpcbatch", "context": {"cluster": cluster, "user": "hpcbatch", "namespace": namespace}}],
        "current-context": "hpcbatch",
    }
    write_private(path, (json.dumps(config, indent=2) + "\n").encode())


def _last_certificate(pem: str) -> str:
    begin = pem.rfind("-----BEGIN CERTIFICATE-----")
    if begin < 0:
        raise ValueError("the authority's file holds no certificate")
    return pem[begin:]
