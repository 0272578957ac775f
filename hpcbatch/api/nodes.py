"""Which nodes are there for jobs."""

from __future__ import annotations

from hpcbatch.api.port import Object


def is_reserved(node: Object) -> bool:
    """Whether a taint keeps jobs away for good, as from a control plane; those of Kubernetes' own come and go."""
    taints = (node.get("spec") or {}).get("taints") or []
    return any(
        taint["effect"] != "PreferNoSchedule" and not str(taint["key"]).startswith("node.kubernetes.io/")
        for taint in taints
    )
