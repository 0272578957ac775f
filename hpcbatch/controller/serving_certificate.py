"""The TLS certificate of the history's server: made by hpcbatch, shared by all its controllers.

It is in a Secret that the manifests create empty, so that the controller needs no permission to create Secrets.
"""

from __future__ import annotations

import base64
import binascii
from datetime import timedelta

from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import SECRETS
from hpcbatch.api.server_certificate import ServerCertificate, is_usable, make
from hpcbatch.errors import ConflictError

_RENEW_BEFORE = timedelta(days=60)
_CERTIFICATE, _KEY, _AUTHORITY = "tls.crt", "tls.key", "ca.crt"


def shared_certificate(api: Api, secret_name: str, namespace: str, host: str) -> ServerCertificate:
    """The certificate for `host` in the Secret; a new one is stored there if it is missing or ends soon.
    Raises ApiError, NotFoundError if there is no such Secret.
    """
    while True:
        secret = api.get(SECRETS, secret_name, namespace)
        found = _read(secret)
        if found is not None and is_usable(found, host, _RENEW_BEFORE):
            return found
        made = make("hpcbatch history", host)
        data = {_CERTIFICATE: made.certificate, _KEY: made.key, _AUTHORITY: made.authority}
        encoded = {key: base64.b64encode(value).decode("ascii") for key, value in data.items()}
        try:
            api.replace(SECRETS, secret | {"data": encoded}, namespace)
        except ConflictError:
            continue  # another controller was faster: its certificate is used
        return made


def _read(secret: Object) -> ServerCertificate | None:
    data = secret.get("data") or {}
    try:
        return ServerCertificate(*(base64.b64decode(data[key]) for key in (_CERTIFICATE, _KEY, _AUTHORITY)))
    except (KeyError, binascii.Error, TypeError):
        return None
