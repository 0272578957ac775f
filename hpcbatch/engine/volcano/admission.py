"""Registers Volcano's admission (hpcbatch.volcano.admission) with the registry, and looks up for it what it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpcbatch.api.port import Object
from hpcbatch.api.resources import NAMESPACES, PODGROUPS, QUEUES, VOLCANO_JOBS
from hpcbatch.engine.registry.writes import Operation
from hpcbatch.errors import NotFoundError
from hpcbatch.volcano import admission

if TYPE_CHECKING:
    from hpcbatch.engine.registry.registry import Registry


def register_volcano_admission(registry: Registry) -> None:
    """From now on Jobs, Queues and PodGroups are written as with Volcano's webhooks."""
    hooks = _Hooks(registry)
    for resource, mutate, validate in (
        (VOLCANO_JOBS, hooks.mutate_job, hooks.validate_job),
        (QUEUES, hooks.mutate_queue, hooks.validate_queue),
    ):
        registry.admission[resource].mutators.append(mutate)
        registry.admission[resource].validators.append(validate)
    registry.admission[PODGROUPS].mutators.append(hooks.mutate_pod_group)


class _Hooks:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def mutate_job(self, operation: Operation, job: Object, _: Object | None) -> Object:
        return admission.mutate_job(job) if operation == "CREATE" else job

    def validate_job(self, operation: Operation, job: Object, old: Object | None) -> None:
        if operation == "CREATE":
            admission.validate_job(job, find_queue=self._queue, child_queues=self._children)
        elif operation == "UPDATE" and old is not None:
            admission.validate_job_update(job, old)

    def mutate_queue(self, operation: Operation, queue: Object, _: Object | None) -> Object:
        return admission.mutate_queue(queue) if operation == "CREATE" else queue

    def validate_queue(self, operation: Operation, queue: Object, old: Object | None) -> None:
        name = queue["metadata"]["name"]
        if operation == "DELETE":
            admission.validate_queue_delete(name, self._children(name))
        elif operation == "CREATE" or old is None or old.get("spec") != queue.get("spec"):
            admission.validate_queue(queue, find_queue=self._queue, has_pods=self._has_pods)

    def mutate_pod_group(self, operation: Operation, group: Object, _: Object | None) -> Object:
        if operation != "CREATE":
            return group
        try:
            namespace = self._registry.get(NAMESPACES, group["metadata"]["namespace"])
        except NotFoundError:
            return group  # refused later, in the API server's own words
        return admission.mutate_pod_group(group, namespace["metadata"].get("annotations") or {})

    def _queue(self, name: str) -> Object | None:
        try:
            return self._registry.get(QUEUES, name)
        except NotFoundError:
            return None

    def _children(self, name: str) -> list[str]:
        queues = self._registry.list(QUEUES).items
        return [queue["metadata"]["name"] for queue in queues if (queue.get("spec") or {}).get("parent") == name]

    def _has_pods(self, name: str) -> bool:
        queue = self._queue(name) or {}
        allocated = (queue.get("status") or {}).get("allocated") or {}
        return str(allocated.get("pods", "0")) != "0"
