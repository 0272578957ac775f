"""What users may be called, and what Kubernetes calls them and their namespaces."""

from __future__ import annotations

import re
from hashlib import sha256

from hpcbatch.errors import HpcBatchError

GROUP = "hpcbatch:users"
"""Group (O of the certificates) of all users: what a site binds the right to see others' jobs to."""
_NAMESPACE_PREFIX = "hpcbatch-user-"
_USER = re.compile(r"(?![0-9]+$)[A-Za-z0-9]([A-Za-z0-9._-]{0,30}[A-Za-z0-9])?")  # a label's value, 32 as in utmp
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_RESERVED = re.compile(r"default|(kube|volcano)-.*|hpcbatch-(?!user-).*")


def check_user_name(name: str, what: str = "user") -> str:
    """`name`, if people and labels may be called so. Raises HpcBatchError otherwise."""
    if not _USER.fullmatch(name):
        raise HpcBatchError(
            f"{name!r} is no name for a {what}: expected up to 32 letters, digits, '.', '_' and '-', "
            "the first and last a letter or digit, and not digits only"
        )
    return name


def kubernetes_user(name: str) -> str:
    """Whom the API server takes the user for: CN of the certificate, subject of the RoleBinding."""
    return f"hpcbatch:{name}"


def default_namespace(name: str) -> str:
    """The namespace of a user, `hpcbatch-user-alice`. A name that is no DNS label, such as `J.Smith`, becomes one with
    a part of its SHA-256 behind it, `hpcbatch-user-j-smith-1f0b5a39`, so that no two names meet.
    """
    if _LABEL.fullmatch(name):
        return _NAMESPACE_PREFIX + name
    plain = re.sub(r"[^a-z0-9]", "-", name.lower())
    return f"{_NAMESPACE_PREFIX}{plain}-{sha256(name.encode()).hexdigest()[:8]}"


def check_namespace_name(name: str) -> str:
    """`name`, if it can be a user's namespace. Raises HpcBatchError for what Kubernetes refuses or systems use."""
    if not _LABEL.fullmatch(name):
        raise HpcBatchError(
            f"{name!r} is no name for a namespace: expected up to 63 small letters, digits and '-', "
            "the first and last a letter or digit"
        )
    if _RESERVED.fullmatch(name):
        raise HpcBatchError(f"namespace {name} belongs to the system, not to a user")
    return name
