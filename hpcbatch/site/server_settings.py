"""What qmgr has set of the server and the scheduler, over the site's file."""

from __future__ import annotations

from dataclasses import replace

from hpcbatch.model.server_settings import ServerSettings
from hpcbatch.model.site import SiteConfig


def with_settings(site: SiteConfig, settings: ServerSettings) -> SiteConfig:
    priority = site.priority
    if settings.formula is not None:
        priority = replace(priority, formula=settings.formula)
    if settings.counts_eligible is not None:
        priority = replace(priority, counts_eligible=settings.counts_eligible)
    depth = site.backfill_depth if settings.backfill_depth is None else settings.backfill_depth
    preemption = settings.over(site.preemption)
    is_as_before = priority is site.priority and depth == site.backfill_depth and preemption == site.preemption
    return site if is_as_before else replace(site, priority=priority, backfill_depth=depth, preemption=preemption)
