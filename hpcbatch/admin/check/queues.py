"""Volcano's queues: the default one, and those behind the site's queues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hpcbatch.admin.check.cluster import Cluster
from hpcbatch.admin.check.finding import Finding, Reporter
from hpcbatch.api.port import Object
from hpcbatch.api.resources import QUEUES

_SAY = Reporter("queues")
DEFAULT = "default"
_APPLY = "kubectl apply -f deploy/without-volcano/default-queue.yaml"


def queues(cluster: Cluster) -> Iterable[Finding]:
    config = cluster.site.config
    wanted = {queue.volcano_queue: f"queue {queue.name} of the site" for queue in config.queues}
    if not config.queues:
        wanted[config.default_queue] = "the site's default queue"
    found = {queue["metadata"]["name"]: queue for queue in cluster.api.list(QUEUES).items}
    has_volcano = cluster.scheduler.makes_pods
    if has_volcano:
        wanted = {DEFAULT: "jobs of Volcano that name none"} | wanted
    return judge_queues(found, wanted, has_volcano=has_volcano)


def judge_queues(
    found: Mapping[str, Object], wanted: Mapping[str, str], *, has_volcano: bool = True
) -> Iterable[Finding]:
    """`wanted`: name of a Volcano Queue → what it is for. Without Volcano nobody gives a new queue its state."""
    for name, purpose in wanted.items():
        subject = f"Volcano queue {name}"
        if name not in found:
            mend = _creation(name) if has_volcano else f"{_APPLY}, with {name} as its name"
            yield _SAY.error(subject, f"not there, but needed for {purpose}", mend)
            continue
        state = state_of(found[name]) or ("" if has_volcano else "Open")
        if state == "Open":
            yield _SAY.ok(subject, "open")
        elif state:
            yield _SAY.error(
                subject,
                f"{state.lower()}: {purpose} cannot start",
                f"vcctl queue operate --name {name} --action open",
            )
        else:
            yield _SAY.error(
                subject,
                "has no state: Volcano's controllers have not looked at it",
                "see `volcano-controllers` in this report",
            )


def state_of(queue: Object) -> str:
    return str((queue.get("status") or {}).get("state") or "")


def _creation(name: str) -> str:
    if name == DEFAULT:
        return "Volcano's scheduler makes it when it starts: restart it, or `vcctl queue create --name default`"
    return f"vcctl queue create --name {name}"
