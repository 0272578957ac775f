"""A user as Kubernetes objects: namespace, RoleBinding, NetworkPolicy, ResourceQuota, claims. Values in, values out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hpcbatch.admin.site import SYSTEM_NAMESPACE
from hpcbatch.admin.user_names import kubernetes_user
from hpcbatch.api.port import Object
from hpcbatch.api.resources import (
    NAMESPACES,
    NETWORK_POLICIES,
    PVCS,
    RESOURCE_QUOTAS,
    ROLE_BINDINGS,
    Resource,
)
from hpcbatch.model.labels import MANAGED_BY
from hpcbatch.model.site import Volume
from hpcbatch.site.identity import DISABLED, GID, GROUPS, HOME, UID, USER, Identity, groups_note

USER_ROLE = "hpcbatch-user"
"""ClusterRole that a user has in his own namespace; also the name of the objects that `user add` makes there."""
JOBS_QUOTA = "count/batchjobs.hpcbatch.io"
DEFAULT_QUOTA: Mapping[str, str] = {JOBS_QUOTA: "20k"}  # as Kubernetes writes it
"""Of a new user: without any limit on records one user can fill the API server's store, which all share."""
_CONTROLLER = "hpcbatch-controller"
"""The controller's ServiceAccount in SYSTEM_NAMESPACE, and what is bound to it in a user's namespace."""
POD_SECURITY = "pod-security.kubernetes.io/enforce"
_RESTRICTED_VOLUMES = frozenset(
    {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
)
"""Volume types that the Pod Security Standards allow at level `restricted`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A PersistentVolumeClaim to make, ReadWriteMany. `storage_class` None: the cluster's default class."""

    name: str
    size: str
    """A quantity, `10Gi`."""
    storage_class: str | None = None
    volume: str | None = None
    """PersistentVolume to bind to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A user and all that is made for him."""

    identity: Identity
    namespace: str
    pod_security: str
    quota: Mapping[str, str | None] = field(default_factory=dict)
    """`requests.cpu` and its kin → quantity; None takes the limit away."""
    claims: tuple[Claim, ...] = ()


class Part(NamedTuple):
    resource: Resource
    obj: Object
    """As a merge patch would have it: None takes a key away."""
    is_kept: bool = False
    """Made where it is missing, and never changed."""


def pod_security_level(volumes: Iterable[Volume]) -> str:
    """The strictest Pod Security level that lets pods mount these volumes."""
    kinds = {kind for volume in volumes for kind in volume.source}
    if "hostPath" in kinds:
        return "privileged"
    return "restricted" if kinds <= _RESTRICTED_VOLUMES else "baseline"


def parts(account: Account) -> list[Part]:
    """Everything that an account consists of, the namespace first."""
    identity = account.identity
    found = [
        Part(NAMESPACES, namespace(account)),
        Part(NETWORK_POLICIES, network_policy()),
        Part(ROLE_BINDINGS, controller_binding()),
    ]
    if not identity.is_disabled:
        found.append(Part(ROLE_BINDINGS, role_binding(identity.user)))
    if account.quota:
        found.append(Part(RESOURCE_QUOTAS, _object(RESOURCE_QUOTAS, USER_ROLE, spec={"hard": dict(account.quota)})))
    return found + [Part(PVCS, _claim(claim), is_kept=True) for claim in account.claims]


def namespace(account: Account) -> Object:
    identity = account.identity
    groups = groups_note(identity.groups)
    obj = _object(NAMESPACES, account.namespace)
    # No managed-by: an adopted namespace may be somebody's chart.
    obj["metadata"]["labels"] = {USER: identity.user, POD_SECURITY: account.pod_security}
    obj["metadata"]["annotations"] = {
        USER: identity.user,
        UID: str(identity.uid),
        GID: str(identity.gid),
        HOME: identity.home,
        GROUPS: groups or None,
        DISABLED: "true" if identity.is_disabled else None,
    }
    return obj


def role_binding(user: str) -> Object:
    """Lets the user work with jobs in his own namespace."""
    subject = {"apiGroup": ROLE_BINDINGS.group, "kind": "User", "name": kubernetes_user(user)}
    return _binding(USER_ROLE, USER_ROLE, subject)


def controller_binding() -> Object:
    """Lets the controller run jobs in the namespace: it has no such rights elsewhere."""
    subject = {"kind": "ServiceAccount", "name": _CONTROLLER, "namespace": SYSTEM_NAMESPACE}
    return _binding(_CONTROLLER, f"{_CONTROLLER}-jobs", subject)


def _binding(name: str, role: str, subject: Mapping[str, str]) -> Object:
    reference = {"apiGroup": ROLE_BINDINGS.group, "kind": "ClusterRole", "name": role}
    return _object(ROLE_BINDINGS, name, roleRef=reference, subjects=[dict(subject)])


def network_policy() -> Object:
    """Lets in what comes from the user's own pods only. Volcano's svc plugin adds one for each job: policies add up."""
    ingress: list[Object] = [{"from": [{"podSelector": {}}]}]
    return _object(
        NETWORK_POLICIES, USER_ROLE, spec={"podSelector": {}, "policyTypes": ["Ingress"], "ingress": ingress}
    )


def _claim(claim: Claim) -> Object:
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": claim.size}},
    }
    if claim.volume is not None:
        # Without a class of its own the default one would provision another volume.
        spec |= {"volumeName": claim.volume, "storageClassName": ""}
    if claim.storage_class is not None:
        spec["storageClassName"] = claim.storage_class
    return _object(PVCS, claim.name, spec=spec)


def _object(resource: Resource, name: str, **body: Any) -> Object:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, "labels": dict(MANAGED_BY)},
        **body,
    }
