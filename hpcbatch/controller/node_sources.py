"""What nodes have by objects beside them: devices by ResourceSlices (DRA), groups by Volcano's HyperNodes."""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from hpcbatch.api.informer import Informer, Key, object_key
from hpcbatch.api.port import Api, Object, WatchEvent
from hpcbatch.api.resources import DEVICE_CLASSES, HYPERNODES, RESOURCE_CLAIMS, RESOURCE_SLICES, Resource
from hpcbatch.model.accelerator import Accelerator
from hpcbatch.model.grouping import tiers_of
from hpcbatch.model.site import SiteConfig
from hpcbatch.policy.devices import (
    DeviceId,
    Published,
    Tests,
    counted,
    demands_of,
    given_to,
    is_of_a_job,
    published,
)
from hpcbatch.policy.hypernodes import labels_of_tiers

_LOG = logging.getLogger(__name__)
_LOOK_S = 1.0
_TOGETHER_S = 0.1
"""A driver that comes publishes some slices one after the other."""
T = TypeVar("T")


class NodeSource(ABC):
    """Watches its objects from when a site asks for that: clusters may not serve them. It reads them in a thread of its
    own, and calls `found` with the nodes that have something else now.
    """

    def __init__(self, api: Api, *resources: Resource, found: Callable[[Iterable[str]], None]) -> None:
        self._informers = {each: Informer(api, each, on_event=self._on_event) for each in resources}
        self._found = found
        self._news = threading.Event()
        self._ends = False
        self._reader: threading.Thread | None = None
        self.is_read = threading.Event()
        """Its objects are, once, or the site does not ask for them."""

    def on_site(self, site: SiteConfig) -> None:
        """Returns at once: it may be called with the site's lock, which events of nodes take."""
        is_wanted = self._is_wanted(site)
        if is_wanted and self._reader is None and not self._ends:
            self._reader = threading.Thread(target=self._run, name=type(self).__name__.lower(), daemon=True)
            self._reader.start()
        if not is_wanted:
            self.is_read.set()
        self.look()

    def look(self) -> None:
        """Something has changed that it depends on."""
        self._news.set()

    def stop(self) -> None:
        self._ends = True
        self._news.set()
        if self._reader is not None:
            for informer in self._informers.values():
                informer.stop()
            self._reader.join(timeout=10)

    @property
    def dead(self) -> list[str]:
        """Names of threads that have ended unexpectedly."""
        if self._reader is None or self._ends:
            return []
        dead = [] if self._reader.is_alive() else [self._reader.name]
        return dead + [informer.name for informer in self._informers.values() if informer.has_died]

    def _on_event(self, event: WatchEvent) -> None:
        if self._is_news(event):
            self.look()

    def _run(self) -> None:
        for informer in self._informers.values():
            informer.start()
        for informer in self._informers.values():
            while not informer.synced.wait(_LOOK_S) and not self._ends:
                pass  # the cluster does not serve them yet
        while not self._ends:
            if names := self._read():
                self._found(names)
            self.is_read.set()
            self._news.wait()
            time.sleep(_TOGETHER_S)
            self._news.clear()

    @abstractmethod
    def _is_wanted(self, site: SiteConfig) -> bool: ...

    def _is_news(self, event: WatchEvent) -> bool:  # noqa: ARG002
        return True

    @abstractmethod
    def _read(self) -> set[str]:
        """Read all anew, and return the names of the nodes that this changes."""


class Devices(NodeSource):
    """Those of the site's accelerators, less those that others than jobs have claimed."""

    def __init__(self, api: Api, found: Callable[[Iterable[str]], None]) -> None:
        super().__init__(api, DEVICE_CLASSES, RESOURCE_SLICES, RESOURCE_CLAIMS, found=found)
        self._kinds: tuple[Accelerator, ...] = ()
        self._tests: Tests = {}
        self._problems: tuple[str, ...] = ()
        self._slices: dict[Key, tuple[Object, Published]] = {}
        self._amounts: dict[str, dict[str, int]] = {}

    def of(self, node: str) -> Mapping[str, int]:
        return self._amounts.get(node, {})

    def _is_wanted(self, site: SiteConfig) -> bool:
        self._kinds = tuple(kind for kind in site.accelerators if kind.device_class)
        return bool(self._kinds)

    def _is_news(self, event: WatchEvent) -> bool:
        return event.object.get("kind") != RESOURCE_CLAIMS.kind or not is_of_a_job(event.object)

    def _read(self) -> set[str]:
        classes = {obj["metadata"]["name"]: obj for obj in self._informers[DEVICE_CLASSES].items()}
        tests, problems = demands_of(self._kinds, classes)
        for problem in problems:
            if problem not in self._problems:
                _LOG.warning("%s", problem)
        self._problems = problems
        before, self._slices = {} if tests != self._tests else self._slices, {}
        self._tests = tests
        for obj in self._informers[RESOURCE_SLICES].items():
            known = before.get(object_key(obj))
            is_known = known is not None and known[0] is obj
            self._slices[object_key(obj)] = known if known is not None and is_known else (obj, published(obj, tests))
        taken: set[DeviceId] = set()
        for claim in self._informers[RESOURCE_CLAIMS].items():
            if not is_of_a_job(claim):
                taken |= given_to(claim)
        was, self._amounts = self._amounts, counted((read for _, read in self._slices.values()), taken)
        return _changed(was, self._amounts)


class HyperNodes(NodeSource):
    """Those of the tiers that the site's topology names in place of labels. `nodes`: their labels by their names."""

    def __init__(
        self, api: Api, nodes: Callable[[], dict[str, Mapping[str, str]]], found: Callable[[Iterable[str]], None]
    ) -> None:
        super().__init__(api, HYPERNODES, found=found)
        self._nodes = nodes
        self._tiers: frozenset[int] = frozenset()
        self._labels: dict[str, dict[str, str]] = {}

    def of(self, node: str) -> Mapping[str, str]:
        return self._labels.get(node, {})

    def _is_wanted(self, site: SiteConfig) -> bool:
        self._tiers = tiers_of(level.label for level in site.topology)
        return bool(self._tiers)

    def _read(self) -> set[str]:
        was, hypernodes = self._labels, self._informers[HYPERNODES].items()
        self._labels = labels_of_tiers(hypernodes, self._nodes(), self._tiers)
        return _changed(was, self._labels)


def _changed(before: Mapping[str, T], after: Mapping[str, T]) -> set[str]:
    return {name for name in {*before, *after} if before.get(name) != after.get(name)}
