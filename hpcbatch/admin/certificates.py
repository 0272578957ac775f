"""Client certificates through the cluster's own CertificateSigningRequests. The key is made here and stays here."""

from __future__ import annotations

import base64
import os
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from hpcbatch.admin.apply import create
from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import CSRS
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.labels import MANAGED_BY

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

SHORTEST, LONGEST = timedelta(minutes=10), timedelta(days=30)
"""Kubernetes refuses less. It cannot take a certificate back, so one that is stolen works until it expires."""
_SIGNER = "kubernetes.io/kube-apiserver-client"
_SIGNED_WITHIN_S = 30.0
_POLL_S = 0.2


class Issued(NamedTuple):
    """A client certificate with its key, both PEM."""

    certificate: bytes
    key: bytes
    not_after: datetime

    def __repr__(self) -> str:
        return f"Issued(not_after={self.not_after})"  # no key in logs and tracebacks


def issue(api: Api, user: str, group: str, name: str, lifetime: timedelta) -> Issued:
    """A certificate for `user` in `group`, requested, approved and fetched. `name` begins the request's name.
    Raises HpcBatchError if nobody signs it, or if what comes back is not what was requested.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name(
        [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group), x509.NameAttribute(NameOID.COMMON_NAME, user)]
    )
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    pem = _signed(api, request.public_bytes(serialization.Encoding.PEM), f"{name}-{os.urandom(5).hex()}", lifetime)
    not_after = _check(pem, key, user)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Issued(pem, private, not_after)


def _signed(api: Api, request: bytes, name: str, lifetime: timedelta) -> bytes:
    wanted = {
        "apiVersion": CSRS.api_version,
        "kind": CSRS.kind,
        "metadata": {"name": name, "labels": dict(MANAGED_BY)},
        "spec": {
            "request": base64.b64encode(request).decode("ascii"),
            "signerName": _SIGNER,
            "expirationSeconds": int(lifetime.total_seconds()),
            "usages": ["digital signature", "client auth"],
        },
    }
    asked = create(api, CSRS, wanted)
    try:
        approval = {
            "type": "Approved",
            "status": "True",
            "reason": "HpcbatchUserAdd",
            "message": "requested and approved by `hpcbatch user add`",
        }
        api.replace(CSRS, asked | {"status": {"conditions": [approval]}}, subresource="approval")
        return _fetch(api, name)
    finally:
        _forget(api, name)


def _fetch(api: Api, name: str) -> bytes:
    give_up = time.monotonic() + _SIGNED_WITHIN_S
    while True:
        status: Object = api.get(CSRS, name).get("status") or {}
        if status.get("certificate"):
            return base64.b64decode(status["certificate"])
        for condition in status.get("conditions") or []:
            if condition.get("type") in {"Denied", "Failed"}:
                raise HpcBatchError(f"the certificate was refused: {condition.get('message') or condition['type']}")
        if time.monotonic() >= give_up:
            raise HpcBatchError(
                f"the certificate was approved, but not signed within {_SIGNED_WITHIN_S:.0f} seconds: does this "
                f"cluster's kube-controller-manager sign for {_SIGNER}?"
            )
        time.sleep(_POLL_S)


def _forget(api: Api, name: str) -> None:
    """The request has done its work. Kubernetes sweeps it after an hour where we may not."""
    try:
        api.delete(CSRS, name)
    except HpcBatchError:
        pass


def _check(pem: bytes, key: EllipticCurvePrivateKey, user: str) -> datetime:
    """When the certificate ends, if it is one for this key and user."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    try:
        certificate = x509.load_pem_x509_certificate(pem)
        names = [attribute.value for attribute in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    except ValueError:
        raise HpcBatchError("the cluster signed something that is no certificate") from None
    if certificate.public_key() != key.public_key() or names != [user]:
        raise HpcBatchError("the cluster signed a certificate for another key or another user")
    if certificate.not_valid_after_utc <= datetime.now(UTC):
        raise HpcBatchError("the cluster signed a certificate that has ended already: are the clocks right?")
    return certificate.not_valid_after_utc
