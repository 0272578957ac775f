"""The host names that a job sees are those of its pods: which nodes these are on."""

from __future__ import annotations

from collections.abc import Iterable

from hpcbatch.api.client import TableApi
from hpcbatch.model.spec import JobSpec


def nodes_of_pods(api: TableApi, namespace: str, names: Iterable[str]) -> dict[str, str]:
    """The node of each name that is one of a pod of a job that may be seen, also of one that has ended."""
    likely = [name for name in names if name.startswith("job-")]
    if not likely:
        return {}
    from hpcbatch.client.records import by_number
    from hpcbatch.volcano.job_names import job_of_pod

    numbers = {number for name in likely if (number := job_of_pod(name)) is not None}
    if not numbers:
        return {}
    return {host.pod: host.node for record in by_number(api, namespace, numbers) for host in record.status.hosts}


def with_nodes(api: TableApi, namespace: str, spec: JobSpec) -> JobSpec:
    """The same job, where it names pods with their nodes instead."""
    nodes = nodes_of_pods(api, namespace, spec.host_names)
    return spec.with_host_names(nodes) if nodes else spec
