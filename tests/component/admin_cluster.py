"""The engine's store with what a real cluster has beside it: RBAC, quotas, claims, and a signer of certificates.

It answers as a real API server does where users are made (404 with or without details, approvals, signing); that the
real one does the same is shown by tests/cluster/test_users.py.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hpcbatch.api.port import Object, ObjectList
from hpcbatch.api.resources import CLUSTER_ROLES, CSRS, PVCS, RESOURCE_QUOTAS, ROLE_BINDINGS, Resource
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.errors import AlreadyExistsError, NotFoundError

OTHERS = {CLUSTER_ROLES, CSRS, PVCS, RESOURCE_QUOTAS, ROLE_BINDINGS}


class AdminCluster:
    """Api of such a cluster. `writes` has what was written, `<verb> <Kind> <name>`."""

    def __init__(self, registry: Registry, *, signs: bool = True, missing: tuple[Resource, ...] = ()) -> None:
        self._registry, self._signs, self._missing = registry, signs, missing
        self._objects: dict[tuple[Resource, str | None, str], Object] = {}
        self.writes: list[str] = []
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.denial = ""

    def version(self) -> Object:
        return {"gitVersion": "v1.34.1"}

    def install(self) -> None:
        self._objects[CLUSTER_ROLES, None, "hpcbatch-user"] = {"metadata": {"name": "hpcbatch-user"}}

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> Object:
        if resource not in OTHERS:
            return self._registry.get(resource, name, namespace)
        self._check_kind(resource)
        found = self._objects.get((resource, namespace, name))
        if found is None:
            details: dict[str, object] = {"name": name, "kind": resource.plural}
            raise NotFoundError(404, "NotFound", f'{resource.plural} "{name}" not found', details)
        return found

    def list(self, resource: Resource, namespace: str | None = None, **selectors: str) -> ObjectList:
        return self._registry.list(resource, namespace, **selectors)

    def create(self, resource: Resource, obj: Mapping[str, Any], namespace: str | None = None) -> Object:
        name = obj["metadata"]["name"]
        if resource not in OTHERS:
            created = self._registry.create(resource, obj, namespace)
        else:
            self._check_kind(resource)
            if (resource, namespace, name) in self._objects:
                raise AlreadyExistsError(409, "AlreadyExists", f'{resource.plural} "{name}" already exists')
            created = self._objects[resource, namespace, name] = dict(obj)
        self.writes.append(f"create {resource.kind} {name}")
        return created

    def patch(self, resource: Resource, name: str, patch: Mapping[str, Any], namespace: str | None = None) -> Object:
        self.writes.append(f"patch {resource.kind} {name}")
        if resource not in OTHERS:
            return self._registry.patch(resource, name, patch, namespace)
        found = self.get(resource, name, namespace)
        changed: Object = _merged(found, patch)
        self._objects[resource, namespace, name] = changed
        return changed

    def replace(
        self, resource: Resource, obj: Mapping[str, Any], namespace: str | None = None, *, subresource: str = ""
    ) -> Object:
        assert (resource, subresource) == (CSRS, "approval")
        name = obj["metadata"]["name"]
        self.writes.append(f"approve {resource.kind} {name}")
        conditions = obj["status"]["conditions"]
        if self.denial:
            conditions = [{"type": "Denied", "status": "True", "message": self.denial}]
        status = {"conditions": conditions}
        if self._signs and not self.denial:
            status["certificate"] = base64.b64encode(self._sign(obj["spec"])).decode()
        approved = self._objects[resource, None, name] = {**obj, "status": status}
        return approved

    def delete(self, resource: Resource, name: str, namespace: str | None = None) -> None:
        self.writes.append(f"delete {resource.kind} {name}")
        self.get(resource, name, namespace)
        del self._objects[resource, namespace, name]

    def _check_kind(self, resource: Resource) -> None:
        if resource in self._missing:
            raise NotFoundError(404, "", "the server answered 404: 404 page not found")

    def _sign(self, spec: Mapping[str, Any]) -> bytes:
        request = x509.load_pem_x509_csr(base64.b64decode(spec["request"]))
        assert request.is_signature_valid
        assert spec["signerName"] == "kubernetes.io/kube-apiserver-client"
        assert "client auth" in spec["usages"]
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(request.subject)
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")]))
            .public_key(request.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(minutes=5))
            .not_valid_after(now + timedelta(seconds=spec["expirationSeconds"]))
            .sign(self.key, hashes.SHA256())
        )
        return certificate.public_bytes(serialization.Encoding.PEM)


def _merged(found: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(found) if isinstance(found, Mapping) else {}
    for key, value in patch.items():
        result.pop(key, None) if value is None else result.__setitem__(key, _merged(result.get(key), value))
    return result
