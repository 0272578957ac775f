"""The engine's registry, which sees to it that the statuses of the engine's own are as complete as it says of them."""

from __future__ import annotations

import copy
from collections.abc import Callable

from hpcbatch.api.port import Object
from hpcbatch.engine.registry.kinds import Kind
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.writes import WriteOptions


class CheckedRegistry(Registry):
    def put_complete_status(
        self, kind: Kind, name: str, namespace: str, change: Callable[[Object], Object | None]
    ) -> Object:
        written = super().put_complete_status(kind, name, namespace, change)
        self._check(kind, written, None, "status")
        unknown: list[str] = []
        cleaned = self._clean(kind, copy.deepcopy(written), unknown, WriteOptions())
        assert (cleaned["status"], unknown) == (written["status"], [])
        return written
