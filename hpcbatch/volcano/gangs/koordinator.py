"""Koordinator: PodGroups of scheduling.sigs.k8s.io, and its own annotations.

Koordinator's words: `Strict` gives back the nodes that the gang holds when one of its pods finds none;
`waiting-and-running` lets a pod that is made again start beside those that run.

Release 1.6.0 leaves whole gangs without nodes: its queue and its count of a gang's pods hear of each pod independently
of each other. If the queue is first, the last pod is refused as the others were ("gang child pod not collect enough"),
and none of them is looked at again before five minutes, or a change of a PodGroup. It writes the group itself when the
gang is whole, but its writer is a third listener, which may come too early, too. So hpcbatch's controller changes the
group (gang/reminder.py). With gangs by annotations of the pods alone nothing would make it look again.
"""

from __future__ import annotations

import json
from collections.abc import Collection

from hpcbatch.typed import Final
from hpcbatch.volcano.gangs.facts import gang_name, labelled, least, place_timeout_s, pod_group, size
from hpcbatch.volcano.gangs.port import Object, PriorityOf
from hpcbatch.volcano.job_objects import GROUP_ANNOTATION

PREFIX: Final = "gang.scheduling.koordinator.sh"
POD_GROUP: Final = "pod-group.scheduling.sigs.k8s.io"


class Koordinator:
    group_api = "scheduling.sigs.k8s.io/v1alpha1"
    admits_group = False
    may_overlook = True

    def group_name(self, job: Object) -> str:
        return gang_name(job)

    def group(self, job: Object, waiting_tasks: Collection[str], priority_of: PriorityOf) -> Object:  # noqa: ARG002
        labels = dict(job["metadata"].get("labels") or {})
        return pod_group(job, self.group_api, labels=labels, annotations=_notes(job))

    def pod(self, pod: Object, job: Object) -> Object:
        """With the annotations also, as Koordinator's other programs look for them on pods."""
        pod["metadata"]["annotations"].pop(GROUP_ANNOTATION, None)
        return labelled(pod, {POD_GROUP: gang_name(job)}, _notes(job))


def _notes(job: Object) -> dict[str, str]:
    name = gang_name(job)
    notes = {
        "name": name,
        "min-available": str(least(job)),
        "total-number": str(size(job)),
        "mode": "Strict",
        "waiting-time": f"{place_timeout_s(job)}s",
        "groups": json.dumps([f"{job['metadata']['namespace']}/{name}"]),
        "match-policy": "waiting-and-running",
    }
    return {f"{PREFIX}/{key}": value for key, value in notes.items()}
