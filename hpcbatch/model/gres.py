"""What Slurm calls the generic resources of nodes: which of Kubernetes' extended resources they are, and how many each
node has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hpcbatch.model.accelerator import PREFIX, UNTYPED, is_gpu
from hpcbatch.typed import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from hpcbatch.model.row import NodeRow
    from hpcbatch.model.site import SiteConfig


class Gres(NamedTuple):
    """One that jobs may ask for: `gpu`, `gpu:a100`."""

    name: str
    resource: str
    """Kubernetes' extended resource."""
    labels: Mapping[str, str]
    """Of the nodes that have it."""


class Amount(NamedTuple):
    """What a node has of one, and what jobs hold of that."""

    name: str
    has: int
    used: int


def gres_of_site(site: SiteConfig) -> tuple[Gres, ...]:
    """Types before what has none. Devices that are claimed are not among them: no node says how many it has."""
    types = [Gres(each.full_name, each.resource, each.labels) for each in site.accelerators if not each.device_class]
    gpu, ngpus = UNTYPED
    names = {**site.resources, gpu: site.resources.get(gpu) or site.resources.get(ngpus, "")}
    others = [Gres(name, resource, {}) for name, resource in sorted(names.items()) if resource and name != ngpus]
    typed = [each for each in others if each.name.startswith(PREFIX)]
    return (*types, *typed, *(each for each in others if each not in typed))


def gres_to_json(gres: Gres) -> dict[str, Any]:
    return {"name": gres.name, "resource": gres.resource, **({"labels": dict(gres.labels)} if gres.labels else {})}


def gres_from_json(body: Mapping[str, Any]) -> Gres:
    """Raises KeyError or TypeError for what is none."""
    labels = {str(name): str(value) for name, value in body.get("labels", {}).items()}
    return Gres(str(body["name"]), str(body["resource"]), labels)


def amounts_of(node: NodeRow, known: Sequence[Gres]) -> tuple[Amount, ...]:
    """Each of the node's extended resources that has a name, by the first that fits."""
    labels, has = set(node.labels), {name: amount for name, amount in node.extended if amount}
    found: dict[str, Amount] = {}
    for each in known:
        if each.resource in has and each.resource not in found and labels.issuperset(each.labels.items()):
            used = sum(amount for name, amount in node.extended_used if _is_of(each, name))
            found[each.resource] = Amount(each.name, has[each.resource], used)
    return tuple(sorted(found.values()))


def _is_of(gres: Gres, name: str) -> bool:
    """What pods hold has Kubernetes' name, what a job's row says the site's."""
    return name in {gres.resource, gres.name} or (name in UNTYPED and is_gpu(gres.name))
