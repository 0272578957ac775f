"""Which jobs this controller has, where a site has divided its queues among several controllers.

A job belongs to its queue's shard; one that has not been admitted yet to that of the first queue that it asks for. The
others' jobs are seen, because they take room, and jobs may wait for them, but nothing of them is ever written.
"""

from __future__ import annotations

from hpcbatch.api.informer import Informer
from hpcbatch.api.port import Object
from hpcbatch.controller.site_source import SiteSource
from hpcbatch.errors import RefusedError
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.site import QueueConfig, SiteConfig
from hpcbatch.model.spec import JobSpec


class Shard:
    """`name` None: it has the jobs of all queues; "": of those that belong to no shard."""

    def __init__(self, name: str | None, batchjobs: Informer, sites: SiteSource) -> None:
        self.name, self._batchjobs, self._sites = name, batchjobs, sites

    def has(self, obj: Object) -> bool:
        """Whether a BatchJob is this controller's. Before a site is in force: it may be."""
        return self.name is None or not self._sites.is_in_force.is_set() or self._shard_of(obj) == self.name

    def _shard_of(self, obj: Object) -> str:
        site = self._sites.in_force.config
        status = obj.get("status") or {}
        if queue := status.get("queue"):
            return _shard_of_queue(str(queue), site)
        spec = obj.get("spec") or {}
        array = (spec.get("memberOf") or {}).get("arrayName", "")
        if array and (found := self._batchjobs.get(obj["metadata"]["namespace"], array)) is not None:
            return self._shard_of(found)
        return site.shard_called(str(spec.get("queue") or ""))

    @property
    def is_main(self) -> bool:
        """Whether this controller does what only one may: licences, reservations, sweeping."""
        return not self.name

    def check(self, queue: QueueConfig, spec: JobSpec) -> None:
        """Raises RefusedError if a job of this controller cannot go to the queue, or cannot be counted there."""
        if self.name is not None and queue.shard != self.name:
            text = (
                f"queue {queue.name} is {_named(queue.shard)}, which another controller has: submit the job anew there"
            )
            raise RefusedError(RefusalCode.IGNORED, text)
        if spec.licenses and not self.is_main:
            text = f"queue {queue.name} is {_named(queue.shard)}: licences are given only in queues that are in none"
            raise RefusedError(RefusalCode.IGNORED, text)


def _shard_of_queue(name: str, site: SiteConfig) -> str:
    queue = site.queue(name)
    return "" if queue is None else queue.shard


def _named(shard: str) -> str:
    return f"in shard {shard}" if shard else "in no shard"
