"""What is wrong with a login, from what the kubeconfig holds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from hpcbatch.api.credentials import certificate_fault, explain_unauthorized
from hpcbatch.api.kubeconfig import Connection

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def certificate(begin: datetime, end: datetime) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([])
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(begin)
        .not_valid_after(end)
        .sign(key, hashes.SHA256())
    )
    return built.public_bytes(serialization.Encoding.PEM)


@pytest.mark.parametrize(
    ("begin_d", "end_d", "fault"),
    [
        (-1, 1, None),
        (-2, -1, "expired on 2026-11-20 12:00 UTC: ask your admin for a new kubeconfig"),
        (1, 2, "valid from 2026-11-22 12:00 UTC on, and this machine's clock says 2026-11-21 12:00 UTC"),
    ],
    ids=["valid", "expired", "not yet"],
)
def test_certificates(begin_d: int, end_d: int, fault: str | None) -> None:
    found = certificate_fault(certificate(NOW + timedelta(days=begin_d), NOW + timedelta(days=end_d)), NOW)
    assert found is None if fault is None else fault in (found or "")


def test_what_is_no_certificate() -> None:
    assert "cannot be read" in (certificate_fault(b"junk", NOW) or "")


LONG = certificate(NOW - timedelta(days=9999), NOW + timedelta(days=9999))
PAST = certificate(NOW - timedelta(days=9999), NOW - timedelta(days=9998))


@pytest.mark.parametrize(
    ("login", "text"),
    [
        ({"token": "t"}, "does not accept the token"),
        ({"token_file": "/t"}, "does not accept the token"),
        ({"username": "u"}, "does not accept the user name and password"),
        ({}, "holds neither a certificate nor a token"),
        (
            {"client_cert_pem": LONG},
            "does not accept the client",
        ),
        ({"client_cert_pem": PAST}, "expired on "),
    ],
    ids=["token", "token file", "password", "nothing", "certificate", "old certificate"],
)
def test_why_a_server_says_no(login: dict[str, Any], text: str) -> None:
    assert text in explain_unauthorized(Connection(server="https://s:1", **login))
