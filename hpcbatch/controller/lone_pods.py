"""Interactive jobs of one pod: somebody waits for their prompt, so their pods need not wait for Volcano's next look.

Where the plan has released such a job, Kubernetes' own scheduler places its pod, on the node that the plan has chosen,
within some milliseconds of its making. Volcano makes the job, its PodGroup and its pod as ever, and counts the pod as
soon as it has its node.

Two schedulers may give the same room away at the same moment. So this is done only while no other released job waits
for nodes from Volcano; and a pod that its node refuses makes its job wait again (policy/run_over.py). Where there is no
room Kubernetes' own scheduler would end pods of less priority to make some: those of jobs with a priority below 0, for
a pod without a PriorityClass, since those that hpcbatch makes forbid it. So such a pod is not given such a node.
"""

from __future__ import annotations

from collections.abc import Iterable

from hpcbatch.api.informer import Informer
from hpcbatch.api.port import Object
from hpcbatch.controller.released import Released
from hpcbatch.model.record import JobRecord
from hpcbatch.model.scheduler import Scheduler
from hpcbatch.model.site import SiteConfig
from hpcbatch.policy.lone_pod import has_room, is_plain, is_plain_node


class LonePods:
    def __init__(self, queues: Informer, nodes: Informer) -> None:
        self._queues, self._nodes = queues, nodes

    def scheduler_of(
        self, volcano_job: Object, released: Released, record: JobRecord, site: SiteConfig, others: Iterable[Released]
    ) -> str:
        """The scheduler that is to place the job's only pod; "": Volcano's own. `others`: all released jobs."""
        name = site.interactive_scheduler
        if record.spec.interactive is None or site.scheduler is not Scheduler.VOLCANO or name == site.scheduler_name:
            return ""
        if len(released.places) != 1 or not is_plain(volcano_job):
            return ""
        node = self._nodes.get(None, released.places[0].node)
        if node is None or not is_plain_node(node["metadata"].get("labels") or {}):
            return ""
        if any(one.waits and not (one.is_stalled or one.is_lone) for one in others if one is not released):
            return ""
        if not volcano_job["spec"].get("priorityClassName") and any(
            one.record.spec.weight < 0 and released.places[0].node in one.nodes for one in others
        ):
            return ""
        queues = {queue["metadata"]["name"]: queue for queue in self._queues.items()}
        return name if has_room(volcano_job, queues) else ""
