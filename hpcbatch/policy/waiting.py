"""Why a job waits: its request compared with the nodes, in one line that names the resource."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hpcbatch.dataclass import dataclass
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.site import Launcher, QueueConfig, SiteConfig
from hpcbatch.model.state import Reason
from hpcbatch.policy.observed import Waiting
from hpcbatch.volcano.pod_needs import extended_resources, node_selector, node_terms, shown_word, suits


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRoom:
    """A node's labels, its capacity for pods, and the requests of its pods: `cpu` in thousandths, `memory` in bytes,
    extended resources in pieces, each under Kubernetes' name.
    """

    labels: Mapping[str, str]
    has: Mapping[str, int]
    used: Mapping[str, int]

    def free(self, resource: str) -> int:
        return max(0, self.has.get(resource, 0) - self.used.get(resource, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Need:
    """`count` equal pods and the nodes that may hold them."""

    count: int
    amounts: Mapping[str, int]
    wanted: str
    """Other properties that the nodes must have, as text."""
    nodes: Sequence[NodeRoom]
    computes: bool = True


def explain(
    layout: Sequence[Chunk], nodes: Sequence[NodeRoom], *, is_scattered: bool, queue: QueueConfig, site: SiteConfig
) -> Waiting:
    """The resource that keeps `layout` from starting. The form is PBS's: R required, A available, T total."""
    try:
        needs = _needs(layout, nodes, queue, site)
    except HpcBatchError as error:  # the site has changed since the job was admitted
        return Waiting(reason=Reason.NEVER_FITS, message=str(error))
    # by the name in the job's request
    shown = {site.resources[name]: name for chunk in layout for name, _ in chunk.resources}
    return _beyond_nodes(needs, shown, is_scattered=is_scattered) or _beyond_free(needs, nodes, shown)


def _needs(layout: Sequence[Chunk], nodes: Sequence[NodeRoom], queue: QueueConfig, site: SiteConfig) -> list[_Need]:
    needs = []
    if site.launcher is Launcher.DEDICATED:
        amounts = {"cpu": site.launcher_cpu_milli}
        of_queue = node_terms(None, site, queue)
        at = [node for node in _matching(nodes, queue.node_selector) if suits(node.labels, of_queue)]
        needs.append(_Need(count=1, amounts=amounts, wanted=f"queue {queue.name}", nodes=at, computes=False))
    for chunk in layout:
        amounts = amounts_of(chunk, site)
        wanted = " and ".join([f"queue {queue.name}", *_wanted(chunk)])
        terms = node_terms(chunk, site, queue)
        at = [node for node in _matching(nodes, node_selector(chunk, queue, site)) if suits(node.labels, terms)]
        needs.append(_Need(count=chunk.count, amounts=amounts, wanted=wanted, nodes=at))
    return needs


def amounts_of(chunk: Chunk, site: SiteConfig) -> dict[str, int]:
    """What a pod requests, as a NodeRoom counts it. Raises HpcBatchError for a resource that the site does not have."""
    disk = {} if chunk.tmp_bytes is None else {"ephemeral-storage": chunk.tmp_bytes}
    return {"cpu": chunk.cpus_of_pod * 1000, "memory": chunk.mem_bytes or 0, **disk, **extended_resources(chunk, site)}


def _wanted(chunk: Chunk) -> list[str]:
    """What a chunk asks of its node beside amounts, as text."""
    return [
        *(f"property {name}" for name in chunk.properties),
        *(shown_word(*word) for word in chunk.words),
        *([f"property {' or '.join('&'.join(names) for names in chunk.alternatives)}"] if chunk.alternatives else []),
        *(f"no property {name}" for name in chunk.lacks),
        *([f"name {' or '.join(chunk.hosts)}"] if chunk.hosts else []),
    ]


def _matching(nodes: Sequence[NodeRoom], labels: Mapping[str, str]) -> Sequence[NodeRoom]:
    return [node for node in nodes if labels.items() <= node.labels.items()] if labels else nodes


def _beyond_nodes(needs: Sequence[_Need], shown: Mapping[str, str], *, is_scattered: bool) -> Waiting | None:
    """The reason if even empty nodes could not hold the pods."""
    for need in needs:
        if not need.nodes:
            return Waiting(reason=Reason.NEVER_FITS, message=f"No node of {need.wanted}")
        for resource, amount in need.amounts.items():
            most = max(node.has.get(resource, 0) for node in need.nodes)
            if amount > most:
                return _never(shown, resource, amount, max(node.free(resource) for node in need.nodes), most)
    count = sum(need.count for need in needs if need.computes)
    some = list({id(node): node for need in needs for node in need.nodes}.values())
    if is_scattered and count > len(some):
        text = _text("nodect", str(count), str(len(some)), str(len(some)))
        return Waiting(reason=Reason.NEVER_FITS, message=text)
    for resource, amount in _totals(needs).items():
        total = sum(node.has.get(resource, 0) for node in some)
        if amount > total or (resource == "cpu" and not _packs(needs)):
            return _never(shown, resource, amount, sum(node.free(resource) for node in some), total)
    return None


def _beyond_free(needs: Sequence[_Need], nodes: Sequence[NodeRoom], shown: Mapping[str, str]) -> Waiting:
    """The reason if other jobs use the resources."""
    for resource, amount in _totals(needs).items():
        free = sum(node.free(resource) for node in nodes)
        if amount > free:
            total = sum(node.has.get(resource, 0) for node in nodes)
            return Waiting(reason=Reason.RESOURCES, message=_amount(shown, resource, amount, free, total))
    return Waiting(reason=Reason.RESOURCES, message="Not enough free nodes available")


def _totals(needs: Sequence[_Need]) -> dict[str, int]:
    totals: dict[str, int] = {"cpu": 0, "memory": 0}
    for need in needs:
        for resource, amount in need.amounts.items():
            totals[resource] = totals.get(resource, 0) + need.count * amount
    return totals


def _packs(needs: Sequence[_Need]) -> bool:
    """Whether the pods' CPUs would fit on the empty nodes: those with the least choice first, then the largest."""
    free = {id(node): node.has["cpu"] for need in needs for node in need.nodes}
    for need in sorted(needs, key=lambda need: (len(need.nodes), -need.amounts["cpu"])):
        for _ in range(need.count):
            place = max((id(node) for node in need.nodes), key=free.__getitem__)
            if free[place] < need.amounts["cpu"]:
                return False
            free[place] -= need.amounts["cpu"]
    return True


def _never(shown: Mapping[str, str], resource: str, required: int, available: int, total: int) -> Waiting:
    return Waiting(reason=Reason.NEVER_FITS, message=_amount(shown, resource, required, available, total))


def _amount(shown: Mapping[str, str], resource: str, required: int, available: int, total: int) -> str:
    match resource:
        case "cpu":
            return _text("ncpus", f"{required / 1000:g}", str(available // 1000), str(total // 1000))
        case "memory" | "ephemeral-storage":
            return _text(
                "mem" if resource == "memory" else "tmp",
                *(f"{count // 1024}kb" for count in (required, available, total)),
            )
        case _:
            return _text(shown.get(resource, resource), str(required), str(available), str(total))


def _text(resource: str, required: str, available: str, total: str) -> str:
    return f"Insufficient amount of resource: {resource} (R: {required} A: {available} T: {total})"
