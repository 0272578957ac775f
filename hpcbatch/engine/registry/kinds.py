"""The kinds that the embedded engine serves: their names, and how they differ from each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hpcbatch.api import resources
from hpcbatch.api.resources import Resource
from hpcbatch.engine.registry.store import ResourceKey

_KEYS: dict[ResourceKey, ResourceKey] = {}
ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Subresource:
    """One path below an object: `log`, `binding`. `group` and `kind` are those of what it takes or gives."""

    name: str
    verbs: tuple[str, ...]
    kind: str
    group: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """A column of a custom resource's table; `json_path` as in the CRD, `.spec.queue`."""

    name: str
    type: str
    json_path: str
    priority: int = 0
    format: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    resource: Resource
    singular: str
    list_kind: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    has_status: bool = False
    """Status is written through /status only."""
    has_generation: bool = False
    selectable: frozenset[str] = frozenset()
    """Fields that field selectors may name, besides metadata.name and metadata.namespace."""
    subresources: tuple[Subresource, ...] = ()
    custom: bool = False
    """Made by a CustomResourceDefinition."""
    columns: tuple[PrinterColumn, ...] = ()
    schema: Mapping[str, Any] | None = field(default=None, compare=False)
    """The CRD's openAPIV3Schema."""
    versions: tuple[str, ...] = ()
    """Served versions, the preferred one first. All share one schema: conversion strategy None."""
    key: ResourceKey = field(init=False, compare=False)
    """One value for all objects of the kind: many things refer to each of them by it."""

    def __post_init__(self) -> None:
        key = self.resource.group, self.resource.plural
        object.__setattr__(self, "key", _KEYS.setdefault(key, key))

    @property
    def qualified(self) -> str:
        """As messages name it: `pods`, `batchjobs.hpcbatch.io`."""
        return f"{self.resource.plural}.{self.resource.group}" if self.resource.group else self.resource.plural

    @property
    def qualified_kind(self) -> str:
        """As messages name it: `Pod`, `BatchJob.hpcbatch.io`."""
        return f"{self.resource.kind}.{self.resource.group}" if self.resource.group else self.resource.kind


_STATUS_VERBS = ("get", "patch", "update")
_POD_FIELDS = frozenset(
    {
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    }
)
_EVENT_FIELDS = frozenset(
    {
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    }
)


def _kind(resource: Resource, *short_names: str, status: bool = False, **more: Any) -> Kind:
    subresources: tuple[Subresource, ...] = more.pop("subresources", ())
    if status:
        subresources = (
            *subresources,
            Subresource("status", _STATUS_VERBS, resource.kind, resource.group, resource.version),
        )
    return Kind(
        resource=resource,
        singular=resource.kind.lower(),
        list_kind=f"{resource.kind}List",
        short_names=short_names,
        has_status=status,
        subresources=subresources,
        versions=(resource.version,),
        **more,
    )


BUILTIN: tuple[Kind, ...] = (
    _kind(
        resources.PODS,
        "po",
        status=True,
        has_generation=True,
        categories=("all",),
        selectable=_POD_FIELDS,
        subresources=(
            Subresource("binding", ("create",), "Binding", "", "v1"),
            Subresource("eviction", ("create",), "Eviction", "policy", "v1"),
            Subresource("log", ("get",), "Pod", "", "v1"),
            Subresource("resize", ("get", "patch", "update"), "Pod", "", "v1"),
            Subresource("exec", ("create", "get"), "PodExecOptions", "", "v1"),
            Subresource("attach", ("create", "get"), "PodAttachOptions", "", "v1"),
            Subresource("portforward", ("create", "get"), "PodPortForwardOptions", "", "v1"),
        ),
    ),
    _kind(
        resources.SERVICES,
        "svc",
        status=True,
        categories=("all",),
        selectable=frozenset({"spec.clusterIP", "spec.type"}),
    ),
    _kind(resources.CONFIGMAPS, "cm"),
    _kind(resources.SECRETS, selectable=frozenset({"type"})),
    _kind(resources.EVENTS, "ev", selectable=_EVENT_FIELDS),
    _kind(resources.NODES, "no", status=True, selectable=frozenset({"spec.unschedulable"})),
    _kind(resources.NAMESPACES, "ns", status=True, selectable=frozenset({"status.phase"})),
    _kind(resources.SERVICE_ACCOUNTS, "sa"),
    _kind(resources.LEASES),
    _kind(resources.NETWORK_POLICIES, "netpol", has_generation=True),
    _kind(resources.PRIORITY_CLASSES, "pc", has_generation=True),
    _kind(resources.CRDS, "crd", "crds", status=True, has_generation=True, categories=("api-extensions",)),
)


def kind_of_crd(crd: Mapping[str, Any]) -> Kind:
    """The kind that an admitted CustomResourceDefinition makes."""
    spec = crd["spec"]
    names = spec["names"]
    served = [version for version in spec["versions"] if version.get("served")]
    main = next((version for version in spec["versions"] if version.get("storage")), served[0] if served else None)
    if main is None:
        raise ValueError(f"{crd['metadata']['name']} has no version")
    resource = Resource(
        spec["group"], main["name"], names["plural"], names["kind"], namespaced=spec["scope"] == "Namespaced"
    )
    status = "status" in (main.get("subresources") or {})
    columns = [
        PrinterColumn(
            name=column["name"],
            type=column["type"],
            json_path=column["jsonPath"],
            priority=column.get("priority", 0),
            format=column.get("format", ""),
            description=column.get("description")
            or f"Custom resource definition column (in JSONPath format): {column['jsonPath']}",
        )
        for column in main.get("additionalPrinterColumns") or ()
    ]
    if not columns:
        columns = [
            PrinterColumn("Age", "date", ".metadata.creationTimestamp", description="When the object was created.")
        ]
    ordered = [main["name"]] if main.get("served") else []
    ordered += [version["name"] for version in served if version["name"] != main["name"]]
    return Kind(
        resource=resource,
        singular=names.get("singular") or names["kind"].lower(),
        list_kind=names.get("listKind") or f"{names['kind']}List",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        has_status=status,
        has_generation=True,
        selectable=frozenset(item["jsonPath"].lstrip(".") for item in main.get("selectableFields") or ()),
        subresources=(
            (Subresource("status", _STATUS_VERBS, resource.kind, resource.group, resource.version),) if status else ()
        ),
        custom=True,
        columns=tuple(columns),
        schema=(main.get("schema") or {}).get("openAPIV3Schema"),
        versions=tuple(ordered),
    )
