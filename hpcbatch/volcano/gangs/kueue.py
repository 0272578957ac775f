"""Kueue: pods of one group wait behind a gate until its quota lets all of them in. Then the default scheduler binds
them, one by one, so each is made for the node on which it was planned.
"""

from __future__ import annotations

from collections.abc import Collection

from hpcbatch.errors import HpcBatchError
from hpcbatch.typed import Final
from hpcbatch.volcano.gangs.facts import gang_name, labelled, size
from hpcbatch.volcano.gangs.planned_nodes import on_planned_node
from hpcbatch.volcano.gangs.port import Object, PriorityOf
from hpcbatch.volcano.job_objects import GROUP_ANNOTATION, TASK_SPEC

QUEUE_NAME: Final = "kueue.x-k8s.io/queue-name"
GROUP_NAME: Final = "kueue.x-k8s.io/pod-group-name"
TOTAL_COUNT: Final = "kueue.x-k8s.io/pod-group-total-count"
RETRIABLE: Final = "kueue.x-k8s.io/retriable-in-group"
"""`false`: the group is over when no pod of it runs any more. Else Kueue keeps its deleted pods until others have come
in their place or all have succeeded, which workers never do.
"""
ROLE: Final = "kueue.x-k8s.io/role-hash"
"""What the group counts as one kind of pods: those of a task. Left to itself Kueue makes one of each planned node, and
takes no group of more than _MOST_ROLES.
"""
_MOST_ROLES: Final = 8


def workload_name(job: Object) -> str:
    """Of the group, and of the Workload that Kueue makes of it. The pods of a job that is started anew are another."""
    again = (job.get("status") or {}).get("retryCount")
    return f"{gang_name(job)}-{again}" if again else gang_name(job)


def check_roles(job: Object) -> None:
    """HpcBatchError: Kueue would make no Workload of its pods, and say so nowhere but in an Event."""
    if (roles := len(job["spec"]["tasks"])) > _MOST_ROLES:
        raise HpcBatchError(
            f"Kueue takes no group of more than {_MOST_ROLES} kinds of pods; by its chunks the job has {roles}"
        )


class Kueue:
    group_api = ""
    admits_group = False
    may_overlook = False

    def group_name(self, job: Object) -> str:  # noqa: ARG002
        return ""

    def group(self, job: Object, waiting_tasks: Collection[str], priority_of: PriorityOf) -> Object:
        raise NotImplementedError("Kueue makes its Workloads by itself")

    def pod(self, pod: Object, job: Object) -> Object:
        """In the LocalQueue with the name of the job's Volcano Queue."""
        pod["metadata"]["annotations"].pop(GROUP_ANNOTATION, None)
        labels = {QUEUE_NAME: job["spec"]["queue"], GROUP_NAME: workload_name(job)}
        notes = {TOTAL_COUNT: str(size(job)), RETRIABLE: "false", ROLE: pod["metadata"]["annotations"][TASK_SPEC]}
        return on_planned_node(labelled(pod, labels, notes), job)
