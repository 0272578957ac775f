"""The nodes, with what other objects say of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping

from hpcbatch.api.informer import Informer
from hpcbatch.api.port import Api, Object, WatchEvent
from hpcbatch.api.resources import NODES
from hpcbatch.controller.node_sources import Devices, HyperNodes
from hpcbatch.model.site import SiteConfig
from hpcbatch.policy.devices import with_devices


class NodeCache(Informer):
    """An informer of nodes whose `allocatable` has their devices like extended resources, and whose labels say their
    HyperNodes, where the site asks for these.
    """

    def __init__(self, api: Api, *, on_event: Callable[[WatchEvent], None]) -> None:
        super().__init__(api, NODES, on_event=on_event)
        self._turn = threading.Lock()  # events of nodes come from several threads, and stay in order
        self._plain: dict[str, Object] = {}
        self._devices = Devices(api, self._refresh)
        self._hypernodes = HyperNodes(api, self._plain_labels, self._refresh)

    def on_site(self, site: SiteConfig) -> None:
        self._devices.on_site(site)
        self._hypernodes.on_site(site)

    def wait_for_more(self, limit_s: float) -> None:
        """Until the nodes have all that the site asks for."""
        for source in (self._devices, self._hypernodes):
            source.is_read.wait(limit_s)

    def stop(self) -> None:
        self._devices.stop()
        self._hypernodes.stop()
        super().stop()

    @property
    def dead(self) -> list[str]:
        """Names of threads that have ended unexpectedly."""
        return [*self._devices.dead, *self._hypernodes.dead]

    def _apply(self, event: WatchEvent) -> None:
        name = event.object["metadata"]["name"]
        with self._turn:
            before = self._plain.pop(name, None)
            if event.type != "DELETED":
                self._plain[name] = event.object
            super()._apply(WatchEvent(event.type, self._whole(name, event.object)))
        if before is None or _labels(before) != _labels(event.object) or event.type == "DELETED":
            self._hypernodes.look()

    def _refresh(self, names: Iterable[str]) -> None:
        with self._turn:
            for name in sorted(names):
                if (plain := self._plain.get(name)) is not None:
                    super()._apply(WatchEvent("MODIFIED", self._whole(name, plain)))

    def _plain_labels(self) -> dict[str, Mapping[str, str]]:
        with self._turn:
            return {name: _labels(node) for name, node in self._plain.items()}

    def _whole(self, name: str, plain: Object) -> Object:
        node = with_devices(plain, self._devices.of(name))
        if not (more := self._hypernodes.of(name)):
            return node
        return {**node, "metadata": {**node["metadata"], "labels": {**_labels(node), **more}}}


def _labels(node: Object) -> Mapping[str, str]:
    return node["metadata"].get("labels") or {}
