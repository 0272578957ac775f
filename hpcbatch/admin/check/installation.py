"""hpcbatch itself: its controller, and the policies that guard users' objects."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from hpcbatch import __version__
from hpcbatch.admin.check.cluster import CONTROLLER, Cluster
from hpcbatch.admin.check.finding import Finding, Reporter, one_line
from hpcbatch.api.port import Object
from hpcbatch.api.resources import ADMISSION_POLICIES, ADMISSION_POLICY_BINDINGS, LEASES
from hpcbatch.errors import NotFoundError
from hpcbatch.units import parse_rfc3339

_CONTROLLER, _POLICIES = Reporter("hpcbatch-controller"), Reporter("admission-policies")
_APPLY = "kubectl apply -k deploy"
_VERSION_LABEL = "app.kubernetes.io/version"
_DEFAULT_LEASE_S = 15
_HAND_OVER_S = 6.0
"""A controller that stands by looks at the Lease every 2 s."""
POLICIES = (
    "hpcbatch-batchjobs",
    "hpcbatch-submissions",
    "hpcbatch-submitted",
    "hpcbatch-streams",
    "hpcbatch-nodes",
    "hpcbatch-keep-records",
)
"""The ValidatingAdmissionPolicies of deploy/; each has a binding."""


def controller(cluster: Cluster) -> Iterable[Finding]:
    yield from judge_deployment(cluster.controller, cluster.options.namespace)
    if cluster.controller is not None:
        yield judge_lease(_led_lease(cluster), cluster.options.namespace, cluster.now)


def _led_lease(cluster: Cluster) -> Object | None:
    """The Lease; nobody leads for a moment when one controller has handed over to another, as in an upgrade."""
    lease: Object | None = None
    give_up = time.monotonic() + _HAND_OVER_S
    while time.monotonic() < give_up:
        try:
            lease = cluster.api.get(LEASES, CONTROLLER, cluster.options.namespace)
        except NotFoundError:
            lease = None
        if lease is not None and lease["spec"].get("holderIdentity"):
            break
        time.sleep(0.5)
    return lease


def judge_deployment(deployment: Object | None, namespace: str) -> Iterator[Finding]:
    subject = f"Deployment {namespace}/{CONTROLLER}"
    if deployment is None:
        yield _CONTROLLER.error(subject, "not there: jobs are neither admitted nor run", _APPLY)
        return
    wanted = (deployment.get("spec") or {}).get("replicas", 1)
    available = (deployment.get("status") or {}).get("availableReplicas") or 0
    describe = f"kubectl -n {namespace} describe deployment {CONTROLLER}"
    logs = f"kubectl -n {namespace} logs deployment/{CONTROLLER}"
    if not wanted:
        mend = f"kubectl -n {namespace} scale deployment {CONTROLLER} --replicas=2"
        yield _CONTROLLER.error(subject, "scaled to 0: jobs are neither admitted nor run", mend)
    elif not available:
        yield _CONTROLLER.error(subject, f"none of {wanted} pods is available{_why(deployment)}", f"{describe}; {logs}")
    elif available < wanted:
        yield _CONTROLLER.warning(subject, f"{available} of {wanted} pods available", f"{describe}; {logs}")
    else:
        yield _CONTROLLER.ok(subject, f"{available} of {wanted} pods available")
    yield judge_version(deployment)


def judge_version(deployment: Object) -> Finding:
    """By the label of its pods, else by the image's tag."""
    subject = "version of the controller"
    template = deployment["spec"]["template"]
    image = str(template["spec"]["containers"][0]["image"])
    label = ((template.get("metadata") or {}).get("labels") or {}).get(_VERSION_LABEL, "")
    found = label or image.partition("@")[0].rpartition("/")[2].partition(":")[2].removeprefix("v")
    if found == __version__:
        return _CONTROLLER.ok(subject, f"{found}, as this hpcbatch")
    if not found[:1].isdigit():
        return _CONTROLLER.unknown(subject, f"neither label {_VERSION_LABEL} nor image {image} tells")
    mend = f"{_APPLY}, with the manifests of {__version__}; or install {found} on this machine"
    return _CONTROLLER.warning(subject, f"{found}, this hpcbatch is {__version__}", mend)


def judge_lease(lease: Object | None, namespace: str, now: datetime) -> Finding:
    """`now` is the clock of this machine; half a minute of skew is allowed for."""
    subject = f"Lease {namespace}/{CONTROLLER}"
    spec = (lease or {}).get("spec") or {}
    logs = f"kubectl -n {namespace} logs deployment/{CONTROLLER}"
    if not spec.get("holderIdentity"):
        return _CONTROLLER.error(subject, "no controller leads: nothing acts on jobs", logs)
    age_s = (now - parse_rfc3339(str(spec["renewTime"]))).total_seconds()
    if age_s > 2 * float(spec.get("leaseDurationSeconds") or _DEFAULT_LEASE_S) + 30:
        seen = f"its holder {spec['holderIdentity']} has not renewed it for {age_s:.0f} s"
        return _CONTROLLER.error(subject, seen, logs)
    return _CONTROLLER.ok(subject, f"{spec['holderIdentity']} leads")


def policies(cluster: Cluster) -> Iterable[Finding]:
    found = {policy["metadata"]["name"]: policy for policy in cluster.api.list(ADMISSION_POLICIES).items}
    yield from judge_policies(found, cluster.api.list(ADMISSION_POLICY_BINDINGS).items)


def judge_policies(found: Mapping[str, Object], bindings: Sequence[Object]) -> Iterator[Finding]:
    bound: dict[str, list[str]] = {}
    for binding in bindings:
        spec = binding.get("spec") or {}
        bound.setdefault(str(spec.get("policyName")), []).extend(spec.get("validationActions") or [])
    faults = []
    for name in POLICIES:
        subject = f"ValidatingAdmissionPolicy {name}"
        warnings = ((found.get(name, {}).get("status") or {}).get("typeChecking") or {}).get("expressionWarnings")
        if name not in found:
            faults.append(
                _POLICIES.error(subject, "not there: users could forge what the controller relies on", _APPLY)
            )
        elif "Deny" not in bound.get(name, []):
            seen = "no binding makes it refuse anything" if name in bound else "has no binding"
            faults.append(_POLICIES.error(subject, seen, _APPLY))
        elif warnings:
            seen = f"its expressions do not fit: {one_line(str(warnings[0].get('warning', '')))}"
            faults.append(_POLICIES.error(subject, seen, f"{_APPLY}; see `hpcbatch-crd`"))
    yield from faults
    if not faults:
        yield _POLICIES.ok("admission policies", f"{', '.join(POLICIES)}: bound")


def _why(deployment: Object) -> str:
    conditions = (deployment.get("status") or {}).get("conditions") or []
    bad = [c for c in conditions if c.get("type") == "ReplicaFailure" or c.get("reason") == "ProgressDeadlineExceeded"]
    return f": {one_line(str(bad[0].get('message', '')))}" if bad else ""
