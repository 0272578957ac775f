"""No gangs: the default scheduler looks at each pod alone, so each is made for the node on which it was planned."""

from __future__ import annotations

from collections.abc import Collection

from hpcbatch.volcano.gangs.planned_nodes import on_planned_node
from hpcbatch.volcano.gangs.port import Object, PriorityOf
from hpcbatch.volcano.job_objects import GROUP_ANNOTATION


class NoGang:
    group_api = ""
    admits_group = False
    may_overlook = False

    def group_name(self, job: Object) -> str:  # noqa: ARG002
        return ""

    def group(self, job: Object, waiting_tasks: Collection[str], priority_of: PriorityOf) -> Object:
        raise NotImplementedError("the default scheduler has no PodGroups")

    def pod(self, pod: Object, job: Object) -> Object:
        pod["metadata"]["annotations"].pop(GROUP_ANNOTATION, None)
        return on_planned_node(pod, job)
