"""Volcano's own PodGroups."""

from __future__ import annotations

from collections.abc import Collection

from hpcbatch.volcano.gangs.port import Object, PriorityOf
from hpcbatch.volcano.job_objects import build_pod_group, pod_group_name, pod_group_spec


class VolcanoGang:
    group_api = "scheduling.volcano.sh/v1beta1"
    admits_group = True
    may_overlook = False

    def group_name(self, job: Object) -> str:
        return pod_group_name(job)

    def group(self, job: Object, waiting_tasks: Collection[str], priority_of: PriorityOf) -> Object:
        return build_pod_group(job, pod_group_spec(job, waiting_tasks, priority_of))

    def pod(self, pod: Object, job: Object) -> Object:  # noqa: ARG002
        return pod
