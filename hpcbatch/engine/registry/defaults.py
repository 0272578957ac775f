"""What the API server fills into core kinds, and the faults for which it refuses them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any

from hpcbatch import units
from hpcbatch.engine.registry.names import check_name
from hpcbatch.engine.registry.statuses import FORBIDDEN, INVALID, NOT_SUPPORTED, REQUIRED, TOO_LONG, Cause
from hpcbatch.errors import HpcBatchError

Object = dict[str, Any]
_MAX_DATA_BYTES = 1024 * 1024


# --- defaults: they change the copy that they are given ---


def _default_pod(pod: Object) -> None:
    spec = pod.setdefault("spec", {})
    default_pod_spec(spec)
    if spec.get("priorityClassName") is None:
        spec.setdefault("priority", 0)
        spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    status = pod.setdefault("status", {})
    status.setdefault("phase", "Pending")
    status["qosClass"] = pod_qos(spec)


def default_pod_spec(spec: Object) -> None:
    """Source: SetDefaults_PodSpec and SetDefaults_Container in k8s.io/kubernetes/pkg/apis/core/v1."""
    for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]:
        if not isinstance(container, dict):
            continue
        resources = container.setdefault("resources", {})
        limits = resources.get("limits")
        if limits:  # a limit without a request counts as a request of all of it
            resources["requests"] = {**limits, **(resources.get("requests") or {})}
        container.setdefault("terminationMessagePath", "/dev/termination-log")
        container.setdefault("terminationMessagePolicy", "File")
        image = str(container.get("image") or "")
        tag = image.rpartition("/")[2].partition("@")[0].partition(":")[2]
        latest = "@" not in image and tag in {"", "latest"}
        container.setdefault("imagePullPolicy", "Always" if latest else "IfNotPresent")
        for port in container.get("ports") or ():
            port.setdefault("protocol", "TCP")
        for variable in container.get("env") or ():
            reference = (variable.get("valueFrom") or {}).get("fieldRef")
            if reference is not None:
                reference.setdefault("apiVersion", "v1")
    for volume in spec.get("volumes") or ():
        for source in ("secret", "configMap", "downwardAPI", "projected"):
            if isinstance(volume.get(source), dict):
                volume[source].setdefault("defaultMode", 0o644)
        if isinstance(volume.get("hostPath"), dict):
            volume["hostPath"].setdefault("type", "")
        if len(volume) == 1:
            volume["emptyDir"] = {}
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    account = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    spec["serviceAccountName"] = spec["serviceAccount"] = account
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("enableServiceLinks", True)


def pod_qos(spec: Mapping[str, Any]) -> str:
    """BestEffort, Guaranteed or Burstable. Amounts of 0 do not count.
    Source: ComputePodQOS in k8s.io/kubernetes/pkg/apis/core/v1/helper/qos.
    """
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    parts = [_of_qos(item.get("resources") or {}) for item in containers if isinstance(item, dict)]
    if not any(requests or limits for requests, limits in parts):
        return "BestEffort"
    for requests, limits in parts:
        if any(word not in limits or requests.get(word, limits[word]) != limits[word] for word in ("cpu", "memory")):
            return "Burstable"
    return "Guaranteed"


def _of_qos(resources: Mapping[str, Any]) -> tuple[Object, Object]:
    """The requests and limits that make a pod's class; those that are no quantities are refused later."""

    def counted(part: str) -> Object:
        found = {}
        for word in ("cpu", "memory"):
            if (text := (resources.get(part) or {}).get(word)) is not None:
                try:
                    found[word] = units.parse_quantity(text)
                except HpcBatchError:
                    found[word] = text
        return {word: amount for word, amount in found.items() if amount}

    return counted("requests"), counted("limits")


def _default_service(service: Object) -> None:
    spec = service.setdefault("spec", {})
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    spec.setdefault("internalTrafficPolicy", "Cluster")
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    if spec["type"] != "ExternalName":
        # There is no service proxy: pods find each other by their names, as they do with a headless Service.
        spec.setdefault("clusterIP", "None")
        spec["clusterIPs"] = [spec["clusterIP"]]
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))
    service.setdefault("status", {"loadBalancer": {}})


def _default_secret(secret: Object) -> None:
    plain = secret.pop("stringData", None)
    if isinstance(plain, dict):
        encoded = {key: base64.b64encode(str(value).encode()).decode() for key, value in plain.items()}
        secret["data"] = {**(secret.get("data") or {}), **encoded}
    if not secret.get("type"):
        secret["type"] = "Opaque"


def _default_namespace(namespace: Object) -> None:
    labels = namespace["metadata"].setdefault("labels", {})
    labels["kubernetes.io/metadata.name"] = namespace["metadata"].get("name", "")
    namespace.setdefault("spec", {}).setdefault("finalizers", ["kubernetes"])
    namespace.setdefault("status", {}).setdefault("phase", "Active")


def _default_priority_class(priority_class: Object) -> None:
    priority_class.setdefault("preemptionPolicy", "PreemptLowerPriority")
    priority_class.setdefault("value", 0)


def _default_node(node: Object) -> None:
    node.setdefault("spec", {})
    node.setdefault("status", {})
    if node["spec"].get("unschedulable") is False:
        del node["spec"]["unschedulable"]


def _default_event(event: Object) -> None:
    event.setdefault("involvedObject", {})
    source = event.setdefault("source", {})
    event.setdefault("reportingComponent", source.get("component", ""))
    event.setdefault("reportingInstance", source.get("host", ""))


def _default_network_policy(policy: Object) -> None:
    spec = policy.setdefault("spec", {})
    for rule in [*(spec.get("ingress") or ()), *(spec.get("egress") or ())]:
        for port in rule.get("ports") or ():
            port.setdefault("protocol", "TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


DEFAULTS: dict[tuple[str, str], Callable[[Object], None]] = {
    ("", "pods"): _default_pod,
    ("", "services"): _default_service,
    ("", "secrets"): _default_secret,
    ("", "namespaces"): _default_namespace,
    ("", "nodes"): _default_node,
    ("", "events"): _default_event,
    ("scheduling.k8s.io", "priorityclasses"): _default_priority_class,
    ("networking.k8s.io", "networkpolicies"): _default_network_policy,
}


# --- checks ---


def _check_pod(pod: Object, old: Object | None) -> list[Cause]:
    if old is not None:
        return _check_pod_update(pod, old) if pod["spec"] is not old["spec"] else []
    return check_pod_spec(pod["spec"], "spec")


def check_pod_spec(spec: Mapping[str, Any], field: str) -> list[Cause]:
    """The faults of a pod's spec that would hurt later: the others are the real API server's."""
    causes: list[Cause] = []
    if not spec.get("containers"):
        causes.append(Cause(REQUIRED, f"{field}.containers", "Required value"))
    seen: set[str] = set()
    volumes = {volume.get("name") for volume in spec.get("volumes") or ()}
    for word in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(word) or ()):
            here = f"{field}.{word}[{index}]"
            name = container.get("name") or ""
            if not name:
                causes.append(Cause(REQUIRED, f"{here}.name", "Required value"))
            else:
                causes.extend(
                    Cause(cause.reason, f"{here}.name", cause.message) for cause in check_name(("", "services"), name)
                )
            if name in seen:
                causes.append(Cause("FieldValueDuplicate", f"{here}.name", f'Duplicate value: "{name}"'))
            seen.add(name)
            if not container.get("image"):
                causes.append(Cause(REQUIRED, f"{here}.image", "Required value"))
            causes.extend(_check_resources(container.get("resources") or {}, f"{here}.resources"))
            for place, mount in enumerate(container.get("volumeMounts") or ()):
                if mount.get("name") not in volumes:
                    causes.append(
                        Cause(
                            "FieldValueNotFound",
                            f"{here}.volumeMounts[{place}].name",
                            f'Not found: "{mount.get("name")}"',
                        )
                    )
                if not mount.get("mountPath"):
                    causes.append(Cause(REQUIRED, f"{here}.volumeMounts[{place}].mountPath", "Required value"))
    policy = spec.get("restartPolicy", "Always")
    if policy not in {"Always", "OnFailure", "Never"}:
        message = f'Unsupported value: "{policy}": supported values: "Always", "OnFailure", "Never"'
        causes.append(Cause(NOT_SUPPORTED, f"{field}.restartPolicy", message))
    return causes


def _check_resources(resources: Mapping[str, Any], field: str) -> list[Cause]:
    causes: list[Cause] = []
    amounts: dict[tuple[str, str], Any] = {}
    for part in ("limits", "requests"):
        for word, text in (resources.get(part) or {}).items():
            try:
                amounts[part, word] = units.parse_quantity(text)
            except HpcBatchError:
                message = (
                    f'Invalid value: "{text}": quantities must match the regular expression '
                    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
                )
                causes.append(Cause(INVALID, f"{field}.{part}[{word}]", message))
    for (part, word), amount in amounts.items():
        if amount < 0:
            message = f'Invalid value: "{resources[part][word]}": must be greater than or equal to 0'
            causes.append(Cause(INVALID, f"{field}.{part}[{word}]", message))
        limit = amounts.get(("limits", word))
        if part == "requests" and limit is not None and amount > limit:
            message = (
                f'Invalid value: "{resources[part][word]}": must be less than or equal to {word} limit of '
                f"{resources['limits'][word]}"
            )
            causes.append(Cause(INVALID, f"{field}.requests", message))
    return causes


_POD_FIXED = (
    "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
    "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def _check_pod_update(pod: Object, old: Object) -> list[Cause]:
    def fixed(spec: Mapping[str, Any]) -> Object:
        kept = {
            key: value
            for key, value in spec.items()
            if key not in {"activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds"}
        }
        for word in ("containers", "initContainers"):
            if word in kept:
                kept[word] = [
                    {key: value for key, value in item.items() if key != "image"} if isinstance(item, dict) else item
                    for item in kept[word] or ()
                ]
        return kept

    before, after = fixed(old["spec"]), fixed(pod["spec"])
    if before == after:
        return []
    changed = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
    return [Cause(FORBIDDEN, "spec", f"{_POD_FIXED} (changed: {', '.join(changed)})")]


def _check_data(obj: Object, old: Object | None) -> list[Cause]:
    """ConfigMaps and Secrets: size, and that the immutable ones stay as they are."""
    causes: list[Cause] = []
    if old is not None and old.get("immutable"):
        if not obj.get("immutable"):
            causes.append(Cause(FORBIDDEN, "immutable", "Forbidden: field is immutable when `immutable` is set"))
        for part in ("data", "binaryData"):
            if obj.get(part) != old.get(part):
                causes.append(Cause(FORBIDDEN, part, "Forbidden: field is immutable when `immutable` is set"))
    size = 0
    encoded = ("binaryData",) if obj.get("kind") == "ConfigMap" else ("data",)
    for part in ("data", "binaryData"):
        for key, value in (obj.get(part) or {}).items():
            if part in encoded:
                try:
                    size += len(base64.b64decode(value, validate=True))
                except (binascii.Error, ValueError, TypeError):
                    causes.append(Cause(INVALID, f"{part}[{key}]", "Invalid value: illegal base64 data"))
            else:
                size += len(str(value).encode("utf-8", "surrogatepass"))
            if not key or len(key) > 253 or not key.replace(".", "").replace("_", "").replace("-", "").isalnum():
                message = (
                    f'Invalid value: "{key}": a valid config key must consist of alphanumeric characters, '
                    "'-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
                    "'[-._a-zA-Z0-9]+')"
                )
                causes.append(Cause(INVALID, f"{part}[{key}]", message))
    if size > _MAX_DATA_BYTES:
        causes.append(Cause(TOO_LONG, "[]", f"Too long: may not be more than {_MAX_DATA_BYTES} bytes"))
    return causes


def _check_service(service: Object, _old: Object | None) -> list[Cause]:
    spec = service["spec"]
    if spec.get("type") not in {"ClusterIP", "NodePort", "LoadBalancer", "ExternalName"}:
        message = (
            f'Unsupported value: "{spec.get("type")}": supported values: "ClusterIP", "ExternalName", '
            '"LoadBalancer", "NodePort"'
        )
        return [Cause(NOT_SUPPORTED, "spec.type", message)]
    return [
        Cause(INVALID, f"spec.ports[{index}].port", f"Invalid value: {port.get('port')}: must be between 1 and 65535")
        for index, port in enumerate(spec.get("ports") or ())
        if not isinstance(port.get("port"), int) or not 1 <= port["port"] <= 65535
    ]


def _check_event(event: Object, _old: Object | None) -> list[Cause]:
    involved = event["involvedObject"].get("namespace", "")
    namespace = event["metadata"].get("namespace", "")
    if involved != namespace and not (not involved and namespace == "default"):
        message = f'Invalid value: "{involved}": does not match event.namespace'
        return [Cause(INVALID, "involvedObject.namespace", message)]
    return []


def _check_priority_class(obj: Object, old: Object | None) -> list[Cause]:
    if old is not None and obj.get("value") != old.get("value"):
        return [Cause(FORBIDDEN, "value", "Forbidden: may not be changed in an update.")]
    return []


CHECKS: dict[tuple[str, str], Callable[[Object, Object | None], list[Cause]]] = {
    ("", "pods"): _check_pod,
    ("", "configmaps"): _check_data,
    ("", "secrets"): _check_data,
    ("", "services"): _check_service,
    ("", "events"): _check_event,
    ("scheduling.k8s.io", "priorityclasses"): _check_priority_class,
}
