"""The nodes, with the devices that DRA drivers publish for them where the site's accelerators are such devices."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping

from hpcbatch.api.informer import Informer, Key, object_key
from hpcbatch.api.port import Api, Object, WatchEvent
from hpcbatch.api.resources import DEVICE_CLASSES, NODES, RESOURCE_CLAIMS, RESOURCE_SLICES
from hpcbatch.model.accelerator import Accelerator
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
    with_devices,
)

_LOG = logging.getLogger(__name__)
_LOOK_S = 1.0
_TOGETHER_S = 0.1
"""A driver that comes publishes some slices one after the other."""


class DeviceNodes(Informer):
    """An informer of nodes whose `allocatable` has their devices too, less those that others than jobs have claimed. It
    watches slices, classes and claims from when a site asks for that: clusters without DRA do not serve them.
    """

    def __init__(self, api: Api, *, on_event: Callable[[WatchEvent], None]) -> None:
        super().__init__(api, NODES, on_event=on_event)
        self._others = {
            resource: Informer(api, resource, on_event=self._on_device)
            for resource in (DEVICE_CLASSES, RESOURCE_SLICES, RESOURCE_CLAIMS)
        }
        self._turn = threading.Lock()  # events of nodes come from two threads, and stay in order
        self._plain: dict[str, Object] = {}
        self._amounts: dict[str, dict[str, int]] = {}
        self._kinds: tuple[Accelerator, ...] = ()
        self._tests: Tests = {}
        self._problems: tuple[str, ...] = ()
        self._read: dict[Key, tuple[Object, Published]] = {}
        self._news = threading.Event()
        self.are_counted = threading.Event()
        """The devices are, once, if the site has such accelerators."""
        self._ends = False
        self._counter: threading.Thread | None = None

    def on_site(self, site: SiteConfig) -> None:
        """Returns at once: it may be called with the site's lock, which events of nodes take."""
        self._kinds = tuple(kind for kind in site.accelerators if kind.device_class)
        if self._kinds and self._counter is None and not self._ends:
            self._counter = threading.Thread(target=self._count, name="devices", daemon=True)
            self._counter.start()
        if not self._kinds:
            self.are_counted.set()
        self._news.set()

    def stop(self) -> None:
        self._ends = True
        self._news.set()
        if self._counter is not None:
            for informer in self._others.values():
                informer.stop()
            self._counter.join(timeout=10)
        super().stop()

    @property
    def dead(self) -> list[str]:
        """Names of threads that have ended unexpectedly."""
        if self._counter is None or self._ends:
            return []
        found = [] if self._counter.is_alive() else [self._counter.name]
        return found + [informer.name for informer in self._others.values() if informer.has_died]

    def _apply(self, event: WatchEvent) -> None:
        name = event.object["metadata"]["name"]
        with self._turn:
            if event.type == "DELETED":
                self._plain.pop(name, None)
            else:
                self._plain[name] = event.object
            super()._apply(WatchEvent(event.type, with_devices(event.object, self._amounts.get(name, {}))))

    def _on_device(self, event: WatchEvent) -> None:
        if event.object.get("kind") != RESOURCE_CLAIMS.kind or not is_of_a_job(event.object):
            self._news.set()

    def _count(self) -> None:
        for informer in self._others.values():
            informer.start()
        for informer in self._others.values():
            while not informer.synced.wait(_LOOK_S) and not self._ends:
                pass  # the cluster does not serve them yet
        while not self._ends:
            self._take(self._counted())
            self.are_counted.set()
            self._news.wait()
            time.sleep(_TOGETHER_S)
            self._news.clear()

    def _counted(self) -> dict[str, dict[str, int]]:
        classes = {obj["metadata"]["name"]: obj for obj in self._others[DEVICE_CLASSES].items()}
        tests, problems = demands_of(self._kinds, classes)
        if tests != self._tests:
            self._tests = tests
            self._read.clear()
        for problem in problems:
            if problem not in self._problems:
                _LOG.warning("%s", problem)
        self._problems = problems
        before, self._read = self._read, {}
        for obj in self._others[RESOURCE_SLICES].items():
            key = object_key(obj)
            known = before.get(key)
            is_known = known is not None and known[0] is obj
            self._read[key] = known if known is not None and is_known else (obj, published(obj, tests))
        taken: set[DeviceId] = set()
        for claim in self._others[RESOURCE_CLAIMS].items():
            if not is_of_a_job(claim):
                taken |= given_to(claim)
        return counted((read for _, read in self._read.values()), taken)

    def _take(self, amounts: Mapping[str, dict[str, int]]) -> None:
        with self._turn:
            names = {name for name in {*amounts, *self._amounts} if amounts.get(name) != self._amounts.get(name)}
            self._amounts = dict(amounts)
            for name in sorted(names & self._plain.keys()):
                super()._apply(WatchEvent("MODIFIED", with_devices(self._plain[name], amounts.get(name, {}))))
