"""The shapes of jobs, each made once: of ten thousand waiting jobs most look like others."""

from __future__ import annotations

from typing import Final

from hpcbatch.model.record import JobRecord
from hpcbatch.model.site import QueueConfig, SiteConfig
from hpcbatch.policy.plan.snapshot import Shape
from hpcbatch.policy.planned import shape_of

_MOST: Final = 20_000


class Shapes:
    """Of one site's configuration; another one makes all anew."""

    def __init__(self) -> None:
        self._site: SiteConfig | None = None
        self._known: dict[object, Shape] = {}

    def of(self, record: JobRecord, queue: QueueConfig, site: SiteConfig) -> Shape:
        """Raises HpcBatchError as `shape_of`."""
        if site is not self._site or len(self._known) > _MOST:
            self._site, self._known = site, {}
        key = record.status.layout, queue.name, record.spec.is_scattered, record.spec.sharing
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = shape_of(record.status.layout, queue, site, record)
        return found
