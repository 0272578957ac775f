"""The plugin Coscheduling of scheduler-plugins: PodGroups of scheduling.x-k8s.io, and the labels of its older releases,
which schedulers that come from it (ACK's) know, too.
"""

from __future__ import annotations

from collections.abc import Collection

from hpcbatch.typed import Final
from hpcbatch.volcano.gangs.facts import gang_name, labelled, least, pod_group
from hpcbatch.volcano.gangs.port import Object, PriorityOf
from hpcbatch.volcano.job_objects import GROUP_ANNOTATION

POD_GROUP: Final = "scheduling.x-k8s.io/pod-group"
LIGHT_NAME: Final = "pod-group.scheduling.sigs.k8s.io/name"
LIGHT_MIN_AVAILABLE: Final = "pod-group.scheduling.sigs.k8s.io/min-available"
_LIGHT_MATCH: Final = {"pod-group.scheduling.sigs.k8s.io/match-policy": "waiting-and-running"}
"""ACK's, on pods and PodGroup: a pod that is made again may start beside those that run. Others pass over it."""


class Coscheduling:
    group_api = "scheduling.x-k8s.io/v1alpha1"
    admits_group = False
    may_overlook = False

    def group_name(self, job: Object) -> str:
        return gang_name(job)

    def group(self, job: Object, waiting_tasks: Collection[str], priority_of: PriorityOf) -> Object:  # noqa: ARG002
        """Its minMember is that of the whole job: the plugin refuses pods as long as there are fewer."""
        labels = {**(job["metadata"].get("labels") or {}), **_LIGHT_MATCH}
        return pod_group(job, self.group_api, labels=labels)

    def pod(self, pod: Object, job: Object) -> Object:
        pod["metadata"]["annotations"].pop(GROUP_ANNOTATION, None)
        name = gang_name(job)
        light = {LIGHT_NAME: name, LIGHT_MIN_AVAILABLE: str(least(job)), **_LIGHT_MATCH}
        return labelled(pod, {POD_GROUP: name, **light}, {})
