"""A suspended job that is to go on, as the plan waits for its CPUs: a job of its own, bound to the nodes that it has.

It starts when these are free again, in the order in which the job itself would start, and has a planned start whatever
the depth of the plan: nothing is started that delays it, apart from what goes before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from hpcbatch.dataclass import replace
from hpcbatch.model.record import JobRecord
from hpcbatch.model.site import SiteConfig
from hpcbatch.policy.plan.snapshot import JOBS, Owner, Part, Shape, WaitingJob
from hpcbatch.policy.planned import holds_nodes_s, plan_id
from hpcbatch.typed import Final

LINE: Final = "goes on"
"""The plan's name of the queue of these jobs; no queue of a site has a blank in its name."""
DEPTH: Final = 1 << 20
"""All of them get planned starts."""


def going_on_id(job_id: str) -> str:
    return f"{job_id} {LINE}"


def job_that_goes_on(
    record: JobRecord,
    order: tuple[float, ...],
    lacks_milli: Mapping[str, int],
    site: SiteConfig,
    owner: Owner,
    *,
    reservation: str,
) -> WaitingJob | None:
    """`lacks_milli`: by node, the CPU that its pods there have given up. None: none, so it waits for nothing."""
    hosts: dict[int, set[str]] = defaultdict(set)
    for node, milli in lacks_milli.items():
        if milli > 0:
            hosts[milli].add(node)
    if not hosts:
        return None
    parts = tuple(
        Part(count=len(names), needs={"cpu": milli}, hosts=frozenset(names)) for milli, names in sorted(hosts.items())
    )
    return WaitingJob(
        job_id=going_on_id(plan_id(record.job_id)),
        order=order,
        shapes=(Shape(parts=parts, is_scattered=True),),
        walltime_s=max(1.0, holds_nodes_s(record, site) - record.status.ran_before_suspension_s),
        owner=replace(owner, queue=LINE),
        uses={JOBS: 0},  # limits count it as the running job that it is
        reservation=reservation,
    )
