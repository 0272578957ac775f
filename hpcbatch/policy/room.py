"""Whether a job could start now: its pods compared with what is free on the nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.site import QueueConfig, SiteConfig
from hpcbatch.policy.waiting import NodeRoom, amounts_of
from hpcbatch.volcano.pod_needs import node_selector, node_terms, suits


def fits_now(
    layout: Sequence[Chunk], nodes: Sequence[NodeRoom], *, is_scattered: bool, queue: QueueConfig, site: SiteConfig
) -> bool:
    """Whether all pods find room at once. Pods with the least choice of nodes go first; each takes the first node."""
    try:
        needs = [(chunk, amounts_of(chunk, site), _able(chunk, nodes, queue, site)) for chunk in layout]
    except HpcBatchError:
        return False
    taken: dict[int, dict[str, int]] = {}  # by the node's index
    for chunk, amounts, able in sorted(needs, key=lambda need: len(need[2])):
        left = chunk.count
        for index in able:
            if left == 0:
                break
            if is_scattered and index in taken:
                continue
            used = taken.get(index, {})
            number = min(left, 1 if is_scattered else left, _room(nodes[index], used, amounts))
            if number:
                taken[index] = {name: used.get(name, 0) + number * amounts.get(name, 0) for name in {*used, *amounts}}
                left -= number
        if left:
            return False
    return True


def _able(chunk: Chunk, nodes: Sequence[NodeRoom], queue: QueueConfig, site: SiteConfig) -> list[int]:
    labels, terms = node_selector(chunk, queue, site), node_terms(chunk, site, queue)
    return [
        index for index, node in enumerate(nodes) if labels.items() <= node.labels.items() and suits(node.labels, terms)
    ]


def _room(node: NodeRoom, used: Mapping[str, int], amounts: Mapping[str, int]) -> int:
    """How many such pods fit beside what is used."""
    rooms = [max(0, node.free(name) - used.get(name, 0)) // amount for name, amount in amounts.items() if amount]
    return min(rooms, default=2**31)
