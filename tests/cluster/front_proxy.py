"""kube-apiserver's aggregation layer: how it shows itself to servers behind it, such as that of the history."""

from __future__ import annotations

import subprocess
from pathlib import Path


def front_proxy(directory: Path) -> None:
    """The certificate by which the API server shows itself to servers behind it, and its authority."""
    ca, key, request = (directory / f"front-proxy-ca.{kind}" for kind in ("crt", "key", "csr"))
    openssl(
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        key,
        "-out",
        ca,
        "-days",
        "3650",
        "-subj",
        "/CN=front-proxy-ca",
    )
    client = directory / "front-proxy-client"
    openssl(
        "req",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        f"{client}.key",
        "-out",
        request,
        "-subj",
        "/CN=front-proxy-client",
    )
    openssl(
        "x509",
        "-req",
        "-in",
        request,
        "-CA",
        ca,
        "-CAkey",
        key,
        "-CAcreateserial",
        "-days",
        "3650",
        "-out",
        f"{client}.crt",
    )


def front_proxy_options(directory: Path) -> list[str | Path]:
    """kube-apiserver's, for its aggregation layer. It finds Services by their pods' addresses, without kube-proxy."""
    return [
        "--requestheader-client-ca-file",
        directory / "front-proxy-ca.crt",
        "--requestheader-allowed-names",
        "front-proxy-client",
        "--requestheader-username-headers",
        "X-Remote-User",
        "--requestheader-group-headers",
        "X-Remote-Group",
        "--requestheader-extra-headers-prefix",
        "X-Remote-Extra-",
        "--proxy-client-cert-file",
        directory / "front-proxy-client.crt",
        "--proxy-client-key-file",
        directory / "front-proxy-client.key",
        "--enable-aggregator-routing=true",
    ]


def openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=60)
