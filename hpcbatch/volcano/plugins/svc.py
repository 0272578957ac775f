"""Plugin svc: DNS names for a job's pods, and each task's host list in /etc/volcano."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from hpcbatch.volcano.plugins.base import (
    JobPlugin,
    Object,
    ObjectRef,
    add_env,
    add_volume,
    beside,
    host_addresses,
    read_flags,
)


class SvcPlugin(JobPlugin):
    name: ClassVar[str] = "svc"

    def __init__(self, arguments: Sequence[str]) -> None:
        flags = read_flags(arguments, {"publish-not-ready-addresses": False, "disable-network-policy": False})
        self.publish_not_ready: bool = flags["publish-not-ready-addresses"]
        self.network_policy: bool = not flags["disable-network-policy"]

    def on_pod_create(self, pod: Object, job: Object) -> Object:
        spec, name = pod["spec"], config_map_name(job)
        spec["hostname"] = spec.get("hostname") or pod["metadata"]["name"]
        spec["subdomain"] = spec.get("subdomain") or job["metadata"]["name"]
        keys = [key for task in job["spec"]["tasks"] for key in _variables(task)]
        add_env(pod, *({"name": key, "valueFrom": {"configMapKeyRef": {"name": name, "key": key}}} for key in keys))
        volume = {"name": name, "configMap": {"name": name, "defaultMode": 0o644}}
        add_volume(pod, volume, {"name": name, "mountPath": "/etc/volcano"})
        return pod

    def on_job_add(self, job: Object) -> list[Object]:
        made = [beside(job, "v1", "ConfigMap", config_map_name(job), data=host_lists(job)), self._service(job)]
        return [*made, self._policy(job)] if self.network_policy else made

    def on_job_update(self, job: Object) -> list[Object]:
        return [beside(job, "v1", "ConfigMap", config_map_name(job), data=host_lists(job))]

    def on_job_delete(self, job: Object) -> list[ObjectRef]:
        name = job["metadata"]["name"]
        refs = [ObjectRef("ConfigMap", config_map_name(job)), ObjectRef("Service", name)]
        return [*refs, ObjectRef("NetworkPolicy", name)] if self.network_policy else refs

    def _service(self, job: Object) -> Object:
        spec: dict[str, Any] = {"clusterIP": "None", "selector": _selector(job)}
        if self.publish_not_ready:
            spec["publishNotReadyAddresses"] = True
        return beside(job, "v1", "Service", job["metadata"]["name"], spec=spec)

    def _policy(self, job: Object) -> Object:
        own_pods = {"matchLabels": _selector(job)}
        spec = {
            "podSelector": own_pods,
            "ingress": [{"from": [{"podSelector": own_pods}]}],
            "policyTypes": ["Ingress"],
        }
        return beside(job, "networking.k8s.io/v1", "NetworkPolicy", job["metadata"]["name"], spec=spec)


def config_map_name(job: Object) -> str:
    return f"{job['metadata']['name']}-svc"


def host_lists(job: Object) -> dict[str, str]:
    """Data of the ConfigMap: no value ends in a newline."""
    data: dict[str, str] = {}
    for task in job["spec"]["tasks"]:
        addresses = host_addresses(job, task)
        hosts_key, number_key = _variables(task)
        data[hosts_key] = ",".join(addresses)
        data[number_key] = str(len(addresses))
        data[f"{task['name'].replace('-', '_')}.host"] = "\n".join(addresses)
    return dict(sorted(data.items()))


def _variables(task: Object) -> tuple[str, str]:
    name = task["name"].replace("-", "_").upper()
    return f"VC_{name}_HOSTS", f"VC_{name}_NUM"


def _selector(job: Object) -> dict[str, str]:
    return {"volcano.sh/job-name": job["metadata"]["name"], "volcano.sh/job-namespace": job["metadata"]["namespace"]}
