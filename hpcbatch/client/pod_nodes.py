"""The host names that a job sees are those of its pods: which nodes these are on."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from hpcbatch.api.client import TableApi
from hpcbatch.model.spec import JobSpec

_POD = re.compile(r"job-([0-9]{1,18})-mpi(?:master|worker[0-9]{0,5})-[0-9]{1,6}")


def nodes_of_pods(api: TableApi, namespace: str, names: Iterable[str]) -> dict[str, str]:
    """The node of each name that is one of a pod of a job that may be seen, also of one that has ended."""
    numbers = {int(match[1]) for name in names if (match := _POD.fullmatch(name))}
    if not numbers:
        return {}
    from hpcbatch.client.records import by_number

    return {host.pod: host.node for record in by_number(api, namespace, numbers) for host in record.status.hosts}


def with_nodes(api: TableApi, namespace: str, spec: JobSpec) -> JobSpec:
    """The same job, where it names pods with their nodes instead."""
    chunks = spec.chunks
    names = {*spec.required_hosts, *spec.excluded_hosts}
    names.update(name for chunk in chunks for name in (*chunk.hosts, *chunk.excluded_hosts))
    nodes = nodes_of_pods(api, namespace, names)
    if not nodes:
        return spec

    def named(hosts: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(nodes.get(host, host) for host in hosts))

    return replace(
        spec,
        required_hosts=named(spec.required_hosts),
        excluded_hosts=named(spec.excluded_hosts),
        chunks=tuple(
            replace(chunk, hosts=named(chunk.hosts), excluded_hosts=named(chunk.excluded_hosts)) for chunk in chunks
        ),
    )
