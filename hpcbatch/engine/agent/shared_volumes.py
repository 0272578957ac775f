"""Volumes that pods have in common: what an immutable ConfigMap holds the pod host keeps once, read-only for every pod.

The runner is one: some sixty files, which would else be sent, written and removed for each pod.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from hpcbatch.api.port import Object
from hpcbatch.engine.agent.volumes import Volume

_MOST: Final = 8
"""What comes later is written for each pod: nothing here is ever removed as long as the pod host lives."""


class SharedVolumes:
    """Of one pod host, which keeps them in `directory` and hears of each by `send`, once. Without a `directory` none is
    shared: where there are no mounts a pod could write to it.
    """

    def __init__(self, directory: str, send: Callable[[dict[str, Any]], None]) -> None:
        self._directory, self._send = directory, send
        self._known: set[str] = set()

    def find(self, gid: int | None, volume: Mapping[str, Any], source: Object, make: Callable[[], Volume]) -> Volume:
        """The volume whose only source is this ConfigMap, and of which `make` would be this pod's own copy. `gid`: its
        fsGroup.
        """
        if not self._directory or source.get("immutable") is not True:
            return make()
        how = {kind: value for kind, value in volume.items() if kind != "name"}
        text = json.dumps([how, gid], sort_keys=True)
        key = f"{source['metadata']['uid']}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        if key not in self._known:
            if len(self._known) >= _MOST:
                return make()
            files = list(make().files or ())
            self._known.add(key)
            self._send({"op": "share", "pod": "", "key": key, "files": files, "gid": gid})
        return Volume(volume["name"], f"{self._directory}/{key}", read_only=True)

    def forget(self, key: str) -> None:
        """It could not be written: the next pod's is sent again."""
        self._known.discard(key)
