"""What operators say of nodes: jobs may ask for their features, and a node that is down has lost its jobs."""

from __future__ import annotations

from collections.abc import Callable

from hpcbatch.api.informer import Informer
from hpcbatch.api.port import Object, WatchEvent
from hpcbatch.controller.site_source import SiteSource
from hpcbatch.model.node_features import ACTIVE, features_of
from hpcbatch.model.node_marks import is_set_down


class NodeMarks:
    """`look` is called with each pod on a node that has been set down."""

    def __init__(self, sites: SiteSource, pods: Informer, look: Callable[[Object], None]) -> None:
        self._sites, self._pods, self._look = sites, pods, look
        self._features: dict[str, tuple[str, ...]] = {}  # by node

    def on_event(self, event: WatchEvent) -> None:
        is_gone = event.type == "DELETED"
        labels = {} if is_gone else event.object["metadata"].get("labels") or {}
        name, active = event.object["metadata"]["name"], features_of(labels.items(), ACTIVE)
        if self._features.get(name, ()) != active:
            self._features[name] = active
            self._sites.set_features(frozenset(one for found in self._features.values() for one in found))
        if is_gone or not is_set_down(event.object):
            return
        for pod in self._pods.items():
            if pod["spec"].get("nodeName") == name:
                self._look(pod)
