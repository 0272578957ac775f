"""A container's variables and command, as the kubelet makes them: `value`, `valueFrom`, `envFrom`, `$(VAR)`. Pure."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping

from hpcbatch.api.port import Object
from hpcbatch.api.resources import CONFIGMAPS, SECRETS, Resource
from hpcbatch.units import parse_quantity

Fetch = Callable[[Resource, str], Object | None]
"""Reads an object of the pod's namespace; None if it does not exist."""


class NotReadyError(Exception):
    """Something that the container needs is missing or not available here; `str()` is the status message.
    `reason` is the waiting reason; for a volume it is FailedMount, which is the reason of an event only.
    """

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


def config_error(message: str) -> NotReadyError:
    return NotReadyError("CreateContainerConfigError", message)


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace `$(NAME)` by its value and `$$` by `$`; unknown names stay. Source: Kubernetes, golang/expansion."""
    out, at = [], 0
    while (dollar := text.find("$", at)) >= 0:
        out.append(text[at:dollar])
        following = text[dollar + 1 : dollar + 2]
        at = dollar + 2
        if following == "$":
            out.append("$")
        elif following == "(" and (end := text.find(")", at)) >= 0:
            name = text[at:end]
            out.append(variables.get(name, f"$({name})"))
            at = end + 1
        else:
            out.append("$" + following)
    out.append(text[at:])
    return "".join(out)


def environment(pod: Object, container: Object, fetch: Fetch, facts: Mapping[str, str]) -> dict[str, str]:
    """The container's own variables. `facts` holds what `fieldRef` may read from the pod's status."""
    result: dict[str, str] = {}
    for source in container.get("envFrom") or ():
        result.update(_all_keys(source, fetch))
    for variable in container.get("env") or ():
        value = _value(pod, container, variable, fetch=fetch, facts=facts, before=result)
        if value is not None:
            result[variable["name"]] = value
    return result


def _referenced(resource: Resource, reference: Object, fetch: Fetch) -> Object | None:
    """The ConfigMap or Secret; None if it does not exist and is optional."""
    obj = fetch(resource, reference["name"])
    if obj is None and not reference.get("optional"):
        raise config_error(f'{resource.kind.lower()} "{reference["name"]}" not found')
    return obj


def _all_keys(source: Object, fetch: Fetch) -> dict[str, str]:
    prefix = source.get("prefix") or ""
    for field, resource in (("configMapRef", CONFIGMAPS), ("secretRef", SECRETS)):
        reference = source.get(field)
        if reference is None:
            continue
        obj = _referenced(resource, reference, fetch) or {}
        return {prefix + key: data.decode(errors="surrogateescape") for key, data in object_files(obj).items()}
    return {}


def _value(
    pod: Object,
    container: Object,
    variable: Object,
    *,
    fetch: Fetch,
    facts: Mapping[str, str],
    before: Mapping[str, str],
) -> str | None:
    source = variable.get("valueFrom")
    if source is None:
        return expand(variable.get("value") or "", before)
    for field, resource in (("configMapKeyRef", CONFIGMAPS), ("secretKeyRef", SECRETS)):
        reference = source.get(field)
        if reference is None:
            continue
        obj = _referenced(resource, reference, fetch) or {}
        data = object_files(obj).get(reference["key"])
        if data is None:
            if reference.get("optional"):
                return None
            where = f"{pod['metadata'].get('namespace')}/{reference['name']}"
            raise config_error(f"couldn't find key {reference['key']} in {resource.kind} {where}")
        return data.decode(errors="surrogateescape")
    if "fieldRef" in source:
        return pod_field(pod, source["fieldRef"]["fieldPath"], facts)
    if "resourceFieldRef" in source:
        return resource_field(pod, source["resourceFieldRef"], container, facts)
    raise config_error(f"variable {variable['name']}: valueFrom {', '.join(source)} is not known to this engine")


def object_files(obj: Object) -> dict[str, bytes]:
    """The data of a ConfigMap or Secret, by key."""
    if obj.get("kind") == "Secret":
        return {key: base64.b64decode(text) for key, text in (obj.get("data") or {}).items()}
    files = {key: text.encode(errors="surrogateescape") for key, text in (obj.get("data") or {}).items()}
    return files | {key: base64.b64decode(text) for key, text in (obj.get("binaryData") or {}).items()}


def pod_field(pod: Object, path: str, facts: Mapping[str, str]) -> str:
    """The value at a `fieldPath`. Raises NotReadyError if this engine does not support it."""
    meta, spec = pod["metadata"], pod["spec"]
    for field in ("labels", "annotations"):
        if path == f"metadata.{field}":
            return "".join(f"{key}={_quoted(value)}\n" for key, value in sorted((meta.get(field) or {}).items()))
        if path.startswith(f"metadata.{field}['") and path.endswith("']"):
            return str((meta.get(field) or {}).get(path[len(f"metadata.{field}['") : -2], ""))
    known = {
        "metadata.name": meta["name"],
        "metadata.namespace": meta.get("namespace") or "",
        "metadata.uid": meta["uid"],
        "spec.nodeName": spec.get("nodeName") or "",
        "spec.serviceAccountName": spec.get("serviceAccountName") or "",
        **facts,
    }
    if path not in known:
        raise config_error(f"fieldPath {path} is not known to this engine")
    return str(known[path])


def _quoted(text: str) -> str:
    """Quoted as by Go's strconv.Quote, for the values of labels and annotations."""
    escaped = (
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    )
    return f'"{escaped}"'


def resource_field(pod: Object, reference: Object, container: Object | None, facts: Mapping[str, str]) -> str:
    """`limits.cpu` and the like, in units of the divisor, rounded up; without a limit the node's amount."""
    name = reference.get("containerName")
    if name:
        every = [*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or ())]
        container = next((one for one in every if one["name"] == name), None)
    if container is None:
        raise config_error(f"resourceFieldRef: container {name} is not in the pod")
    kind, _, resource = reference["resource"].partition(".")
    amount = ((container.get("resources") or {}).get(kind) or {}).get(resource)
    if amount is None:
        amount = facts.get(f"node.{resource}", "0") if kind == "limits" else "0"
    divisor = parse_quantity(reference.get("divisor") or "1") or 1.0
    return str(math.ceil(round(float(parse_quantity(amount) / divisor), 6)))
