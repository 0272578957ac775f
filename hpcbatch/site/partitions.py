"""Queues that operators have made or changed, over those of the site's file."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.dataclass import replace
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.queue_fields import DEFAULT, VOLCANO_QUEUE, changed, read_change
from hpcbatch.model.site import QueueConfig, SiteConfig
from hpcbatch.typed import NamedTuple


class Merged(NamedTuple):
    site: SiteConfig
    problems: tuple[str, ...]
    """Of entries that cannot be read: these change nothing."""


def with_partitions(site: SiteConfig, entries: Mapping[str, str]) -> Merged:
    """`site` with the `entries` of operators, JSON by queue. An entry for a queue that the site no longer has changes
    nothing, unless operators made the queue. The default queue is the last that they have made so.
    """
    known = {queue.name: queue for queue in site.queues}
    default, problems = site.default_queue, []
    for name, text in sorted(entries.items()):
        try:
            body = read_change(text)
            base = _base(name, body.get(VOLCANO_QUEUE, ""), site, known)
            if base is None:
                continue
            known[name] = changed(base, body)
        except HpcBatchError as error:
            problems.append(f"{name}: {error}")
            continue
        if body.get(DEFAULT):
            default = name
    queues = tuple(replace(queue, is_default=queue.name == default) for queue in known.values())
    if site.queues:
        return Merged(replace(site, queues=queues, default_queue=default), tuple(problems))
    return Merged(replace(site, operator_queues=queues, default_queue=default), tuple(problems))


def _base(name: str, volcano_queue: str, site: SiteConfig, known: Mapping[str, QueueConfig]) -> QueueConfig | None:
    if name in known:
        return known[name]
    if volcano_queue:
        return QueueConfig(name=name, volcano_queue=volcano_queue)
    return None if site.queues else site.queue(name)
