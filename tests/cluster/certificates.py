"""Keys and certificates for the API servers that tests start, made by openssl."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.state import run


def self_signed(key: Path, certificate: Path, subject: str, days: int = 3650) -> None:
    """Makes both files."""
    new_key = ("-newkey", "rsa:2048", "-nodes", "-keyout", key)
    run("openssl", "req", "-x509", *new_key, "-out", certificate, "-days", str(days), "-subj", subject)


def signed(directory: Path, name: str, subject: str, *, authority: str, names: str | None = None) -> None:
    """Makes NAME.key and NAME.crt, signed by AUTHORITY.key and AUTHORITY.crt. `names` is a subjectAltName."""
    key, request, certificate, extensions = (directory / f"{name}.{kind}" for kind in ("key", "csr", "crt", "ext"))
    run("openssl", "req", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", request, "-subj", subject)
    by = ("-CA", directory / f"{authority}.crt", "-CAkey", directory / f"{authority}.key", "-CAcreateserial")
    more: list[str | Path] = []
    if names is not None:
        extensions.write_text(f"subjectAltName={names}")
        more = ["-extfile", extensions]
    run("openssl", "x509", "-req", "-in", request, *by, "-days", "3650", "-out", certificate, *more)
