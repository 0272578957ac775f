"""The names of a job's objects in Kubernetes, known before they exist: Volcano Job, tasks, pods, ConfigMap."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from hpcbatch.dataclass import dataclass, replace
from hpcbatch.model.chunk import Chunk, of_each_pod
from hpcbatch.model.placed import PlacedJob, PlacedPod
from hpcbatch.model.site import Launcher
from hpcbatch.volcano.pod_needs import MASTER_TASK

Object = dict[str, Any]

LAUNCHER_LABEL = "hpcbatch.io/launcher"
"""Annotation of a Volcano Job: the Launcher it was made for, if that is not the default."""
_WORKER = "mpiworker"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPods:
    """The pods of one Volcano task, which are equal."""

    name: str
    chunk: Chunk | None
    """None: a dedicated launcher, which computes nothing."""
    replicas: int

    @property
    def role(self) -> str:
        return "master" if self.name == MASTER_TASK else "worker"


def job_name(job_id: int) -> str:
    """Name of a job's Volcano Job, and the prefix of all names that belong to it."""
    return f"job-{job_id}"


def priority_class_name(priority: int) -> str:
    """The PriorityClass of a job with a priority other than 0, as `priority_class` makes it; "" for 0."""
    return "" if priority == 0 else f"hpcbatch-{'minus' if priority < 0 else 'plus'}-{abs(priority)}"


def script_host(job_id: int) -> str:
    """The name of the pod that runs the script."""
    return f"{job_name(job_id)}-{MASTER_TASK}-0"


def pods(job_id: int, layout: Sequence[Chunk], launcher: Launcher = Launcher.SHARED) -> tuple[PlacedPod, ...]:
    """The names of a job's computing pods, known before they exist. The first one is `job-12-mpimaster-0`, unless a
    dedicated launcher has that name; all others are workers, with one task for each row of equal chunks:
    `job-12-mpiworker-0`, `job-12-mpiworker2-0` …
    """
    single = [replace(chunk, count=1) for chunk in of_each_pod(layout)]
    placed = []
    if launcher is Launcher.SHARED:
        placed.append(PlacedPod(host=script_host(job_id), chunk=single.pop(0)))
    for number, (chunk, same) in enumerate(groupby(single), start=1):
        task = _WORKER if number == 1 else f"{_WORKER}{number}"
        placed += [
            PlacedPod(host=f"{job_name(job_id)}-{task}-{index}", chunk=chunk) for index in range(len(list(same)))
        ]
    return tuple(placed)


def pod_names(job_id: int, layout: Sequence[Chunk], launcher: Launcher) -> tuple[str, ...]:
    """The names of all pods of a job; the first runs the script."""
    computing = [pod.host for pod in pods(job_id, layout, launcher)]
    return tuple(computing if launcher is Launcher.SHARED else [script_host(job_id), *computing])


def job_of_pod(name: str) -> int | None:
    """The number of the job one of whose pods may have this name; None: no pod of a job has it."""
    match = re.fullmatch(rf"job-(\d{{1,18}})-(?:{MASTER_TASK}|{_WORKER}\d{{0,5}})-\d{{1,6}}", name, re.ASCII)
    return None if match is None else int(match[1])


def parts_of_pods(job_id: int, layout: Sequence[Chunk], launcher: Launcher) -> dict[str, list[int]]:
    """Of each Volcano task the chunks of `layout` that its pods are, by index, in the order of the pods. A dedicated
    launcher comes last.
    """
    parts = [index for index, chunk in enumerate(layout) for _ in range(chunk.count)]
    if launcher is Launcher.DEDICATED:
        parts.insert(0, len(layout))
    found: dict[str, list[int]] = {}
    for name, part in zip(pod_names(job_id, layout, launcher), parts, strict=True):
        task = name.removeprefix(f"{job_name(job_id)}-").rpartition("-")[0]
        found.setdefault(task, []).append(part)
    return found


def conf_name(job_id: int) -> str:
    """Name of the ConfigMap of one job."""
    return f"{job_name(job_id)}-conf"


def tasks(job: PlacedJob) -> tuple[TaskPods, ...]:
    """The Volcano tasks with the names of `pods`, and the dedicated launcher's."""
    prefix = f"{job_name(job.job_id)}-"
    named = [(pod.host.removeprefix(prefix).rpartition("-")[0], pod.chunk) for pod in job.pods]
    computing = [TaskPods(name=name, chunk=chunk, replicas=len(list(same))) for (name, chunk), same in groupby(named)]
    if job.launcher is Launcher.DEDICATED:
        return (TaskPods(name=MASTER_TASK, chunk=None, replicas=1), *computing)
    return tuple(computing)
