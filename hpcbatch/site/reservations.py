"""The reservations in force as the site's configuration has them: their names, and a queue for each of PBS's."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from hpcbatch.dataclass import replace
from hpcbatch.model.reservation import Reserved
from hpcbatch.model.site import QueueConfig, SiteConfig


def with_reservations(site: SiteConfig, reserved: Mapping[str, Reserved], now: datetime) -> SiteConfig:
    """`site` with all of them. A queue of the site's own goes before a reservation's of the same name."""
    if not reserved:
        return site
    default = site.queue(site.default_queue)
    taken = {queue.name for queue in (*site.queues, *site.operator_queues)}
    made = [
        _queue(each, default, is_on=each.is_on(now))
        for name, each in sorted(reserved.items())
        if each.is_queue and name not in taken and default is not None
    ]
    if site.queues:
        return replace(site, reservations=dict(reserved), queues=(*site.queues, *made))
    return replace(site, reservations=dict(reserved), operator_queues=(*site.operator_queues, *made))


def without_reservations(site: SiteConfig) -> SiteConfig:
    """The reverse."""
    own, made = (tuple(q for q in queues if not q.reservation) for queues in (site.queues, site.operator_queues))
    return replace(site, reservations={}, queues=own, operator_queues=made)


def _queue(reserved: Reserved, default: QueueConfig, *, is_on: bool) -> QueueConfig:
    """On the default queue's Volcano Queue, with its images, and without its limits and nodes."""
    return QueueConfig(
        name=reserved.id,
        volcano_queue=default.volcano_queue,
        image=default.image,
        allowed_images=default.allowed_images,
        default_mem_per_node_bytes=default.default_mem_per_node_bytes,
        is_hidden=True,
        reservation=reserved.id,
        is_on=is_on,
    )
