"""OpenAPI v3: small documents, enough for `kubectl apply`, `create`, `edit` and `explain`.

kubectl looks for a PATCH operation of the kind that takes `fieldValidation`; then it leaves the checking to the server.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from hpcbatch.engine.registry import core_fields
from hpcbatch.engine.registry.kinds import Kind
from hpcbatch.engine.server.discovery import group_versions

Object = dict[str, Any]
PROTOBUF_V2 = (
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"  # requested as v2@v1.0, which is no media type
)
# The message Document with nothing but `swagger: "2.0"`. kubectl reads it for a `kind: List`, to check the items
# itself; kinds that it does not find there it leaves to the server, which checks them.
EMPTY_V2 = b"\x0a\x032.0"
_META_NAME = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def path_of(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _schema_name(group: str, version: str, kind: str) -> str:
    owner = ".".join(reversed(group.split("."))) if group else "io.k8s.api.core"
    return f"{owner}.{version}.{kind}"


def document(kinds: Sequence[Kind], group: str, version: str) -> Object | None:
    """The OpenAPI document of one group version; None if there is none."""
    if (group, version) not in group_versions(kinds):
        return None
    paths: Object = {}
    schemas: Object = dict(core_fields.component_schemas(group, version))
    for kind in kinds:
        resource = kind.resource
        if resource.group != group or version not in kind.versions:
            continue
        identity = {"group": group, "version": version, "kind": resource.kind}
        space = "/namespaces/{namespace}" if resource.namespaced else ""
        paths[f"/{path_of(group, version)}{space}/{resource.plural}/{{name}}"] = {
            "patch": {
                "x-kubernetes-action": "patch",
                "x-kubernetes-group-version-kind": identity,
                "parameters": [
                    {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
                    for name in ("dryRun", "fieldManager", "fieldValidation")
                ],
                "responses": {"200": {"description": "OK"}},
            }
        }
        schema = dict(kind.schema) if kind.schema is not None else core_fields.root_schema(kind)
        properties = {
            "apiVersion": {"type": "string", "description": "Group and version of the object's schema."},
            "kind": {"type": "string", "description": "Kind of the object."},
            **schema.get("properties", {}),
            "metadata": {
                "description": "Standard object metadata.",
                "allOf": [{"$ref": f"#/components/schemas/{_META_NAME}"}],
            },
        }
        schemas[_schema_name(group, version, resource.kind)] = {
            "type": "object",
            **schema,
            "properties": properties,
            "x-kubernetes-group-version-kind": [identity],
        }
    schemas[_META_NAME] = core_fields.metadata_schema()
    return {
        "openapi": "3.0.0",
        "info": {"title": "hpcbatch engine", "version": version},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def index(kinds: Sequence[Kind]) -> Object:
    """`/openapi/v3`: where each group version's document is, with a hash by which kubectl sees that it changed."""
    paths: Object = {}
    for group, version in group_versions(kinds):
        text = json.dumps(document(kinds, group, version), sort_keys=True).encode()
        digest = hashlib.sha256(text).hexdigest()[:32].upper()
        path = path_of(group, version)
        paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
    return {"paths": paths}
