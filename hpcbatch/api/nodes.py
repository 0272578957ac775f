"""Which nodes are available for jobs."""

from __future__ import annotations

from hpcbatch.api.port import Object


def is_reserved(node: Object) -> bool:
    """Whether a taint excludes jobs permanently, as on a control plane; Kubernetes' own taints come and go."""
    taints = (node.get("spec") or {}).get("taints") or []
    return any(
        taint["effect"] != "PreferNoSchedule" and not str(taint["key"]).startswith("node.kubernetes.io/")
        for taint in taints
    )
