"""What the nodes offer to jobs when they are empty: read when a node changes, not for each of thousands of jobs."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Set
from typing import NamedTuple

from hpcbatch.api.nodes import is_reserved
from hpcbatch.api.port import WatchEvent
from hpcbatch.model.layout import NodeSize
from hpcbatch.model.site import QueueConfig, SiteConfig
from hpcbatch.model.spec import JobSpec
from hpcbatch.policy.vocabulary import asked_labels
from hpcbatch.units import cpu_milli, memory_bytes, parse_quantity

_MOST_KEPT = 256
"""Jobs ask in few ways: by queue, and by the labels that their properties mean."""


class _Facts(NamedTuple):
    """All of a node that counts here. Most of its events are heartbeats, which change nothing of it."""

    labels: Mapping[str, str]
    allocatable: Mapping[str, str] | None
    is_reserved: bool

    @property
    def is_there(self) -> bool:
        """Whether it has a size and is for jobs."""
        return self.allocatable is not None and not self.is_reserved


class NodeOffers:
    """Safe for threads. The caller passes on every event of the nodes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._facts: dict[str, _Facts] = {}
        self._site: SiteConfig | None = None
        self._sizes: dict[Hashable, Mapping[NodeSize, int]] = {}
        self._host_names: Mapping[str, str] | None = None
        self._words: Set[str] = frozenset()

    def on_event(self, event: WatchEvent) -> None:
        node = event.object
        name = node["metadata"]["name"]
        facts = _Facts(
            node["metadata"].get("labels") or {}, node.get("status", {}).get("allocatable"), is_reserved(node)
        )
        with self._lock:
            if event.type == "DELETED":
                self._facts.pop(name, None)
            elif self._facts.get(name) == facts:
                return
            else:
                self._facts[name] = facts
            self._sizes.clear()
            self._host_names = None

    def host_names(self) -> Mapping[str, str]:
        """By which pods can ask for the nodes, by the nodes' names."""
        with self._lock:
            return self._names()

    def words(self) -> Set[str]:
        """All that a node may be called by."""
        with self._lock:
            self._names()
            return self._words

    def _names(self) -> Mapping[str, str]:
        if self._host_names is None:
            self._host_names = {name: _host_name(name, facts) for name, facts in self._facts.items()}
            self._words = frozenset((*self._host_names, *self._host_names.values()))
        return self._host_names

    def have_disk(self, queue: QueueConfig) -> bool:
        """Whether a node that the queue reaches says how much disk it has."""
        with self._lock:
            return any("ephemeral-storage" in (facts.allocatable or ()) for _, facts in self._reached(queue))

    def sizes(self, queue: QueueConfig, site: SiteConfig, spec: JobSpec) -> Mapping[NodeSize, int]:
        """What each node that the queue reaches offers to the pods of `spec`, by the site's names, and how many nodes
        are alike.
        """
        asked = asked_labels(spec, site)
        is_by_name = any(chunk.hosts or chunk.excluded_hosts for chunk in spec.chunks)
        key = (
            frozenset(queue.node_selector.items()),
            None if queue.nodes is None else frozenset(queue.nodes),
            frozenset((word, frozenset(labels.items())) for word, labels in asked.items()),
            is_by_name,
        )
        with self._lock:
            if self._site is not site or len(self._sizes) >= _MOST_KEPT:
                self._site = site
                self._sizes.clear()
            if (found := self._sizes.get(key)) is None:
                found = self._sizes[key] = Counter(
                    _node_size(facts, site, asked, _host_name(name, facts) if is_by_name else "")
                    for name, facts in self._reached(queue)
                )
            return found

    def _reached(self, queue: QueueConfig) -> Iterable[tuple[str, _Facts]]:
        wanted = queue.node_selector.items()
        for name, facts in self._facts.items():
            is_named = queue.nodes is None or _host_name(name, facts) in queue.nodes
            if is_named and facts.is_there and wanted <= facts.labels.items():
                yield name, facts


def _host_name(name: str, facts: _Facts) -> str:
    """By which pods can ask for the node: mostly its name."""
    return facts.labels.get("kubernetes.io/hostname", name)


def _node_size(facts: _Facts, site: SiteConfig, asked: Mapping[str, Mapping[str, str]], name: str) -> NodeSize:
    has: Mapping[str, str] = facts.allocatable or {}
    amounts = {name: int(parse_quantity(has.get(resource, 0))) for name, resource in site.resources.items()}
    return NodeSize(
        cpus=cpu_milli(has["cpu"]) // 1000,
        mem_bytes=memory_bytes(has["memory"]),
        resources=tuple((name, amount) for name, amount in amounts.items() if amount),
        properties=frozenset(word for word, means in asked.items() if means.items() <= facts.labels.items()),
        name=name,
    )
