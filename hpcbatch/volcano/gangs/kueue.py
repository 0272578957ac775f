"""Kueue: pods of one group wait behind a gate until its quota lets all of them in. Then the default scheduler binds
them, one by one, so each is made for the node on which it was planned.
"""

from __future__ import annotations

from collections.abc import Collection

from hpcbatch.typed import Final
from hpcbatch.volcano.gangs.facts import gang_name, labelled, size
from hpcbatch.volcano.gangs.planned_nodes import on_planned_node
from hpcbatch.volcano.gangs.port import Object, PriorityOf
from hpcbatch.volcano.job_objects import GROUP_ANNOTATION

QUEUE_NAME: Final = "kueue.x-k8s.io/queue-name"
GROUP_NAME: Final = "kueue.x-k8s.io/pod-group-name"
TOTAL_COUNT: Final = "kueue.x-k8s.io/pod-group-total-count"
RETRIABLE: Final = "kueue.x-k8s.io/retriable-in-group"
"""`false`: the group is over when no pod of it runs any more. Else Kueue keeps its deleted pods until others have come
in their place or all have succeeded, which workers never do.
"""


def workload_name(job: Object) -> str:
    """Of the group, and of the Workload that Kueue makes of it. The pods of a job that is started anew are another."""
    again = (job.get("status") or {}).get("retryCount")
    return f"{gang_name(job)}-{again}" if again else gang_name(job)


class Kueue:
    group_api = ""
    admits_group = False

    def group_name(self, job: Object) -> str:  # noqa: ARG002
        return ""

    def group(self, job: Object, waiting_tasks: Collection[str], priority_of: PriorityOf) -> Object:
        raise NotImplementedError("Kueue makes its Workloads by itself")

    def pod(self, pod: Object, job: Object) -> Object:
        """In the LocalQueue with the name of the job's Volcano Queue."""
        pod["metadata"]["annotations"].pop(GROUP_ANNOTATION, None)
        labels = {QUEUE_NAME: job["spec"]["queue"], GROUP_NAME: workload_name(job)}
        return on_planned_node(labelled(pod, labels, {TOTAL_COUNT: str(size(job)), RETRIABLE: "false"}), job)
