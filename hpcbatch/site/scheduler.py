"""The part of the site file that says which scheduler gives the pods of jobs their nodes."""

from __future__ import annotations

from collections.abc import Callable

import yaml

from hpcbatch.model.scheduler import Scheduler
from hpcbatch.model.site import Policy, SiteConfig
from hpcbatch.site.labels import SUBDOMAIN
from hpcbatch.site.yaml_fields import Fields, UnfitError, text
from hpcbatch.typed import Any


def read_scheduler(
    fields: Fields, defaults: SiteConfig, policy: Policy, duration: Callable[[yaml.Node], int]
) -> dict[str, Any]:
    """Attributes of a SiteConfig."""

    def scheduler(node: yaml.Node) -> Scheduler:
        value = text(node)
        *others, last = Scheduler
        if value not in set(Scheduler):
            raise UnfitError(f"expected {', '.join(others)} or {last}, found {value!r}")
        found = Scheduler(value)
        if found.binds_one_by_one and policy is Policy.VOLCANO:
            raise UnfitError(f"{value} needs policy: backfill, without autoscaling: only the plan keeps a job together")
        return found

    return {
        "scheduler": fields.take("scheduler", scheduler, defaults.scheduler),
        "own_scheduler_name": fields.take("schedulerName", _scheduler_name, defaults.own_scheduler_name),
        "interactive_scheduler": fields.take("interactiveScheduler", _scheduler_name, defaults.interactive_scheduler),
        "place_timeout_s": fields.take("placeTimeout", duration, defaults.place_timeout_s),
    }


def _scheduler_name(node: yaml.Node) -> str:
    value = text(node)
    if not SUBDOMAIN.fullmatch(value) or len(value) > 63:
        raise UnfitError(f"expected the schedulerName of pods, a name in lower case, found {value!r}")
    return value
