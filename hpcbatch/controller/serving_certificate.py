"""The TLS certificate of the history's server: made by hpcbatch, shared by all its controllers.

It is in a Secret that the manifests create empty, so that the controller needs no permission to create Secrets.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import SECRETS
from hpcbatch.errors import ConflictError

_VALID = timedelta(days=3650)
_RENEW_BEFORE = timedelta(days=60)
_CERTIFICATE, _KEY, _AUTHORITY = "tls.crt", "tls.key", "ca.crt"


@dataclass(frozen=True, slots=True)
class ServingCertificate:
    """Each in PEM; `authority` is the CA that clients have to trust."""

    certificate: bytes
    key: bytes
    authority: bytes

    def __repr__(self) -> str:
        return "ServingCertificate(…)"  # no key in logs and tracebacks


def shared_certificate(api: Api, secret_name: str, namespace: str, host: str) -> ServingCertificate:
    """The certificate for `host` in the Secret; a new one is stored there if it is missing or ends soon.
    Raises ApiError, NotFoundError if there is no such Secret.
    """
    while True:
        secret = api.get(SECRETS, secret_name, namespace)
        found = _read(secret)
        if found is not None and _is_usable(found, host):
            return found
        made = _make(host)
        data = {_CERTIFICATE: made.certificate, _KEY: made.key, _AUTHORITY: made.authority}
        encoded = {key: base64.b64encode(value).decode("ascii") for key, value in data.items()}
        try:
            api.replace(SECRETS, secret | {"data": encoded}, namespace)
        except ConflictError:
            continue  # another controller was faster: its certificate is used
        return made


def _read(secret: Object) -> ServingCertificate | None:
    data = secret.get("data") or {}
    try:
        return ServingCertificate(*(base64.b64decode(data[key]) for key in (_CERTIFICATE, _KEY, _AUTHORITY)))
    except (KeyError, binascii.Error, TypeError):
        return None


def _is_usable(found: ServingCertificate, host: str) -> bool:
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization

    try:
        certificate = x509.load_pem_x509_certificate(found.certificate)
        authority = x509.load_pem_x509_certificate(found.authority)
        key = serialization.load_pem_private_key(found.key, password=None)
        certificate.verify_directly_issued_by(authority)
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except Exception:
        return False  # any defect: a new one is made
    form = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return (
        certificate.not_valid_after_utc - _RENEW_BEFORE > datetime.now(UTC)
        and host in names.get_values_for_type(x509.DNSName)
        and certificate.public_key().public_bytes(*form) == key.public_key().public_bytes(*form)
    )


def _make(host: str) -> ServingCertificate:
    """A CA, whose key is not kept, and a certificate signed by it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    now = datetime.now(UTC)
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"hpcbatch history {now:%Y-%m-%dT%H:%M:%SZ}")])

    def build(subject: x509.Name, public: ec.EllipticCurvePublicKey, *, is_authority: bool) -> x509.CertificateBuilder:
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=is_authority,
            crl_sign=is_authority,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + _VALID)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False
            )
            .add_extension(usage, critical=True)
        )

    authority = build(issuer, authority_key.public_key(), is_authority=True).sign(authority_key, hashes.SHA256())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hpcbatch history")])
    certificate = (
        build(subject, key.public_key(), is_authority=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return ServingCertificate(certificate.public_bytes(pem), private, authority.public_bytes(pem))
