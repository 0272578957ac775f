"""A Volcano Job with its place in the plan: what its pods are kept to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hpcbatch.api.informer import Informer
from hpcbatch.api.port import Object
from hpcbatch.controller.released import Released
from hpcbatch.model.labels import PLANNED_ANNOTATION
from hpcbatch.model.record import JobRecord
from hpcbatch.model.site import Launcher
from hpcbatch.policy.plan.snapshot import Place
from hpcbatch.policy.planned import places_text
from hpcbatch.volcano import job_names
from hpcbatch.volcano.gangs.planned_nodes import with_pod_nodes
from hpcbatch.volcano.pinned import HOST, noted, pinned


def placed(volcano_job: Object, released: Released, record: JobRecord, launcher: Launcher, nodes: Informer) -> Object:
    """The Volcano Job of a released job as it is to be made."""
    if not released.places:
        return volcano_job
    parts = job_names.parts_of_pods(record.job_id, record.status.layout, launcher)
    hosts = _hosts_of_parts(released.places, nodes)
    if released.scheduler.binds_one_by_one:
        volcano_job = with_pod_nodes(volcano_job, _of_each_pod(parts, hosts))
    elif released.is_pinned:
        its = {task: {host for part in set(of_task) for host in hosts.get(part, ())} for task, of_task in parts.items()}
        volcano_job = pinned(volcano_job, {task: sorted(of_task) for task, of_task in its.items()})
    return noted(volcano_job, PLANNED_ANNOTATION, places_text(released.places))


def _hosts_of_parts(places: Iterable[Place], nodes: Informer) -> dict[int, list[str]]:
    """By part of the shape the values of label HOST of the nodes of its pods, one for each."""
    found: dict[int, list[str]] = {}
    for place in places:
        labels = (nodes.get(None, place.node) or {}).get("metadata", {}).get("labels") or {}
        found.setdefault(place.part, []).extend([labels.get(HOST, place.node)] * place.count)
    return found


def _of_each_pod(parts: Mapping[str, Iterable[int]], hosts: Mapping[int, list[str]]) -> dict[str, list[str]]:
    """By task the hosts of its pods; "" for one that the plan does not know, as a launcher beside scattered pods."""
    left = {part: iter(its) for part, its in hosts.items()}
    return {task: [next(left.get(part, iter(())), "") for part in its] for task, its in parts.items()}
