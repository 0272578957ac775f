"""Which kind of cluster answers."""

from __future__ import annotations

from hpcbatch.api.client import HttpApi


def is_embedded(api: HttpApi) -> bool:
    """Whether the cluster is the one that `hpcbatch up` starts: no RBAC, no certificates, no quotas."""
    return str(api.version().get("gitVersion", "")).endswith("-hpcbatch")
