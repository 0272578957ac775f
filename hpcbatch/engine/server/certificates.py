"""The API server's certificate: signed by an authority of its own, for this machine's loopback only."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from hpcbatch.api.server_certificate import ServerCertificate, is_usable, make

_HOST = "localhost"
_RENEW_BEFORE = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Certificate:
    """`cert_file` holds the server's certificate and the authority's, `ca_file` the authority's alone."""

    cert_file: Path
    key_file: Path
    ca_file: Path


def ensure_certificate(directory: Path) -> Certificate:
    """The certificate kept in `directory`, made if there is none or it ends soon."""
    found = Certificate(directory / "server.crt", directory / "server.key", directory / "ca.crt")
    if not _is_usable(found):
        made = make("hpcbatch engine", _HOST, ["127.0.0.1"])
        write_private(found.key_file, made.key)
        write_private(found.ca_file, made.authority)
        write_private(found.cert_file, made.certificate + made.authority)
    return found


def _is_usable(found: Certificate) -> bool:
    try:
        read = ServerCertificate(*(path.read_bytes() for path in (found.cert_file, found.key_file, found.ca_file)))
    except OSError:
        return False
    # a kill between the files leaves a key that does not belong to the certificate
    return is_usable(read, _HOST, _RENEW_BEFORE)


def write_private(path: Path, content: bytes) -> None:
    """Put a file in place whole, readable by its owner only."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
