"""Custom resources: Volcano's, and our own with its schema."""

from __future__ import annotations

from collections.abc import Iterable

from hpcbatch.admin.check.cluster import Cluster
from hpcbatch.admin.check.finding import Finding, Reporter
from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS, COMMANDS, CRDS, PODGROUPS, QUEUES, RESERVATIONS, VOLCANO_JOBS, Resource
from hpcbatch.errors import NotFoundError
from hpcbatch.record.crd import SCHEMA_ANNOTATION, SCHEMA_VERSION

_VOLCANO, _OURS = Reporter("volcano-crds"), Reporter("hpcbatch-crd")
INSTALL_VOLCANO = (
    "helm repo add volcano-sh https://volcano-sh.github.io/helm-charts\n"
    "helm install volcano volcano-sh/volcano -n volcano-system --create-namespace"
)
_APPLY = "kubectl apply -k deploy/crd"
_APPLY_WITHOUT_VOLCANO = "kubectl apply -k deploy/without-volcano"


def volcano(cluster: Cluster) -> Iterable[Finding]:
    faults = []
    has_volcano = cluster.scheduler.makes_pods
    wanted = (VOLCANO_JOBS, *([PODGROUPS] if has_volcano else []), QUEUES, COMMANDS)
    mend = INSTALL_VOLCANO if has_volcano else _APPLY_WITHOUT_VOLCANO
    for resource in wanted:
        fault = fault_of(_read(cluster, resource), resource)
        if fault:
            faults.append(_VOLCANO.error(f"CRD {_name(resource)}", fault, mend))
    if len(faults) == len(wanted) and has_volcano:
        yield _VOLCANO.error("Volcano", "not installed: none of its CRDs is there", INSTALL_VOLCANO)
    elif faults:
        yield from faults
    else:
        names = "jobs, podgroups, queues and commands" if has_volcano else "jobs, queues and commands"
        yield _VOLCANO.ok("Volcano's CRDs", f"{names} are there")


def hpcbatch(cluster: Cluster) -> Iterable[Finding]:
    yield judge_ours(_read(cluster, BATCHJOBS))
    if fault := fault_of(_read(cluster, RESERVATIONS), RESERVATIONS):
        yield _OURS.error(f"CRD {_name(RESERVATIONS)}", f"{fault}: the controller waits for it", _APPLY)


def judge_ours(crd: Object | None) -> Finding:
    subject = f"CRD {_name(BATCHJOBS)}"
    if crd is None:
        return _OURS.error(subject, "not there: hpcbatch is not installed", _APPLY)
    if fault := fault_of(crd, BATCHJOBS):
        return _OURS.error(subject, fault, _APPLY)
    found = (crd["metadata"].get("annotations") or {}).get(SCHEMA_ANNOTATION, "")
    if found == str(SCHEMA_VERSION):
        return _OURS.ok(subject, f"established, schema {found}")
    seen = f"schema {found or 'without a number'}, this hpcbatch needs {SCHEMA_VERSION}"
    if found.isdigit() and int(found) > SCHEMA_VERSION:
        return _OURS.error(subject, f"{seen}: this hpcbatch is older than the cluster's", "upgrade this hpcbatch")
    return _OURS.error(subject, f"{seen}: it is too old", f"{_APPLY}, with the manifests of this release")


def fault_of(crd: Object | None, resource: Resource) -> str:
    """Why objects of `resource` cannot be used; "" if they can."""
    if crd is None:
        return "not there"
    versions = {version["name"] for version in crd["spec"].get("versions") or [] if version.get("served")}
    if resource.version not in versions:
        return f"serves {', '.join(sorted(versions)) or 'no version'}, but not {resource.version}"
    conditions = {c["type"]: c for c in (crd.get("status") or {}).get("conditions") or []}
    if conditions.get("Established", {}).get("status") == "True":
        return ""
    refused = conditions.get("NamesAccepted", {})
    return f"not established{': ' + str(refused['message']) if refused.get('status') == 'False' else ' yet'}"


def _read(cluster: Cluster, resource: Resource) -> Object | None:
    try:
        return cluster.api.get(CRDS, _name(resource))
    except NotFoundError:
        return None


def _name(resource: Resource) -> str:
    return f"{resource.plural}.{resource.group}"
