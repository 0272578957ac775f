"""Certificates of hpcbatch's API servers, the engine's and the history's, each signed by an authority of its own."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from hpcbatch.dataclass import dataclass

_VALID = timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class ServerCertificate:
    """Each in PEM; `authority` is the CA that clients have to trust."""

    certificate: bytes
    key: bytes
    authority: bytes

    def __repr__(self) -> str:
        return "ServerCertificate(…)"  # no key in logs and tracebacks


def is_usable(found: ServerCertificate, host: str, renew_before: timedelta) -> bool:
    """Whether the three belong together, are for `host`, and do not end within `renew_before`."""
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
        certificate.not_valid_after_utc - renew_before > datetime.now(UTC)
        and host in names.get_values_for_type(x509.DNSName)
        and certificate.public_key().public_bytes(*form) == key.public_key().public_bytes(*form)
    )


def make(name: str, host: str, addresses: Iterable[str] = ()) -> ServerCertificate:
    """A CA, whose key is not kept, and a certificate of `name` signed by it, for `host` and IP `addresses`."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    now = datetime.now(UTC)
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{name} {now:%Y-%m-%dT%H:%M:%SZ}")])

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
    names = [x509.DNSName(host), *(x509.IPAddress(ip_address(address)) for address in addresses)]
    certificate = (
        build(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), key.public_key(), is_authority=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return ServerCertificate(certificate.public_bytes(pem), private, authority.public_bytes(pem))
