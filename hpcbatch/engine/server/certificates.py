"""The API server's certificate: signed by an authority of its own, for this machine's loopback only."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID = timedelta(days=3650)
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
    if not _usable(found):
        _make(found)
    return found


def _usable(certificate: Certificate) -> bool:
    try:
        server = x509.load_pem_x509_certificate(certificate.cert_file.read_bytes())
        x509.load_pem_x509_certificate(certificate.ca_file.read_bytes())
        key = serialization.load_pem_private_key(certificate.key_file.read_bytes(), password=None)
    except (OSError, ValueError):
        return False
    if server.not_valid_after_utc - _RENEW_BEFORE < datetime.now(UTC):
        return False
    # a kill between the two files leaves a key that does not belong to the certificate
    form = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return server.public_key().public_bytes(*form) == key.public_key().public_bytes(*form)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _make(certificate: Certificate) -> None:
    now = datetime.now(UTC)
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca_name = _name(f"hpcbatch engine {now:%Y-%m-%dT%H:%M:%SZ}")

    def build(subject: x509.Name, key: ec.EllipticCurvePrivateKey, authority: bool) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(ca_name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + _VALID)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
            .add_extension(
                x509.KeyUsage(
                    digital_signature=True,
                    key_cert_sign=authority,
                    crl_sign=authority,
                    content_commitment=False,
                    key_encipherment=False,
                    data_encipherment=False,
                    key_agreement=False,
                    encipher_only=False,
                    decipher_only=False,
                ),
                critical=True,
            )
        )

    ca = build(ca_name, ca_key, authority=True).sign(ca_key, hashes.SHA256())
    key = ec.generate_private_key(ec.SECP256R1())
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    server = (
        build(_name("hpcbatch engine"), key, authority=False)
        .add_extension(names, critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    write_private(certificate.key_file, private)
    write_private(certificate.ca_file, ca.public_bytes(pem))
    write_private(certificate.cert_file, server.public_bytes(pem) + ca.public_bytes(pem))


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
