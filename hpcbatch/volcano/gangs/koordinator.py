"""Koordinator: a gang is told by annotations of its pods alone.

Koordinator's words: `Strict` gives back the nodes that the gang holds when one of its pods finds none;
`waiting-and-running` lets a pod that is made again start beside those that run.
"""

from __future__ import annotations

import json
from collections.abc import Collection

from hpcbatch.typed import Final
from hpcbatch.volcano.gangs.facts import gang_name, labelled, least, place_timeout_s, size
from hpcbatch.volcano.gangs.port import Object, PriorityOf
from hpcbatch.volcano.job_objects import GROUP_ANNOTATION

PREFIX: Final = "gang.scheduling.koordinator.sh"


class Koordinator:
    group_api = ""
    admits_group = False

    def group_name(self, job: Object) -> str:  # noqa: ARG002
        return ""

    def group(self, job: Object, waiting_tasks: Collection[str], priority_of: PriorityOf) -> Object:
        raise NotImplementedError("Koordinator makes its PodGroups by itself")

    def pod(self, pod: Object, job: Object) -> Object:
        pod["metadata"]["annotations"].pop(GROUP_ANNOTATION, None)
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
        return labelled(pod, {}, {f"{PREFIX}/{key}": value for key, value in notes.items()})
