"""The pages of a long list: the token by which a client requests what comes after the last page."""

from __future__ import annotations

import base64
import binascii
import json

from hpcbatch.api.port import Object
from hpcbatch.engine.registry import statuses
from hpcbatch.engine.registry.store import Position


def position(obj: Object) -> Position:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def make_token(position: Position, at: int) -> str:
    """The `continue` token of a list of resource version `at` whose page ends with the object at `position`."""
    value = {"v": "meta.k8s.io/v1", "rv": at, "start": f"{position[0]}/{position[1]}"}
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def read_token(token: str) -> tuple[Position, int]:
    """What `make_token` was given. Raises ApiError 400 for a token that it did not make."""
    try:
        value = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        namespace, _, name = value["start"].partition("/")
        return (namespace, name), int(value["rv"])
    except (binascii.Error, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise statuses.bad_request(f"invalid continue token: continue key is not valid: {error}") from None
