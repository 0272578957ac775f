"""kube-apiserver's aggregation layer: how it shows itself to servers behind it, such as that of the history."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.certificates import self_signed, signed


def front_proxy(directory: Path) -> None:
    """The certificate by which the API server shows itself to servers behind it, and its authority."""
    authority = "front-proxy-ca"
    self_signed(directory / f"{authority}.key", directory / f"{authority}.crt", f"/CN={authority}")
    signed(directory, "front-proxy-client", "/CN=front-proxy-client", authority=authority)


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
