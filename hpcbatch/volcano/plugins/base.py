"""Shared by all plugins: the hooks, flags in the syntax of Go's flag package, host names, edits of a pod."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from hpcbatch.dataclass import dataclass
from hpcbatch.errors import HpcBatchError

Object = dict[str, Any]
KeyMaker = Callable[[], tuple[str, str]]
"""Returns a new key pair: the private key as PEM, the public one as a line of authorized_keys with its newline."""


class PluginError(HpcBatchError):
    """A plugin cannot work for this job: none of its pods is created."""


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """An object beside a job, in the job's namespace."""

    kind: str
    name: str


class JobPlugin:
    """Volcano's hooks, each of which may do nothing. Those for jobs may each run twice."""

    name: ClassVar[str]

    def on_pod_create(self, pod: Object, job: Object) -> Object:  # noqa: ARG002
        """Change `pod`, which is the caller's own copy, before it is created, and return it. Raises PluginError."""
        return pod

    def on_job_add(self, job: Object) -> list[Object]:  # noqa: ARG002
        """The objects to make beside the job."""
        return []

    def on_job_update(self, job: Object) -> list[Object]:  # noqa: ARG002
        """The new state of those objects whose content depends on the number of replicas."""
        return []

    def on_job_delete(self, job: Object) -> list[ObjectRef]:  # noqa: ARG002
        """The objects to remove when the job ends or restarts."""
        return []


def plugin_names(job: Mapping[str, Any]) -> dict[str, list[str]]:
    """Names and arguments of the job's plugins."""
    return {name: list(arguments or ()) for name, arguments in (job["spec"].get("plugins") or {}).items()}


def read_flags(arguments: Sequence[str], defaults: Mapping[str, str | bool | int]) -> dict[str, Any]:
    """Read `-name=value`, `--name value` and bare booleans as Go's flag package does.

    Volcano only logs parse errors and continues with the flags so far; so does this. Source: flag.FlagSet.
    """
    values: dict[str, Any] = dict(defaults)
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        name, equals, text = word.lstrip("-").partition("=")
        if not word.startswith("-") or word.startswith("---") or name not in defaults:
            break
        default = defaults[name]
        if not equals and not isinstance(default, bool):
            if not rest:
                break
            text = rest.pop(0)
        value = _flag_value(text if equals or not isinstance(default, bool) else "true", default)
        if value is None:
            break
        values[name] = value
    return values


# Source: strconv.ParseBool.
_BOOLEANS = dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True)
_BOOLEANS |= dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False)


def _flag_value(text: str, default: str | bool | int) -> str | bool | int | None:
    if isinstance(default, bool):
        return _BOOLEANS.get(text)
    if isinstance(default, int):
        return int(text) if text.lstrip("-").isdecimal() else None
    return text


def owner_reference(job: Object) -> Object:
    meta = job["metadata"]
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def beside(job: Object, api_version: str, kind: str, name: str, **content: object) -> Object:
    """An object of the job's namespace that the job owns."""
    metadata = {"name": name, "namespace": job["metadata"]["namespace"], "ownerReferences": [owner_reference(job)]}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}


def pod_name(job: Object, task_name: str, index: int) -> str:
    return f"{job['metadata']['name']}-{task_name}-{index}"


def task_of(pod: Object) -> str:
    """The name of the pod's task."""
    return str(pod["metadata"]["annotations"]["volcano.sh/task-spec"])


def find_task(job: Object, name: str) -> Object | None:
    return next((task for task in job["spec"]["tasks"] if task["name"] == name), None)


def pod_address(job: Object, task: Object, index: int) -> str:
    """`<hostname>.<subdomain>` of one replica, even if that index does not exist."""
    spec = task["template"].get("spec") or {}
    return ".".join(
        (
            spec.get("hostname") or pod_name(job, task["name"], index),
            spec.get("subdomain") or job["metadata"]["name"],
        )
    )


def hosts(job: Object, task: Object) -> list[tuple[str, str]]:
    """Host name and subdomain of each replica; a host name in the template appears once for the whole task."""
    spec = task["template"].get("spec") or {}
    subdomain = spec.get("subdomain") or job["metadata"]["name"]
    replicas = task.get("replicas", 0)
    if spec.get("hostname"):
        return [(spec["hostname"], subdomain)] if replicas else []
    return [(pod_name(job, task["name"], index), subdomain) for index in range(replicas)]


def host_addresses(job: Object, task: Object) -> list[str]:
    """`<hostname>.<subdomain>` of each replica."""
    return [f"{name}.{subdomain}" for name, subdomain in hosts(job, task)]


def containers(pod: Object) -> Iterator[Object]:
    """Containers and init containers."""
    yield from pod["spec"].get("containers") or ()
    yield from pod["spec"].get("initContainers") or ()


def add_env(pod: Object, *variables: Object) -> None:
    """Append to every container, after the user's own variables."""
    for container in containers(pod):
        container["env"] = [*(container.get("env") or ()), *(dict(variable) for variable in variables)]


def open_port(container: Object, name: str, number: int) -> None:
    """Add a port, unless the container has that number."""
    ports = container.get("ports") or []
    if all(port.get("containerPort") != number for port in ports):
        container["ports"] = [*ports, {"name": name, "containerPort": number, "protocol": "TCP"}]


def add_volume(pod: Object, volume: Object, mount: Object) -> None:
    pod["spec"]["volumes"] = [*(pod["spec"].get("volumes") or ()), volume]
    for container in containers(pod):
        container["volumeMounts"] = [*(container.get("volumeMounts") or ()), dict(mount)]
