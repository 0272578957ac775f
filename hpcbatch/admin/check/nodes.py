"""The nodes: ready, and of one architecture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from hpcbatch.admin.check.cluster import Cluster
from hpcbatch.admin.check.finding import Finding, Reporter, one_line
from hpcbatch.api.port import Object

_SAY = Reporter("nodes")


def nodes(cluster: Cluster) -> Iterable[Finding]:
    return judge_nodes(cluster.nodes)


def judge_nodes(found: Sequence[Object]) -> Iterable[Finding]:
    ready = [node for node in found if is_ready(node)]
    usable = [node for node in ready if not (node.get("spec") or {}).get("unschedulable")]
    seen = f"{len(ready)} of {len(found)} ready"
    if len(usable) < len(ready):
        seen += f", {len(ready) - len(usable)} of them cordoned"
    if not usable:
        yield _SAY.error("nodes", seen, "no job can start: `kubectl describe nodes` says why; `kubectl uncordon NODE`")
    else:
        yield _SAY.ok("nodes", seen)
    for node in found:
        if not is_ready(node):
            name = node["metadata"]["name"]
            yield _SAY.warning(f"node {name}", f"not ready: {_why(node)}", f"`kubectl describe node {name}`")
    kinds = Counter(kind for node in found if (kind := _architecture(node)))
    if len(kinds) > 1:
        listed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        yield _SAY.warning(
            "architecture of the nodes",
            listed,
            "give each queue a nodeSelector on kubernetes.io/arch, or use images that have all architectures",
        )
    elif kinds:
        yield _SAY.ok("architecture of the nodes", next(iter(kinds)))


def is_ready(node: Object) -> bool:
    return (_condition(node) or {}).get("status") == "True"


def takes_pods(node: Object) -> bool:
    """Whether an ordinary pod may go there: ready, not cordoned, no taint that keeps pods away."""
    spec = node.get("spec") or {}
    keeps_away = any(taint.get("effect") in {"NoSchedule", "NoExecute"} for taint in spec.get("taints") or [])
    return is_ready(node) and not spec.get("unschedulable") and not keeps_away


def _condition(node: Object) -> Object | None:
    conditions = (node.get("status") or {}).get("conditions") or []
    return next((condition for condition in conditions if condition.get("type") == "Ready"), None)


def _why(node: Object) -> str:
    condition = _condition(node)
    if condition is None:
        return "its kubelet has not reported yet"
    return one_line(str(condition.get("message") or condition.get("reason") or "no reason given"))


def _architecture(node: Object) -> str:
    """`linux/amd64`; "" where no kubelet has reported, as on virtual nodes."""
    told = (node.get("status") or {}).get("nodeInfo") or {}
    return f"{told['operatingSystem']}/{told['architecture']}" if told.get("architecture") else ""
