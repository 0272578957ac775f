"""Why an API server rejects credentials. Imported only after a failure: cryptography is slow."""

from __future__ import annotations

from datetime import UTC, datetime

from hpcbatch.api.kubeconfig import Connection

RENEW = "ask your admin for a new kubeconfig"


def certificate_life(pem: bytes) -> tuple[datetime, datetime]:
    """Start and end of the client certificate's validity. Raises ValueError if it cannot be read."""
    from cryptography import x509

    certificate = x509.load_pem_x509_certificate(pem)
    return certificate.not_valid_before_utc, certificate.not_valid_after_utc


def certificate_fault(pem: bytes, now: datetime) -> str | None:
    """What is wrong with the client certificate, in one line; None if it is valid by this machine's clock."""
    try:
        begin, end = certificate_life(pem)
    except ValueError:
        return f"the client certificate in the kubeconfig cannot be read: {RENEW}"
    if now > end:
        return f"the client certificate in the kubeconfig expired on {_day(end)}: {RENEW}"
    if now < begin:
        return (
            f"the client certificate in the kubeconfig is valid from {_day(begin)} on, "
            f"and this machine's clock says {_day(now)}: one of the clocks is wrong"
        )
    return None


def explain_unauthorized(connection: Connection) -> str:
    """Why a server may have returned 401 Unauthorized to this user, in one line."""
    server = connection.server
    if connection.client_cert_pem and not connection.token and not connection.token_file:
        if fault := certificate_fault(connection.client_cert_pem, datetime.now(UTC)):
            return fault
        return f"{server} does not accept the client certificate in the kubeconfig: {RENEW}"
    if connection.token or connection.token_file:
        return f"{server} does not accept the token in the kubeconfig: it has expired or was never valid; {RENEW}"
    if connection.username:
        return f"{server} does not accept the user name and password in the kubeconfig: {RENEW}"
    return f"the kubeconfig holds neither a certificate nor a token: {RENEW}"


def _day(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M} UTC"
